from __future__ import annotations

import pytest
from support.client_story import (
    assert_told_apart,
    evidence,
    find,
    heartbeat,
    join,
    run,
    saw,
    settled,
    told,
)

from fencepost.model.messages.errors import Error as Code
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.driver_messages import Error
from fencepost.properties.requirements.requirements import judge

A = run()
REFUSED = [*settled(A, 1, 0, 1), heartbeat(A, 500, error=Code.UNKNOWN_MEMBER_ID)]


@pytest.mark.parametrize("code", ["UNKNOWN_MEMBER_ID", "NOT_COORDINATOR_FOR_GROUP"])
def test_a_user_is_not_told_what_the_member_deals_with(code: str) -> None:
    right = evidence(A, REFUSED, told(A, 510, "_TRANSPORT", fatal=False))
    wrong = evidence(A, REFUSED, told(A, 510, code, fatal=False))
    assert_told_apart("CLIENT-JOIN-ERROR-HIDDEN", right, wrong, f"told {code} in poll")


def test_what_is_said_of_a_commit_or_for_information_is_not_told() -> None:
    name, code = "CLIENT-JOIN-ERROR-HIDDEN", "UNKNOWN_MEMBER_ID"
    for where in ("error_cb", "OnGroupManageError", "OffsetsCommitted", "commit"):
        event = saw(A, 510, Error("a", 510, where, code, False, "something"))
        assert judge(name, evidence(A, REFUSED, event)).outcome is Outcome.PASS
    before = told(A, 400, code, fatal=False)
    assert judge(name, evidence(A, REFUSED, before)).outcome is Outcome.PASS
    assert judge(name, evidence(A, settled(A, 1, 0, 1))).outcome is Outcome.UNKNOWN


def test_a_member_joins_again_at_the_coordinator_that_it_knows() -> None:
    name = "CLIENT-JOIN-NO-LOOKUP"
    right = evidence(A, REFUSED, join(A, 520), find(A, 800))
    wrong = evidence(A, REFUSED, find(A, 510), join(A, 520))
    assert_told_apart(name, right, wrong, "FindCoordinator after UNKNOWN_MEMBER_ID")
    moved = heartbeat(A, 505, error=Code.NOT_COORDINATOR)
    two = evidence(A, REFUSED, moved, find(A, 510), join(A, 520))
    assert judge(name, two).outcome is Outcome.UNKNOWN
    assert judge(name, evidence(A, REFUSED)).outcome is Outcome.UNKNOWN


def test_the_answer_is_named_that_the_user_was_told_of() -> None:
    refused = [*settled(A, 1, 0, 1), heartbeat(A, 500, error=Code.REBALANCE_IN_PROGRESS)]
    gone = join(A, 520, "m1", error=Code.UNKNOWN_MEMBER_ID)
    later = heartbeat(A, 900, error=Code.UNKNOWN_MEMBER_ID)
    event = told(A, 522, "UNKNOWN_MEMBER_ID", fatal=False)
    verdict = judge("CLIENT-JOIN-ERROR-HIDDEN", evidence(A, refused, gone, event, later))
    assert verdict.sentence.startswith("a was answered UNKNOWN_MEMBER_ID in JoinGroup, and")
    other = judge("CLIENT-JOIN-ERROR-HIDDEN", evidence(A, refused, event))
    assert other.sentence.startswith("a was answered REBALANCE_IN_PROGRESS in Heartbeat, and")
