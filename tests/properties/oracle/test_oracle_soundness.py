"""The oracle never says violated of a history that the model itself made."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from support.histories import LAG, REVISION, Act, Recorder, scripts

from fencepost.model.history.events import Answered, Event
from fencepost.properties.oracle.oracle import judge


def said(history: list[Event], lag_ms: int) -> object:
    return judge(REVISION, {}, history, lag_ms=lag_ms).verdict().violation


@settings(max_examples=120)
@given(scripts)
def test_the_models_own_histories_hold_under_a_virtual_clock(script: list[Act]) -> None:
    history = Recorder(real=False).play(script)
    oracle = judge(REVISION, {}, history, lag_ms=0)
    assert (oracle.violation, oracle.unknown) == (None, None)
    assert oracle.verdict().violation is None


@settings(max_examples=80)
@given(scripts)
def test_the_models_own_histories_hold_under_a_seeming_real_clock(script: list[Act]) -> None:
    history = Recorder(real=True).play(script)
    assert said(history, LAG) is None


@settings(max_examples=40)
@given(scripts)
def test_they_hold_for_who_allows_more_lag_than_there_was(script: list[Act]) -> None:
    history = Recorder(real=True).play(script[:9])
    assert said(history, 2 * LAG) is None


def test_answers_of_one_instant_may_be_read_in_any_order() -> None:
    script = [Act(who, "join", 0, 0, 0) for who in "AB"]
    history = Recorder(real=False).play([*script, Act("A", "wait", 6_000, 0, 0)])
    places = [i for i, event in enumerate(history) if isinstance(event, Answered)][:2]
    assert history[places[0]].at_ms == history[places[1]].at_ms
    for order in itertools.permutations(places):
        shuffled = list(history)
        for place, chosen in zip(places, order, strict=True):
            shuffled[place] = history[chosen]
        assert said(shuffled, 0) is None
