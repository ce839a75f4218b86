"""A plan shows something only in its own order: a request that is handled late turns it about."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from support.real_clock import QUICK, RealClockModel, RealClockTarget
from support.runs import KAFKA_4
from support.virtual_clock import run_at_once

from fencepost.conformance.cases import entry
from fencepost.conformance.run.certify import Options, certify
from fencepost.model.coordinator import Answer, AsyncCoordinator, Send
from fencepost.model.revision import Revision
from fencepost.properties.departures.known_departures import DEPARTURES, departed
from fencepost.properties.judging.outcome import CaseResult, Outcome

RACE = "JOIN-GROUP-FULL/places-are-taken-while-rebalancing"
IN_ORDER_MS = 10
TOO_LATE_MS = 60
"""The plan waits for some 40 ms before it goes on."""


class Sluggish(RealClockModel):
    """Handles the requests of one connection late."""

    def __init__(self, revision: Revision, late: str, by_ms: int) -> None:
        super().__init__(revision, {**QUICK, "group.max.size": 2})
        self._late = late
        self._by_ms = by_ms

    async def send(self, request: Send) -> list[Answer]:
        """Handled later, if it is of that connection."""
        if request.connection != self._late:
            return await super().send(request)
        self._sent[request.id] = request
        loop = asyncio.get_running_loop()
        loop.call_later(self._by_ms / 1000, lambda: self._unread.append(request))
        return []


class SluggishTarget(RealClockTarget):
    def __init__(self, revision: Revision, by_ms: int) -> None:
        super().__init__(revision, settings={"group.max.size": 2})
        self._by_ms = by_ms

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        async with super().scope(label, isolated=isolated, restarts=restarts) as usual:
            yield Sluggish(self._revision, "C1", self._by_ms) if "/" in label else usual


def judged(revision: Revision, by_ms: int) -> CaseResult:
    target = SluggishTarget(revision, by_ms)
    options = Options(attempts=1)
    return run_at_once(certify(target, KAFKA_4, [entry(RACE)], options)).results[0]


@pytest.mark.parametrize(
    ("by_ms", "right", "wrong"),
    [(IN_ORDER_MS, Outcome.PASS, Outcome.FAIL), (TOO_LATE_MS, Outcome.UNKNOWN, Outcome.UNKNOWN)],
)
def test_a_fault_does_not_pass_for_the_order_in_which_it_was_asked(
    by_ms: int, right: Outcome, wrong: Outcome
) -> None:
    fault = departed(KAFKA_4, (DEPARTURES["refused-member"],))
    assert (judged(KAFKA_4, by_ms).outcome, judged(fault, by_ms).outcome) == (right, wrong)


def test_what_came_in_another_order_is_said() -> None:
    result = judged(KAFKA_4, TOO_LATE_MS)
    assert result.message.startswith("the target handled a request before an earlier one")
    assert result.recording is not None
    assert len(result.recording.settled) == 2
