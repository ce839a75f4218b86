"""A failover of a coordinator that lives on: what it still answers is evidence, too."""

from __future__ import annotations

import time
from collections.abc import Sequence

from fencepost.conformance.catalogue.script import Script
from fencepost.conformance.execution.runner import CaseRun
from fencepost.conformance.plans.plan import Case
from fencepost.model.coordinator import (
    Answer,
    AsyncCoordinator,
    Config,
    Dropped,
    Hello,
    Reset,
    Send,
)
from fencepost.model.history import Answered, Restarted, Sent
from fencepost.model.messages.messages import HeartbeatResponse, JoinGroupResponse
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.table.table import Level

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

    async def reset(self, config: Config) -> Reset:
        return Reset(config, ())

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

    async def close(self) -> None:
        return


async def ran(coordinator: Resigning, script: Script) -> CaseRun:
    case = Case("FAILOVER-LOST/x", "", (), Level.MUST, tuple(script.steps))
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


class Early(Resigning):
    """Answers a join at once; the failover that others wait for begins minutes later."""

    async def restart(self) -> Dropped:
        (join,) = self.parked
        body = JoinGroupResponse(error_code=24, generation_id=-1).to_body(join.version)
        begun = self.epoch + 120
        return Dropped((Answer(join.id, 7, body),), (), (begun, begun + 1), (), self.epoch)

    async def send(self, request: Send) -> Sequence[Answer]:
        self.epoch = time.monotonic()
        return await super().send(request)


async def test_an_answer_before_a_failover_has_the_time_when_it_came() -> None:
    """Not that of the failover, for which a case may wait for longer than any timeout."""
    run = await ran(Early(), joining())
    sent, answered = [e for e in run.recording.history if isinstance(e, Sent | Answered)]
    assert isinstance(sent, Sent)
    assert isinstance(answered, Answered)
    assert 7 <= answered.answer.at_ms - sent.at_ms <= 60_000


async def test_what_was_under_way_and_is_sent_away_was_not_handled() -> None:
    script = Script(delayed=True)
    script.ask("A1", "Heartbeat", wait=False, group_id="g", generation_id=1, member_id="m")
    script.restart()
    run = await ran(Resigning(), script)
    (restarted,) = [event for event in run.recording.history if isinstance(event, Restarted)]
    assert restarted.dropped == ("r1",)
    assert not any(isinstance(event, Answered) for event in run.recording.history)
    assert run.verdict().violation is None
