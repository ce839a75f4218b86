"""A plan that is about nothing in particular is listened to now and then, and misses nothing."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from fencepost.conformance.run.runner import Listener
from fencepost.model.coordinator import Answer, Send
from fencepost.model.history.events import Answered, Event, Passed, Sent
from fencepost.model.messages.messages import HeartbeatRequest, HeartbeatResponse
from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.oracle.oracle import Oracle

_ASKED = HeartbeatRequest(group_id="g", generation_id=1, member_id="nobody").to_body(4)
_LIE = HeartbeatResponse(error_code=0).to_body(4)
_EVENTS = (
    Sent(0, Send("r1", "a", "fencepost", "Heartbeat", 4, _ASKED)),
    Answered(Answer("r1", 0, _LIE)),
)


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands still."""
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("fencepost.conformance.run.runner.time", clock)
    return now


def listener(every_s: float | None) -> Listener:
    heard = Listener(KAFKA_4, {}, 0, every_s)
    for event in _EVENTS:
        heard.observe(event)
    return heard


def test_a_case_of_a_suite_is_heard_at_once(seconds: list[float]) -> None:
    assert seconds == [0.0]
    assert not listener(0).open()


async def test_what_takes_long_is_heard_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    here: list[Event] = []
    elsewhere: list[Event] = []

    class Noted(Oracle):
        def observe(self, event: Event) -> None:
            known = threading.current_thread() is threading.main_thread()
            (here if known else elsewhere).append(event)
            super().observe(event)

    monkeypatch.setattr("fencepost.conformance.run.runner.Oracle", Noted)
    heard = Listener(KAFKA_4, {}, 0, 0)
    for number in range(8):
        asked = Send(f"r{number}", f"c{number}", "fencepost", "Heartbeat", 4, _ASKED)
        heard.observe(Sent(0, asked))
    assert (len(here), elsewhere) == (6, [])
    heard.observe(Answered(Answer("r7", 0, _LIE)))
    assert heard.open()
    assert not await heard.still_open()
    assert len(elsewhere) == 3


def test_on_a_virtual_clock_all_is_heard_at_once(seconds: list[float]) -> None:
    assert seconds == [0.0]
    assert not listener(None).open()


async def test_a_plan_is_heard_when_it_waits_for_long(seconds: list[float]) -> None:
    heard = listener(5)
    assert await heard.still_open()
    seconds[0] = 5.0
    assert heard.open()
    assert not await heard.still_open()
    assert not heard.open()


async def test_a_plan_in_which_something_happens_is_not_heard(seconds: list[float]) -> None:
    heard = listener(5)
    seconds[0] = 4.0
    heard.observe(Sent(4000, Send("r2", "a", "fencepost", "Heartbeat", 4, _ASKED)))
    seconds[0] = 8.0
    assert await heard.still_open()


async def test_that_time_passes_is_nothing_that_happens(seconds: list[float]) -> None:
    heard = listener(5)
    for second in range(1, 6):
        seconds[0] = float(second)
        heard.observe(Passed(1000 * second))
    assert not await heard.still_open()


def test_the_verdict_is_of_everything(seconds: list[float]) -> None:
    assert seconds == [0.0]
    assert listener(5).verdict() == listener(0).verdict()
    assert listener(5).verdict().violation is not None


async def test_with_more_lag_all_is_judged_anew() -> None:
    late = (_EVENTS[0], Passed(2000))
    heard = Listener(KAFKA_4, {}, 300, 0)
    for event in late:
        heard.observe(event)
    assert heard.is_violated
    await heard.relax(list(late), 300)
    assert heard.is_violated
    await heard.relax(list(late), 3000)
    assert heard.open()
    heard.observe(Passed(20_000))
    assert heard.is_violated
