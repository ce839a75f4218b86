"""The oracle's short ways end where the long ones do, for any history, true or false.

The long ways are written here as they would be without a thought of time: each candidate of each
event is looked at, and all of them are sorted by what they agree in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support.histories import LAG, REVISION, Act, Recorder, scripts

from fencepost.model.history.events import Answered, Event
from fencepost.properties.oracle import oracle as module
from fencepost.properties.oracle.candidate import Candidate
from fencepost.properties.oracle.oracle import Oracle
from fencepost.properties.oracle.oracle_search import Search, TooManyError


def explored(
    self: Search,
    candidates: list[Candidate],
    horizon: int,
    goal: Callable[[Candidate], bool],
    *,
    everything: bool = False,
) -> list[Candidate]:
    reached = []
    seen = set(candidates)
    queue = deque(candidates)
    while queue:
        candidate = queue.popleft()
        if everything or goal(candidate):
            reached.append(candidate)
        if everything or not goal(candidate):
            for following in self._successors(candidate, horizon):
                if following not in seen:
                    if len(seen) >= self.limit:
                        raise TooManyError
                    seen.add(following)
                    queue.append(following)
    return reached


def merged(candidates: list[Candidate]) -> list[Candidate]:
    kept: dict[object, Candidate] = {}
    for candidate in candidates:
        twin = kept.get(candidate.timeless())
        kept[candidate.timeless()] = candidate if twin is None else twin.joined(candidate)
    return list(kept.values())


def course(history: list[Event], lag_ms: int) -> list[object]:
    """What can be said after each event."""
    oracle = Oracle(REVISION, {}, lag_ms=lag_ms)
    said: list[object] = []
    for event in history:
        oracle.observe(event)
        said.append((oracle.explanations(), oracle.verdict(), oracle.next_deadline_ms()))
    return said


def bent(history: list[Event], at: int, code: int) -> list[Event]:
    """The history with another error code in one of its answers."""
    answers = [i for i, event in enumerate(history) if isinstance(event, Answered)]
    if not answers:
        return history
    place = answers[at % len(answers)]
    event = history[place]
    assert isinstance(event, Answered)
    body = {**(event.answer.body or {}), "errorCode": code}
    changed = replace(event, answer=replace(event.answer, body=body))
    return [*history[:place], changed, *history[place + 1 :]]


@pytest.mark.parametrize("real", [False, True])
@settings(max_examples=60)
@given(script=scripts, at=st.integers(0, 50), code=st.sampled_from([0, 22, 25, 27, 82]))
def test_both_ways_say_the_same(*, real: bool, script: list[Act], at: int, code: int) -> None:
    history = Recorder(real=real).play(script[:12])
    for told in (history, bent(history, at, code)):
        short = course(told, LAG if real else 0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Search, "explore", explored)
            patch.setattr(module, "merged", merged)
            long = course(told, LAG if real else 0)
        assert short == long


def test_a_way_that_leaves_something_out_says_something_else() -> None:
    def differs(script: list[Act]) -> bool:
        history = Recorder(real=True).play(script[:12])
        whole = course(history, LAG)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "merged", lambda candidates: candidates[:1])
            return course(history, LAG) != whole

    # The first one will do: the smallest says no more, and takes two minutes to find.
    quick = settings(max_examples=200, derandomize=True, phases=[Phase.generate])
    assert find(scripts, differs, settings=quick)
