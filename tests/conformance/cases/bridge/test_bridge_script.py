"""The catalogue of mixed groups: which wrong answers its cases catch.

All cases on all revisions, and each rule that is wrong in one thing: `big_bridge_cases.py`.
"""

from __future__ import annotations

import pytest
from support.consumer_cases import play

from fencepost.conformance.cases import MIXED_ENTRIES, entry
from fencepost.conformance.cases.bridge.bridge_script import BridgeScript
from fencepost.model.messages.subscription import TopicPartition, decode_assignment
from fencepost.model.plans.steps import AssignmentsIfLeader, Request
from fencepost.model.revisions import revisions

BASE = revisions.find("mixed-4.4")
SAMPLE = [case.id for case in MIXED_ENTRIES[::12]]
PARKED = "MG-UPGRADE/parked-join-during-an-upgrade"
TIMES = (
    "MG-JOIN-EXPIRED/heartbeat-of-the-other-protocol-is-no-join",
    "MG-SYNC-EXPIRED/time-to-sync-outlasts-a-downgrade",
    "MG-JOIN-AGAIN/member-that-has-more-to-give-up-becomes-classic",
)


@pytest.mark.parametrize("case_id", [*SAMPLE, PARKED, *TIMES])
def test_a_case_holds_for_the_model(case_id: str) -> None:
    assert play(entry(case_id), BASE, BASE).why is None


def test_classic_members_share_the_topic() -> None:
    script = BridgeScript(delayed=True)
    script.classic.stable("A1", "B1")
    syncs = [s for s in script.steps if isinstance(s, Request) and s.api == "SyncGroup"]
    (assigned,) = {s.fields["assignments"].by_member for s in syncs}
    assert isinstance(syncs[0].fields["assignments"], AssignmentsIfLeader)
    shares = [decode_assignment(each) for _, each in assigned]
    assert shares == [tuple(TopicPartition("t", n) for n in part) for part in ((0, 1), (2, 3))]


@pytest.mark.parametrize(
    ("case_id", "target", "rule"),
    [
        ("MG-JOIN-GROUP-FULL/replacement-in-a-full-group", "mixed-4.3.1", "MG-JOIN-REPLACE"),
        ("MG-JOIN-POLICY/classic-join-where-migration-is-disabled", "mixed-4.3", "MG-JOIN-POLICY"),
        (
            "MG-JOIN-SUBSCRIPTION-BROKEN/broken-subscription",
            "mixed-4.3.1",
            "MG-JOIN-SUBSCRIPTION-BROKEN",
        ),
        ("MG-HEARTBEAT-REJOIN/newer-epoch-without-a-target", "mixed-4.2", "MG-HEARTBEAT"),
        ("MG-SYNC/sync-in-a-newer-epoch-without-a-target", "mixed-4.2", "MG-SYNC"),
        (
            "MG-DOWNGRADE-CHANGED/downgrade-with-another-subscription",
            "mixed-4.0",
            "MG-JOIN-REPLACE",
        ),
    ],
)
def test_another_release_fails_by_the_rule_that_differs(
    case_id: str, target: str, rule: str
) -> None:
    ran = play(entry(case_id), revisions.find(target), BASE)
    assert ran.is_caught
    assert ran.broken == rule
