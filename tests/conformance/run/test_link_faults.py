"""Failures that a bad link makes, too: what counts, what does not, and how often it is tried."""

from __future__ import annotations

import asyncio
import itertools
import time
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from support.real_clock import RealClockTarget
from support.runs import KAFKA_4, about, entry, honest, result_of
from support.virtual_clock import at_once

from fencepost.conformance.run.certify import Options, certify
from fencepost.conformance.run.end_of_target import failed
from fencepost.conformance.run.link_faults import (
    LINK,
    REQUIRED_REPEATS,
    RepeatedFailures,
    excused_by_control,
    may_be_the_link,
)
from fencepost.conformance.runtime import lag_meter
from fencepost.conformance.runtime.lag_meter import LagMeter
from fencepost.conformance.targets.target import UNSOLICITED, SpoiledRunError
from fencepost.model.coordinator import Answer, Send
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.oracle.verdict import Wrong

CASE = "HEARTBEAT-INSTANCE-FENCED/zombie"


def failure(wrong: Wrong, *, late: bool = False) -> CaseResult:
    lie = about("Heartbeat", "B", lambda body: {**body, "errorCode": 0})
    result = result_of(CASE, "kafka-4", lie)
    assert result.verdict is not None
    assert result.verdict.violation is not None
    violation = replace(result.verdict.violation, wrong=wrong, late=late)
    return replace(result, verdict=replace(result.verdict, violation=violation))


@pytest.mark.parametrize(
    ("wrong", "late", "suspicious"),
    [
        (Wrong.ANSWER, False, False),
        (Wrong.ANSWER, True, True),
        (Wrong.SILENCE, True, True),
        (Wrong.SILENCE, False, False),
        (Wrong.CLOSED, False, True),
        (Wrong.SHAPE, False, False),
    ],
)
def test_lateness_and_an_end_may_be_the_links(wrong: Wrong, late: bool, suspicious: bool) -> None:
    assert may_be_the_link(failure(wrong, late=late)) is suspicious


def test_a_pass_is_no_suspicion() -> None:
    assert not may_be_the_link(result_of(CASE))


def test_a_target_that_can_not_be_reached_may_be_the_links() -> None:
    result = failure(Wrong.ANSWER)
    assert may_be_the_link(replace(result, verdict=None, recording=None))


def test_the_third_sight_at_the_same_request_counts() -> None:
    cut, late = failure(Wrong.CLOSED), failure(Wrong.SILENCE, late=True)
    failures = RepeatedFailures(3)
    assert not failures.confirms(cut, LINK)
    assert not failures.confirms(late, LINK)
    assert not failures.confirms(cut, LINK)
    assert failures.confirms(cut, LINK)


def test_undecided_attempts_use_up_no_repeat() -> None:
    failures = RepeatedFailures(3)
    assert [failures.allows(attempt) for attempt in (3, 4)] == [True, False]
    failures.confirms(failure(Wrong.CLOSED), LINK)
    assert [failures.allows(attempt) for attempt in (4, 5)] == [True, False]  # two are undecided
    for _ in range(4):
        failures.confirms(failure(Wrong.SILENCE, late=True), LINK)
    assert not failures.allows(6)


def test_who_is_tried_once_is_believed_at_once() -> None:
    assert RepeatedFailures(1).confirms(failure(Wrong.CLOSED), LINK)


def test_a_failure_that_is_not_seen_again_is_told() -> None:
    failures, cut, fine = RepeatedFailures(3), failure(Wrong.CLOSED), result_of(CASE)
    failures.confirms(cut, LINK)
    weigh = failures.weigh(fine)
    assert weigh.outcome is Outcome.PASS
    assert cut.message in weigh.notes[-1]
    assert failures.weigh(cut).outcome is Outcome.UNKNOWN
    assert RepeatedFailures(3).weigh(fine) is fine


