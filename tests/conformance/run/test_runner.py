"""A failover of a coordinator that lives on: what it still answers is evidence, too."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import pytest
from support.real_clock import QUICK, RealClockModel
from support.virtual_clock import at_once, run_at_once

from fencepost.conformance.cases import entry
from fencepost.conformance.cases.script import Script
from fencepost.conformance.run.runner import CaseRun, unmet_need
from fencepost.model.coordinator import (
    Answer,
    AsyncCoordinator,
    Config,
    Dropped,
    Hello,
    Reset,
    Send,
    Topics,
)
from fencepost.model.history.events import Answered, Moved, Restarted, Sent
from fencepost.model.messages.messages import HeartbeatResponse, JoinGroupResponse
from fencepost.model.plans.steps import Plan
from fencepost.model.revision import Revision
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.table.table import Level
from fencepost.properties.departures.attribution import departed_by
from fencepost.properties.oracle.verdict import Wrong

HELLO = Hello("liar", "0", "real", dict(KAFKA_4.apis), frozenset({"restart"}))
CONFIG: Config = {"group.initial.rebalance.delay.ms": 60_000}
SENT_AWAY = 16


class Resigning(AsyncCoordinator):
    """Parks all requests, and answers them with this error when it resigns."""

    def __init__(self, code: int = SENT_AWAY) -> None:
        self.code = code
        self.parked: list[Send] = []

    async def hello(self) -> Hello:
        return HELLO

    async def reset(self, config: Config, topics: Topics | None = None) -> Reset:
        return Reset(config, (), topics or {})

    async def send(self, request: Send) -> Sequence[Answer]:
        self.parked.append(request)
        return []

    async def advance(self, ms: int) -> Sequence[Answer]:
        del ms
        return []

    async def disconnect(self, connection: str) -> Dropped:
        raise NotImplementedError(connection)

    async def restart(self) -> Dropped:
        join = JoinGroupResponse(error_code=self.code, generation_id=-1, member_id="A-1")
        answers = {"JoinGroup": join, "Heartbeat": HeartbeatResponse(error_code=self.code)}
        late = tuple(Answer(r.id, 0, answers[r.api].to_body(r.version)) for r in self.parked)
        now = time.monotonic()
        return Dropped((), (), (now, now), late)

    async def move(self) -> Dropped:
        return await self.restart()

    async def close(self) -> None:
        return


async def ran(coordinator: Resigning, script: Script) -> CaseRun:
    case = Plan("FAILOVER-LOST/x", "", (), Level.MUST, tuple(script.steps))
    run = CaseRun(case, coordinator, HELLO, CONFIG, KAFKA_4, 1, eager=True)
    await run.run()
    return run


def joining() -> Script:
    script = Script(delayed=True)
    script.join("A1")
    script.restart()
    return script


async def test_parked_joins_that_are_sent_away_are_right() -> None:
    run = await ran(Resigning(), joining())
    sent, restarted, answered = [
        event for event in run.recording.history if isinstance(event, Sent | Restarted | Answered)
    ]
    assert isinstance(sent, Sent)
    assert isinstance(restarted, Restarted)
    assert restarted.dropped == ()
    assert isinstance(answered, Answered)
    assert not run.recording.moved
    assert run.verdict().violation is None
    assert run.verdict().unknown is None


async def test_a_coordinator_that_resigns_with_another_error_is_caught() -> None:
    run = await ran(Resigning(25), joining())
    violation = run.verdict().violation
    assert violation is not None
    assert violation.detail == "errorCode UNKNOWN_MEMBER_ID instead of NOT_COORDINATOR"


async def test_what_was_under_way_and_is_sent_away_was_not_handled() -> None:
    script = Script(delayed=True)
    script.ask("A1", "Heartbeat", wait=False, group_id="g", generation_id=1, member_id="m")
    script.restart()
    run = await ran(Resigning(), script)
    (restarted,) = [event for event in run.recording.history if isinstance(event, Restarted)]
    assert restarted.dropped == ("r1",)
    assert not any(isinstance(event, Answered) for event in run.recording.history)
    assert run.verdict().violation is None


class Moving(Resigning):
    """It moves, and time passes there."""

    async def advance(self, ms: int) -> Sequence[Answer]:
        await asyncio.sleep(ms / 1000)
        return []


class Mute(Moving):
    """It moves, and leaves unanswered what was parked."""

    async def move(self) -> Dropped:
        now = time.monotonic()
        return Dropped((), (), (now, now))


@pytest.mark.parametrize(("coordinator", "is_right"), [(Moving(), True), (Mute(), False)])
def test_whoever_waits_at_a_move_is_sent_away(coordinator: Moving, *, is_right: bool) -> None:
    """After a move the connection is still there, so that silence is no lost answer."""
    script = Script(delayed=True)
    script.join("A1")
    script.move()
    script.wait("A1")
    run = run_at_once(ran(coordinator, script))
    (moved,) = [event for event in run.recording.history if isinstance(event, Moved)]
    assert moved.dropped == ()
    violation = run.verdict().violation
    assert (violation is None) is is_right
    if violation is not None:
        assert violation.wrong is Wrong.SILENCE


class Shared(Resigning):
    """Its restart is shared: it comes a minute later, and answers were read meanwhile."""

    def __init__(self, *answered_after_s: float) -> None:
        super().__init__()
        self.answered_after_s = answered_after_s

    async def restart(self) -> Dropped:
        asked = time.monotonic()
        await asyncio.sleep(60)
        refused = HeartbeatResponse(error_code=25)
        answers = tuple(Answer(r.id, 0, refused.to_body(r.version)) for r in self.parked)
        read = tuple(asked + after for after in self.answered_after_s)
        now = time.monotonic()
        return Dropped(answers, (), (now, now), (), read)


@pytest.mark.parametrize(("after_s", "is_late"), [(0.0, False), (59.0, True)])
def test_an_answer_is_as_late_as_it_was_read_however_long_the_restart_waits(
    after_s: float, is_late: bool
) -> None:
    """A run that waited for others took all answers as if they had come at the restart."""
    script = Script(delayed=True)
    script.ask("A1", "Heartbeat", wait=False, group_id="g", generation_id=1, member_id="m")
    script.restart()
    run = run_at_once(ran(Shared(after_s), script))
    assert (run.verdict().violation is not None) is is_late


class TakenLate(Resigning):
    """Its answers are read at once, and taken a minute later; it knows when they were read."""

    def __init__(self) -> None:
        super().__init__()
        self.read = time.monotonic()

    def read_at(self, answer: Answer) -> float:
        return self.read + answer.at_ms / 1000

    async def advance(self, ms: int) -> Sequence[Answer]:
        del ms
        await asyncio.sleep(60)
        refused = HeartbeatResponse(error_code=25)
        asked, self.parked = self.parked, []
        return [Answer(r.id, 250, refused.to_body(r.version)) for r in asked]


def test_an_answer_is_as_late_as_it_was_read_however_late_it_was_taken() -> None:
    """What is judged beside the loop takes long, and the case waits for it, not the target."""

    async def run() -> CaseRun:
        script = Script(delayed=True)
        script.ask("A1", "Heartbeat", group_id="g", generation_id=1, member_id="m")
        return await ran(TakenLate(), script)

    done = run_at_once(run())
    (answered,) = [e for e in done.recording.history if isinstance(e, Answered)]
    assert 250 <= answered.at_ms <= 260
    assert done.verdict().violation is None


@pytest.mark.parametrize(
    ("revision", "most_s", "stopped"),
    [
        (KAFKA_4, 31, None),
        (departed_by(KAFKA_4, "absent-group-offsets"), 10, "B1 JoinGroup 7 waited for in vain"),
    ],
    ids=["sound", "departed"],
)
@at_once
async def test_behind_a_departure_nothing_is_awaited_for_longer_than_short_timers_last(
    revision: Revision, most_s: int, stopped: str | None
) -> None:
    script = Script(delayed=False)
    script.fetch("A1", group="absent")
    script.stable("A1")
    script.join("B1")  # until A1 joins, or its rebalance timeout of half a minute ends
    script.wait("B1")
    target = RealClockModel(revision)
    case = Plan("fuzz/x", "", (), Level.MUST, tuple(script.steps))
    begun = time.monotonic()
    hello = await target.hello()
    run = CaseRun(case, target, hello, QUICK, KAFKA_4, 100, eager=True, follows=True)
    recording = await run.run()
    assert recording.stopped == stopped
    assert most_s - 3 < time.monotonic() - begun < most_s


def test_no_session_is_longer_than_the_longest_that_can_be_asked_for() -> None:
    bound = "group.max.session.timeout.ms"
    plan = entry("JOIN-SESSION-TIMEOUT-INVALID/session-timeout-above-the-maximum").case(
        {}, delayed=False
    )
    longest = 2**31 - 1
    lacks = f"a session timeout above {bound} (it is {longest})"
    assert unmet_need(plan, HELLO, {bound: longest}) == lacks
    assert unmet_need(plan, HELLO, {bound: longest - 1}) is None
    other = entry("JOIN-GROUP-ID-INVALID/no-group-name").case(
        {}, delayed=False
    )  # refused for its group
    assert unmet_need(other, HELLO, {bound: longest}) is None
