"""What a coordinator says while it loads is not held against it; a liar that says the same is."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from support.real_clock import RealClockTarget
from support.runs import KAFKA_4, Lie, about, entry, honest, result_of
from support.virtual_clock import at_once

from fencepost.conformance.run.certify import Options, certify
from fencepost.conformance.run.link_faults import (
    LINK,
    REQUIRED_REPEATS,
    WHILE_LOADING,
    explained_by_cleaner,
    passing_cause,
)
from fencepost.model.coordinator import Answer, AsyncCoordinator, Send
from fencepost.model.revisions import revisions
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.oracle.verdict import Wrong

ZOMBIE = "HEARTBEAT-INSTANCE-FENCED/zombie"
CLOSED = "closed"


class Loads:
    """Heartbeats are answered NONE; `described`: what DescribeGroups says then, or CLOSED.

    `beats`: so many heartbeats of the zombie are answered so, and the next ones rightly.
    """

    def __init__(self, described: int | str, beats: int = 99) -> None:
        self._described = described
        self.left = beats

    def __call__(self, request: Send, answer: Answer) -> Answer:
        body = answer.body
        assert body is not None
        if request.api == "Heartbeat" and body["errorCode"] != 0 and self.left:
            self.left -= 1
            return msgspec.structs.replace(answer, body={**body, "errorCode": 0})
        if request.api == "DescribeGroups":
            rows = [{**row, "errorCode": self._described} for row in body["groups"]]
            return msgspec.structs.replace(
                answer, body=None if self._described == CLOSED else {"groups": rows}
            )
        return answer


async def attempted(lie: Lie) -> CaseResult:
    certificate = await certify(RealClockTarget(lie=lie), KAFKA_4, [entry(ZOMBIE)], Options())
    return certificate.results[0]


@pytest.mark.parametrize("code", [14, 15, 16])
@at_once
async def test_who_says_that_it_loads_is_not_judged(code: int) -> None:
    result = await attempted(Loads(code))
    assert result.outcome is Outcome.UNKNOWN
    assert result.message == "the coordinator moved or was loading meanwhile"


@at_once
async def test_a_case_is_not_judged_if_the_control_is_told_that_the_coordinator_moved() -> None:
    def moves(_: Send, answer: Answer) -> Answer:
        return msgspec.structs.replace(answer, body={**(answer.body or {}), "errorCode": 16})

    target = RealClockTarget(lie=Loads(0), to_control=moves)
    (result,) = (await certify(target, KAFKA_4, [entry(ZOMBIE)], Options())).results
    assert result.outcome is Outcome.UNKNOWN
    assert result.message == "the coordinator moved or was loading meanwhile"


@pytest.mark.parametrize("described", [0, CLOSED])
@at_once
async def test_who_answers_so_although_it_is_ready_fails(described: int | str) -> None:
    result = await attempted(Loads(described))
    assert (result.outcome, result.attempts) == (Outcome.FAIL, REQUIRED_REPEATS)


@at_once
async def test_what_was_said_once_by_a_coordinator_that_is_ready_now_does_not_count() -> None:
    result = await attempted(Loads(0, beats=1))
    assert (result.outcome, result.attempts) == (Outcome.PASS, 2)
    assert "not seen again" in result.notes[-1]


@pytest.mark.parametrize(
    ("api", "code", "revision", "cause"),
    [
        ("Heartbeat", 0, "kafka-4", WHILE_LOADING),
        ("Heartbeat", 25, "kafka-4", None),
        ("SyncGroup", 27, "kafka-3.9", WHILE_LOADING),
        ("SyncGroup", 27, "kafka-4", None),
        ("SyncGroup", 25, "kafka-3.9", None),
    ],
)
def test_what_a_coordinator_says_that_loads(
    api: str, code: int, revision: str, cause: str | None
) -> None:
    lie = about(api, None, lambda body: {**body, "errorCode": code})
    result = result_of(ZOMBIE, lie=lie)
    assert result.outcome is Outcome.FAIL
    assert passing_cause(result, revisions.find(revision)) == cause


def test_what_the_link_may_have_caused_is_not_put_down_to_loading() -> None:
    result: Any = result_of(ZOMBIE, lie=Loads(0))
    violation = replace(result.violation, wrong=Wrong.CLOSED, observed=None)
    cut = replace(result, verdict=replace(result.verdict, violation=violation))
    assert passing_cause(cut, KAFKA_4) == LINK
    assert passing_cause(result_of(ZOMBIE), KAFKA_4) is None


class _OnOneBroker(RealClockTarget):
    """A target that finds out if its coordinator stayed where it was."""

    def __init__(self, stays: bool, **options: Any) -> None:
        super().__init__(**options)
        self._stays = stays

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        async def stays() -> bool:
            return self._stays

        async with super().scope(label, isolated=isolated, restarts=restarts) as scope:
            scope.stays = stays  # type: ignore[attr-defined]
            yield scope


def _not_coordinator(send: Send, answer: Answer) -> Answer:
    body = {**(answer.body or {}), "errorCode": 16}
    return msgspec.structs.replace(answer, body=body) if send.api == "Heartbeat" else answer


@at_once
async def test_a_broker_that_is_alone_and_named_before_and_after_sends_nobody_away() -> None:
    """rivine answers a heartbeat of an absent group with NOT_COORDINATOR, for ever."""
    target = _OnOneBroker(stays=True, lie=_not_coordinator)
    (result,) = (await certify(target, KAFKA_4, [entry(ZOMBIE)], Options())).results
    assert (result.outcome, result.attempts) == (Outcome.FAIL, REQUIRED_REPEATS)
    assert "NOT_COORDINATOR instead of FENCED_INSTANCE_ID" in result.message


@at_once
async def test_a_broker_that_says_so_of_all_absent_groups_from_the_start_is_judged() -> None:
    """rivine says it to the control, too, whose heartbeats are of an absent group."""
    target = _OnOneBroker(stays=True, lie=_not_coordinator, to_control=_not_coordinator)
    (result,) = (await certify(target, KAFKA_4, [entry(ZOMBIE)], Options())).results
    assert (result.outcome, result.attempts) == (Outcome.FAIL, REQUIRED_REPEATS)


def _not_coordinator_later() -> Callable[[Send, Answer], Answer]:
    """Make a lie of a coordinator that moves after a while."""
    asked = itertools.count()

    def lie(send: Send, answer: Answer) -> Answer:
        return _not_coordinator(send, answer) if next(asked) > 0 else answer

    return lie


@pytest.mark.parametrize("stays", [True, False])
@at_once
async def test_a_coordinator_that_may_have_moved_is_not_judged(stays: bool) -> None:
    """FindCoordinator is not sure, or the control gets NOT_COORDINATOR, too, and did not before."""
    to_control = _not_coordinator_later() if stays else honest
    target = _OnOneBroker(stays=stays, lie=_not_coordinator, to_control=to_control)
    (result,) = (await certify(target, KAFKA_4, [entry(ZOMBIE)], Options())).results
    assert result.outcome is Outcome.UNKNOWN
    assert result.message == "the coordinator moved or was loading meanwhile"


def test_a_deviation_is_explained_by_no_pass_of_the_cleaner() -> None:
    """The oracle goes on behind a deviation, so it is no violation of the oracle itself."""
    result = result_of(ZOMBIE, lie=_not_coordinator)
    assert result.violation is not None
    assert result.violation.wrong is Wrong.DEVIATION
    assert result.recording is not None
    assert not explained_by_cleaner(result.recording, KAFKA_4)
    honest_result = result_of(ZOMBIE)
    assert honest_result.recording is not None
    assert explained_by_cleaner(honest_result.recording, KAFKA_4)
