"""What is advised: the least of all forms and timeouts, within what was wished."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.places import ROOT

from fencepost.conformance.advise.advice import Advice, advice_for, chosen_for
from fencepost.conformance.advise.known_facts import FORMS, known_group

MEASURED = {
    "members": 12,
    "topics": (60,),
    "restart_s": 2.0,
    "heartbeat_s": 1.0,
    "session_s": 10.0,
    "crashes": 0.0,
    "deaths": 0.0,
}


RESTARTS = {"median": 8, "p95": 25}


def advice(**facts: Any) -> Advice:
    return advice_for(known_group({"restart_s": RESTARTS, **facts}))


def test_shorter_heartbeats_are_advised_where_they_save_more_than_a_tenth() -> None:
    found = advice()
    assert (found.advised.heartbeat_s, found.today.heartbeat_s) == (1.0, 3.0)
    assert found.other_beat is not None
    assert found.other_beat.heartbeat_s == 3.0
    assert found.advised.lost_s < 0.9 * found.other_beat.lost_s
    kept = advice(heartbeat_s=3.0)
    assert kept.other_beat is not None
    assert (kept.advised.heartbeat_s, kept.other_beat.heartbeat_s) == (3.0, 1.0)
    for facts in ({"heartbeat_s": 1.0}, {"heartbeat_s": 0.5}, {"warmup_s": 10.0}):
        own = advice(**facts)
        assert own.other_beat is None
        assert own.advised.heartbeat_s == facts.get("heartbeat_s", 3.0)


def test_kafka_s_defaults_have_kafka_s_heartbeats() -> None:
    assert advice(heartbeat_s=1.0).today.heartbeat_s == 3.0
    assert advice(heartbeat_s=1.0, session_s=45.0).today.heartbeat_s == 1.0


def test_nothing_that_fits_loses_less_by_more_than_a_tenth() -> None:
    for facts in ({}, {"warmup_s": 10.0}, {"processing_s": 4.0, "deaths": 3.0}):
        found = advice(**facts)
        fitting = [point for point in found.curve if not point.why_not]
        least = min(lost for point in fitting for lost in point.weekly.values())
        assert least - 1e-6 <= found.advised.lost_s <= 1.02 * 1.1 * least + 0.01
        assert found.best[0] is found.advised


def test_where_partitions_warm_up_members_are_static_and_sessions_outlive_restarts() -> None:
    found = advice(warmup_s=10.0)
    assert found.advised.is_static
    point = next(p for p in found.curve if p.session_s == found.advised.session_s)
    assert point.outlives < 0.01
    assert found.advised.lost_s < found.today.lost_s


def test_deaths_make_sessions_shorter_and_long_restarts_make_them_longer() -> None:
    long = {"median": 20, "p95": 50}
    some, deadly, slow = (
        next(each.session_s for each in found.best if each.is_static)
        for found in (
            advice(warmup_s=20.0),
            advice(warmup_s=20.0, deaths=500.0),
            advice(warmup_s=20.0, restart_s=long),
        )
    )
    assert deadly < some < slow


@pytest.mark.slow
@pytest.mark.parametrize("facts", [{}, {"processing_s": 0.3}, MEASURED], ids=str)
def test_it_turns_where_it_says(facts: dict[str, Any]) -> None:
    """What another value is advised is what the turn says, on both sides of it."""
    turns = advice(**facts).turns
    assert len(turns) > 0
    for turn in turns:
        step = 0.02 * turn.value + 0.001
        beyond, before = turn.value, turn.value + (-step if turn.is_upwards else step)
        for value, form in ((beyond, turn.form), (before, turn.instead_of)):
            known = known_group({"restart_s": RESTARTS, **facts, turn.name: value})
            assert chosen_for(known)[0].best[0].form == form


def test_a_group_that_was_measured_is_advised_what_lost_less_for_real() -> None:
    """`docs/deployments/reality.md`: `bounce-eager` lost most of the three."""
    found = advice(**MEASURED)
    assert found.advised.is_static
    lost = {str(row.form): row.lost_s / 5 for row in found.best}
    assert 208 < lost["dynamic+eager"] < 698
    assert 115 < lost["dynamic+cooperative"] < 143
    assert 121 < lost["static+eager"] < 139
    told = (ROOT / "docs/deployments/advise.md").read_text("utf-8")
    names = ("dynamic+eager", "dynamic+cooperative", "static+eager")
    says = [f"{lost[name]:.0f}" for name in names]
    assert f"{says[0]} partition-seconds for {names[0]}, {says[1]} for {names[1]}" in told
    assert f"and {says[2]} for {names[2]}" in told
    at_once = advice(**MEASURED, resume_s=0.0)
    assert str(at_once.advised.form) == "dynamic+eager"
    turn = next(turn for turn in found.turns if turn.name == "resume_s")
    assert (turn.is_upwards, 0 < turn.value < 0.15) == (False, True)


def test_what_is_as_good_is_left_as_it_is() -> None:
    found = advice(crashes=0.0, deaths=0.0, restart_s=2.0, session_s=44.0, strategy="cooperative")
    for strategy in ("eager", "cooperative"):
        own = advice(is_static=True, warmup_s=10.0, crashes=0.0, strategy=strategy, session_s=90.0)
        assert own.advised.is_set_as(own.today)
        assert len(own.as_good) == 1
    assert found.advised.form.strategy == "cooperative"


def test_a_session_is_not_longer_than_it_pays() -> None:
    found = advice(members=12, topics=(60,), warmup_s=10.0, gap_s=90.0)
    assert found.advised.session_s == 60.0
    longer = [point for point in found.curve if point.session_s > 60.0 and not point.why_not]
    assert [point.session_s for point in longer] == [86.8]
    assert longer[0].weekly[found.advised.form] > found.advised.lost_s / 1.02


def test_a_change_of_the_strategy_must_be_worth_it() -> None:
    eager, cooperative = (
        advice(warmup_s=10.0, crashes=0.0, strategy=strategy)
        for strategy in ("eager", "cooperative")
    )
    assert str(eager.advised.form) == "static+eager"
    assert str(cooperative.advised.form) == "static+cooperative"


def test_a_tolerated_gap_bounds_the_session() -> None:
    found = advice(warmup_s=10.0, gap_s=35.0)
    assert found.advised.session_s <= 35 - 3
    assert not found.conflict


@pytest.mark.parametrize(
    ("facts", "said"),
    [({"gap_s": 5.0}, "keeps a gap of 5 s"), ({"pause_s": 4000.0}, "silent for 4000 s")],
)
def test_wishes_that_no_session_fulfils_are_told(facts: dict[str, Any], said: str) -> None:
    assert said in advice(**facts).conflict


def test_lines_name_what_differs_from_the_default() -> None:
    found = advice(heartbeat_s=2.0, session_s=45.0, processing_s=1.5)
    for row in found.today.rows:
        assert "--heartbeat-interval-ms 2000 --processing-s 1.5 --seeds " in row.line
        assert "--restart-s 8 --restart-p95-s 25" in row.line
    values = advice(restart_s={"values": [4, 5.5]}).today.rows[0].line
    assert "--restart-s 4,5.5 " in values


def test_the_longest_session_that_keeps_the_gap_is_a_candidate() -> None:
    facts = {
        "restart_s": {"median": 40, "p95": 90},
        "members": 24,
        "warmup_s": 30.0,
        "heartbeat_s": 3.0,
    }
    found = advice(**facts, gap_s=60.0)
    assert found.advised.session_s == 56.8
    longest = next(p for p in found.curve if p.session_s == 56.8).longest_detection_s
    assert 59.9 < longest <= 60.0
    assert advice(**facts, gap_s=60.0, processing_s=4.5).advised.session_s == 52.3
    tight = advice(gap_s=17.0, heartbeat_s=3.0)
    assert (tight.conflict, tight.advised.session_s) == ("", 13.8)
    torn = advice(gap_s=15.9, heartbeat_s=3.0)
    assert "The shortest safe one is 13 s, since a live process may be silent for 10 s" in (
        torn.conflict
    )
    assert torn.advised.session_s == 13.0
    quick = advice(gap_s=15.9)
    assert (quick.conflict, quick.advised.heartbeat_s) == ("", 1.0)


@pytest.mark.parametrize("gap_s", [12.5, 15.0, 15.9])
def test_each_way_out_of_a_conflict_is_one(gap_s: float) -> None:
    told = advice(gap_s=gap_s, heartbeat_s=3.0).conflict
    pause = re.search(r"--longest-pause-s ([0-9.]+) or less", told)
    beat = re.search(r"--heartbeat-interval-ms (\d+) or less", told)
    assert pause
    assert not advice(gap_s=gap_s, heartbeat_s=3.0, pause_s=float(pause[1])).conflict
    assert advice(gap_s=gap_s, heartbeat_s=3.0, pause_s=float(pause[1]) + 0.1).conflict
    assert beat
    assert not advice(gap_s=gap_s, heartbeat_s=int(beat[1]) / 1000).conflict
    assert advice(gap_s=gap_s, heartbeat_s=int(beat[1]) / 1000 + 0.1).conflict


def test_only_what_may_be_is_advised() -> None:
    assert not advice().advised.is_static
    for only, forms in (
        (("static",), {"static+eager", "static+cooperative"}),
        (("cooperative",), {"dynamic+cooperative", "static+cooperative"}),
        (("static", "eager"), {"static+eager"}),
        (("static", "dynamic"), {str(form) for form in FORMS}),
    ):
        found = advice(only=only)
        assert {str(each.form) for each in found.best} == forms
        assert str(found.today.form) == "dynamic+eager"


def test_what_static_members_need_is_told_whatever_the_gap() -> None:
    found = advice(restart_s={"median": 40, "p95": 90}, gap_s=60.0)
    assert found.enough is not None
    assert found.enough.session_s > 57.0
    assert next(p for p in found.curve if p.session_s == found.enough.session_s).outlives <= 0.05
    assert advice(only=("dynamic",)).enough is None
    assert advice(only=("dynamic", "eager")).turns == ()
