"""The catalogue of the consumer protocol: which wrong answers its cases catch.

All cases on all revisions, and each rule that is wrong in one thing: `big_consumer_cases.py`.
"""

from __future__ import annotations

import pytest
from support.consumer_cases import play

from fencepost.conformance.cases import CONSUMER_ENTRIES, entry
from fencepost.model.plans.steps import Request
from fencepost.model.revisions import revisions

SAMPLE = CONSUMER_ENTRIES[::9]


@pytest.mark.parametrize("case_id", [case.id for case in SAMPLE])
def test_a_case_holds_for_the_model(case_id: str) -> None:
    assert play(entry(case_id)).why is None


@pytest.mark.parametrize(
    ("case_id", "target", "rule"),
    [
        ("CG-JOIN-REJOIN/static-member-joins-without-instance", "consumer-4.0", "CG-JOIN-REJOIN"),
        (
            "CG-COMMIT-PARTITION-HELD/commit-for-partitions-that-stay",
            "consumer-4.2",
            "CG-COMMIT-EPOCH-OLDER",
        ),
        (
            "CG-JOIN-GROUP-FULL/second-process-in-a-full-group",
            "consumer-4.4",
            "CG-JOIN-GROUP-FULL",
        ),
        ("CG-JOIN-RETURN/restart-with-another-assignor", "consumer-4.4", "CG-JOIN-RETURN"),
        (
            "CG-JOIN-AGAIN-UNRELEASED/lost-answer-to-the-first-join",
            "pr-23542",
            "CG-JOIN-AGAIN-UNRELEASED",
        ),
        ("CG-JOIN-COPY/member-brings-a-released-instance", "pr-23542", "CG-JOIN-COPY"),
    ],
)
def test_another_revision_fails_by_the_rule_that_differs(
    case_id: str, target: str, rule: str
) -> None:
    ran = play(entry(case_id), revisions.find(target))
    assert ran.is_caught
    assert ran.broken == rule


def aborts_the_mock(step: Request) -> bool:
    """Return True if librdkafka's mock may abort on a request: see `MockTarget`."""
    if step.api != "ConsumerGroupHeartbeat" or step.version == 0:
        return False
    sent = step.fields
    epoch, names = sent["member_epoch"], sent.get("subscribed_topic_names")
    if isinstance(epoch, int) and epoch < -2:
        return True
    is_odd = names == () or (names is not None and sent.get("subscribed_topic_regex") is None)
    return is_odd or (epoch == 0 and sent["member_id"] == "")


def test_a_case_that_may_end_the_mock_has_one_of_its_own() -> None:
    plans = [case.case({}, delayed=False) for case in CONSUMER_ENTRIES]
    shared = [plan.id for plan in plans if not plan.isolated]
    steps = {plan.id: [s for s in plan.steps if isinstance(s, Request)] for plan in plans}
    assert [case for case in shared if any(map(aborts_the_mock, steps[case]))] == []