class Cuts:
    """Ends the connection instead of some of the answers to the zombie's heartbeats."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self, request: Send, answer: Answer) -> Answer:
        if request.api != "Heartbeat" or self.left == 0:
            return answer
        self.left -= 1
        return msgspec.structs.replace(answer, body=None)


async def attempted(lie: Any) -> CaseResult:
    certificate = await certify(RealClockTarget(lie=lie), KAFKA_4, [entry(CASE)], Options())
    return certificate.results[0]


@pytest.mark.parametrize(
    ("lost", "answered", "outcome"),
    [
        ([], [10.0, 99.0], Outcome.FAIL),
        ([(10.5, 10.6)], [10.0, 99.0], Outcome.UNKNOWN),  # and it could connect again
        ([(10.5, 10.6)], [10.0], Outcome.FAIL),  # the target is gone
        ([(1.0, 1.1)], [10.0, 99.0], Outcome.FAIL),  # long before
    ],
)
def test_a_cut_that_the_control_suffers_too_is_not_the_targets(
    lost: list[tuple[float, float]],
    answered: list[float],
    outcome: Outcome,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cut = failure(Wrong.CLOSED)
    clock = itertools.count(11.0, 0.25)
    monkeypatch.setattr(lag_meter, "_POLL_S", 0)
    meter = LagMeter(lost=lost, answered=answered)

    async def weigh() -> CaseResult:
        monkeypatch.setattr(time, "monotonic", lambda: next(clock))
        return await excused_by_control(cut, meter, began=10.0)

    try:
        assert asyncio.run(weigh()).outcome is outcome
    finally:
        monkeypatch.undo()


@pytest.mark.parametrize(
    ("cuts", "outcome", "attempts"),
    [
        (0, Outcome.PASS, 1),
        (1, Outcome.PASS, 2),
        (2, Outcome.PASS, 3),
        (99, Outcome.FAIL, REQUIRED_REPEATS),
    ],
)
@at_once
async def test_a_connection_that_ends_each_time_is_the_targets_fault(
    cuts: int, outcome: Outcome, attempts: int
) -> None:
    result = await attempted(Cuts(cuts))
    assert (result.outcome, result.attempts) == (outcome, attempts)


class Unasked:
    """Sends something that nobody asked for before some of the answers to heartbeats."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self, request: Send, answer: Answer) -> Answer:
        if request.api != "Heartbeat" or self.left == 0:
            return answer
        self.left -= 1
        sent = (
            f"The broker sent 186 bytes {UNSOLICITED}. (after {self.left} ms; it begins with 00ff)"
        )
        return msgspec.structs.replace(answer, findings=(f"On connection 'B2': {sent}",))


@pytest.mark.parametrize(
    ("times", "outcome", "attempts"), [(1, Outcome.PASS, 2), (99, Outcome.FAIL, REQUIRED_REPEATS)]
)
@at_once
async def test_what_comes_unasked_counts_if_it_comes_each_time(
    times: int, outcome: Outcome, attempts: int
) -> None:
    result = await attempted(Unasked(times))
    assert (result.outcome, result.attempts) == (outcome, attempts)
    if outcome is Outcome.FAIL:  # the same words in each run
        said = "malformed bytes: On connection 'B2': The broker sent 186 bytes"
        assert result.observed.endswith(f"{said} {UNSOLICITED}")
        assert "ms" not in result.observed
    else:
        assert "not seen again" in result.notes[-1]


def test_a_case_that_an_earlier_one_spoiled_is_undecided() -> None:
    result = failed(entry(CASE).case({}, delayed=False), SpoiledRunError("connection 'a'"))
    assert (result.outcome, result.message) == (Outcome.UNKNOWN, "connection 'a'")


@at_once
async def test_a_wrong_answer_counts_at_once() -> None:
    lie = about("Heartbeat", None, lambda body: {**body, "errorCode": 25})
    result = await attempted(lie)
    assert (result.outcome, result.attempts) == (Outcome.FAIL, 1)


@at_once
async def test_an_honest_target_is_tried_once() -> None:
    result = await attempted(honest)
    assert (result.outcome, result.attempts) == (Outcome.PASS, 1)
