"""A target that ends in the middle of a run: what it was doing counts, what came later doesn't."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from support.real_clock import RealClockModel, RealClockTarget
from support.runs import KAFKA_4, honest
from support.tcp.over_tcp import catalogue
from support.virtual_clock import at_once

from fencepost.conformance.run.certify import Options, certify
from fencepost.conformance.run.end_of_target import GONE_S
from fencepost.conformance.targets.target import Hints
from fencepost.model.coordinator import (
    Answer,
    AsyncCoordinator,
    Config,
    CoordinatorFailure,
    Reset,
    Send,
    Topics,
)
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.judging.report import Certificate

REFUSED = "127.0.0.1:1 can't be reached (Connection refused)"
KILLS = "LEAVE-MEMBER/follower-leaves"
OTHER = "SESSION-EXPIRED/silent-static-member"
LATER = ("SYNC-GROUP-ABSENT/no-group", "HEARTBEAT-GROUP-ABSENT/no-group")
RISKY = "JOIN-PHASE-ALL-JOINED/protocol-offered-twice"
FOR_EVER = 10**6


class EndingModel(RealClockModel):
    """Refuses everything while its target is down; a LeaveGroup ends it."""

    target: EndingTarget

    def _check(self) -> None:
        if self.target.is_down():
            raise CoordinatorFailure(REFUSED)

    async def reset(self, config: Config, topics: Topics | None = None) -> Reset:
        self._check()
        return await super().reset(config, topics)

    async def send(self, request: Send) -> list[Answer]:
        if request.api == "LeaveGroup":
            self.target.end()
        self._check()
        return await super().send(request)

    async def advance(self, ms: int) -> list[Answer]:
        self._check()
        return await super().advance(ms)


class EndingTarget(RealClockTarget):
    """Ends at the first LeaveGroup, and is down for `down_s`."""

    def __init__(self, down_s: float) -> None:
        super().__init__()
        self._down_s = down_s
        self._up_at: float | None = None

    def is_down(self) -> bool:
        return self._up_at is not None and time.monotonic() < self._up_at

    def end(self) -> None:
        if self._up_at is None:
            self._up_at = time.monotonic() + self._down_s

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        del isolated, restarts
        self.scopes.append(label)
        model = EndingModel(self._revision, self._settings, lie=honest)
        model.target = self
        yield model


async def certified(down_s: float, *cases: str, jobs: int = 2) -> Certificate:
    options = Options(jobs=jobs)
    return await certify(
        EndingTarget(down_s), KAFKA_4, [catalogue()[case] for case in cases], options
    )


@at_once
async def test_cases_that_began_later_are_undecided_and_tried_once() -> None:
    certificate = await certified(FOR_EVER, KILLS, OTHER, *LATER)
    results = {result.case.id: result for result in certificate.results}
    for case in (KILLS, OTHER):
        failed = results[case]
        assert (failed.outcome, failed.attempts) == (Outcome.FAIL, 1)
        assert failed.violation is None  # which of the two ended it is not known
        assert failed.message.startswith(
            "the target ended while this case and 1 other case were under way: "
        )
        assert failed.message.endswith(REFUSED)
    for case in LATER:
        later = results[case]
        assert (later.outcome, later.attempts) == (Outcome.UNKNOWN, 1)
        assert later.message.startswith("the target was gone before this case began: ")
    assert certificate.overall().value == "violated"
    ended, undecided = certificate.remarks[:2]
    assert ended.startswith("the target ended ")
    assert KILLS in ended
    assert OTHER in ended
    assert undecided == "2 cases that began after that are undecided"


@at_once
async def test_an_earlier_case_may_have_ended_it_too() -> None:
    certificate = await certified(FOR_EVER, OTHER, KILLS, *LATER, jobs=1)
    first, second, *others = certificate.results
    assert first.outcome is Outcome.PASS
    assert second.message == (
        f"the target ended while this case was under way: the target failed: {REFUSED}"
    )
    assert {result.outcome for result in others} == {Outcome.UNKNOWN}


@at_once
async def test_the_first_case_keeps_what_was_seen() -> None:
    only = (await certified(FOR_EVER, KILLS, *LATER, jobs=1)).results[0]
    assert only.outcome is Outcome.FAIL
    assert only.message == f"the target failed: {REFUSED}; the target was gone from then on"


@at_once
async def test_what_may_end_the_one_broker_comes_last_and_alone() -> None:
    cases = (RISKY, KILLS, "JOIN-PHASE-ALL-JOINED/majority-of-first-choices", *LATER)
    for isolates in (True, False):
        target = RealClockTarget()
        target.hints = Hints(isolates=isolates)
        ended: list[CaseResult] = []
        options = Options(progress=ended.append)
        await certify(target, KAFKA_4, [catalogue()[case] for case in cases], options)
        begun = [label for label in target.scopes if "/" in label]
        assert (set(begun[-2:]) == {RISKY, cases[2]}) is not isolates
        if not isolates:
            assert [result.case.id for result in ended[3:]] == begun[-2:]


@at_once
async def test_a_target_that_comes_back_is_tried_again() -> None:
    certificate = await certified(GONE_S / 2, KILLS, OTHER, *LATER)
    assert {result.outcome for result in certificate.results} == {Outcome.PASS}
    assert not certificate.remarks
