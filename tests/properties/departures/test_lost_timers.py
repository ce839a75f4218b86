"""A member that is never removed is the fault of its timer, whichever answer shows it."""

from __future__ import annotations

import asyncio

import pytest

from fencepost.conformance.cases.suites import find_suite
from fencepost.conformance.run.certify import Options, certify
from fencepost.conformance.targets.target_registry import TargetOptions, find_target
from fencepost.model.revisions import revisions
from fencepost.model.table.table import Level
from fencepost.properties.judging.outcome import CaseResult, Outcome


def run(case_id: str, mutant: str, judge: str) -> CaseResult:
    revision = revisions.find(judge)
    cases = [e for e in find_suite("catalogue", revision).entries if e.id == case_id]
    target = find_target(f"mutant:{mutant}", TargetOptions())
    (result,) = asyncio.run(certify(target, revision, cases, Options())).results
    assert result.outcome is Outcome.FAIL
    assert result.violation is not None
    return result


@pytest.mark.parametrize(
    ("case", "mutant", "judge", "broken", "timer"),
    [
        (
            "CG-SESSION-EXPIRED/errors-restart-no-timer",
            "cg-join-without-session",
            "consumer-4.4",
            "CG-BEAT-INSTANCE-UNMAPPED",
            "CG-SESSION-EXPIRED",
        ),
        (
            "SESSION-EXPIRED/static-member-that-never-expires",
            "crabka-static-never-expires",
            "kafka-4",
            "HEARTBEAT-INSTANCE-UNMAPPED",
            "SESSION-EXPIRED",
        ),
    ],
)
def test_a_member_that_stays_is_blamed_on_its_timer(
    case: str, mutant: str, judge: str, broken: str, timer: str
) -> None:
    result = run(case, mutant, judge)
    assert result.broken(revisions.find(judge)) == broken
    assert result.violation is not None
    assert result.violation.lost_timer == timer
    assert result.level is Level.MUST
    assert f"Without the removal by rule {timer} all answers are right." in result.message


@pytest.mark.parametrize(
    ("case", "mutant"),
    [
        ("CG-BEAT-ALIVE/heartbeats-prolong-the-session", "cg-heartbeat-keeps-nobody-alive"),
        ("CG-LEAVE-RELEASE/released-member-is-not-hurried", "cg-release-keeps-time-to-revoke"),
    ],
)
def test_another_fault_is_not_blamed_on_a_timer(case: str, mutant: str) -> None:
    result = run(case, mutant, "consumer-4.4")
    assert result.violation is not None
    assert not result.violation.lost_timer
    assert "Without the removal" not in result.message


def test_a_silence_is_explained_by_the_rule_of_the_timer_alone() -> None:
    case = "SESSION-EXPIRED/silent-static-member-between-join-and-sync"
    result = run(case, "crabka-static-never-expires", "kafka-4")
    assert result.broken(revisions.find("kafka-4")) == "SESSION-EXPIRED"
    assert "Without the removal" not in result.message
