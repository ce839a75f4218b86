"""An answer that KIP-848 or a later Kafka permits is a MAY; a fault beside it keeps its level."""

from __future__ import annotations

import asyncio

import pytest

from fencepost.conformance.cases.suites import find_suite
from fencepost.conformance.run.certify import Options, certify
from fencepost.conformance.targets.in_process import InProcessTarget
from fencepost.model.consumer.effects import Do
from fencepost.model.revision import Revision, SetRule, derive
from fencepost.model.revisions import revisions
from fencepost.model.revisions.consumer_releases import heeds_no_subscription
from fencepost.model.revisions.revision_soundness import revision_faults
from fencepost.model.table.table import Level, replace_steps
from fencepost.properties.departures.permitted import others
from fencepost.properties.judging.outcome import CaseResult, Outcome

BASE = revisions.find("consumer-4.3")
RELEASED = "CG-REBALANCE-EXPIRED-RELEASED/released-while-giving-up-before-a-failover"
CHANGED = "CG-JOIN-CHANGE-INSTANCE/static-member-changes-its-instance"
GIVEN_UP = "CG-BEAT-ALIVE-CHANGED/topic-given-up-within-the-interval"
JOINS, BEATS = "ConsumerGroupHeartbeat join", "ConsumerGroupHeartbeat"
HEEDLESS = derive(BASE, "heedless", "for a test", tuple(heeds_no_subscription(BASE)))


def run(case_id: str, target: Revision, judge: Revision = BASE) -> CaseResult:
    cases = [e for e in find_suite("catalogue", BASE).entries if e.id == case_id]
    report = asyncio.run(certify(InProcessTarget("model", target, "0"), judge, cases, Options()))
    (result,) = report.results
    return result


@pytest.mark.parametrize(
    ("case", "target", "by"),
    [
        (RELEASED, revisions.find("kip-848"), "kip-848"),
        (CHANGED, revisions.find("consumer-4.4"), "kip-848"),
        (GIVEN_UP, HEEDLESS, "consumer-4.3 before KAFKA-19431"),
    ],
)
def test_an_answer_that_another_revision_permits_is_a_may(
    case: str, target: Revision, by: str
) -> None:
    result = run(case, target)
    assert result.outcome is Outcome.FAIL
    assert result.level is Level.MAY
    assert result.violation is not None
    assert result.violation.permitted == by
    assert f"this failure counts as MAY, because {by} permits it" in result.message


def test_each_revision_that_may_permit_an_answer_is_sound() -> None:
    revision = revisions.find("consumer-4.4")
    for other in others(revision):
        assert not list(revision_faults(other))


def test_the_text_permits_nothing_of_which_it_is_silent() -> None:
    case = "CG-JOIN-RETURN/restart-with-another-assignor"
    result = run(case, BASE, revisions.find("consumer-4.4"))
    assert result.violation is not None
    assert not result.violation.permitted


def test_a_release_is_not_excused_by_an_older_one() -> None:
    result = run(CHANGED, BASE, revisions.find("consumer-4.4"))
    assert result.violation is not None
    assert not result.violation.permitted
    assert result.level is Level.SHOULD


def test_two_owners_of_a_partition_are_a_must_by_whichever_rule() -> None:
    result = run(
        "CG-JOIN-STATIC-NEW/second-static-member",
        revisions.find("mutant:cg-takes-what-others-have"),
    )
    assert result.level is Level.MUST
    assert "because a partition has one owner, and t-" in result.message
    assert "are still A1's (rule CG-" in result.message
    assert "SHOULD; this failure counts as MUST)" in result.message


def test_a_fault_keeps_its_level() -> None:
    refusal = BASE.rule("CG-JOIN-UNRELEASED")
    displaces = BASE.rule("CG-JOIN-RETURN").but(id=refusal.id, guard=refusal.guard)
    wrong = derive(BASE, "displaces", "for a test", (SetRule(JOINS, displaces, "test"),))
    result = run("CG-JOIN-UNRELEASED/second-process-of-a-live-member", wrong)
    assert result.outcome is Outcome.FAIL
    assert result.level is Level.MUST


@pytest.mark.parametrize(
    ("case", "told", "outcome", "level"),
    [
        ("without-instance", Do.ANSWER_ASSIGNMENT, Outcome.PASS, Level.MUST),
        ("full-heartbeat", Do.ANSWER_CHANGED_TASKS, Outcome.FAIL, Level.SHOULD),
    ],
    ids=["tells it again", "tells no more than changes"],
)
def test_an_assignment_that_is_told_again_is_no_other_one(
    case: str, told: Do, outcome: Outcome, level: Level
) -> None:
    beats = ("CG-BEAT-ALIVE", "CG-BEAT-REPEATED")
    changed = (replace_steps(BASE.rule(rule), {Do.ANSWER_CHANGES: (told,)}) for rule in beats)
    target = derive(BASE, "tells", "for a test", tuple(SetRule(BEATS, r, "test") for r in changed))
    result = run(f"CG-BEAT-ALIVE/{case}", target)
    assert result.outcome is outcome
    assert result.level is level
    if outcome is Outcome.FAIL:
        assert "assignment null instead of" in result.message
        assert "t-0" in result.message
    else:
        assert any("assignment" in note for note in result.notes)
