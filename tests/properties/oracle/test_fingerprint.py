"""Failures are compared without what differs from plan to plan."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from support.told import Told

from fencepost.model.coordinator import Answer
from fencepost.model.messages.errors import Error
from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.oracle.fingerprint import (
    Fingerprint,
    broken_rule,
    bug_of,
    kind_of,
)
from fencepost.properties.oracle.verdict import Wrong


def test_equal_fingerprints_need_not_have_the_same_observed_words() -> None:
    one = Fingerprint("HEARTBEAT-STABLE", "Heartbeat", "ANSWER", "NONE", "Heartbeat: NONE")
    other = Fingerprint("HEARTBEAT-STABLE", "Heartbeat", "ANSWER", "NONE", "Heartbeat: …")
    assert one == other
    assert one.by_observed != other.by_observed
    assert (
        Fingerprint("HEARTBEAT-STABLE", observed="Heartbeat: NONE").by_observed == one.by_observed
    )


def test_the_order_in_which_groups_are_listed_means_nothing() -> None:
    """A target that keeps them in a hash table lists them in another order each time."""
    g, h = {"groupId": "g", "groupState": "Stable"}, {"groupId": "h", "groupState": "Empty"}
    kinds = {kind_of({"errorCode": 0, "groups": groups}) for groups in ([g, h], [h, g])}
    assert kinds == {"NONE, Empty, Stable"}
    refused, left = {"errorCode": 25}, {"errorCode": 0}
    assert kind_of({"members": [refused, left]}) == "UNKNOWN_MEMBER_ID, NONE"


def test_a_bug_is_its_cause_or_its_fingerprint_in_one_implementation() -> None:
    one = Fingerprint("FETCH-DEAD", "OffsetFetch", "EARLY", "NONE")
    assert bug_of("kafka:3.9.1", one) == bug_of("kafka:2.4", str(one))
    assert bug_of("kafka:3.9.1", one) != bug_of("kfake", one)
    assert bug_of("kfake", one, "parked-sync") == bug_of("kfake", "", "parked-sync")


@pytest.mark.parametrize("fields", [{}, {"memberId": "A-1"}, {"generationId": 7}])
def test_a_wrong_field_of_a_refusal_breaks_the_rule_that_refuses(fields: dict[str, Any]) -> None:
    world = Told()
    world.stable("A", "B")
    waiting = world.admit("x")
    id_of_x = world.requests[waiting._id].body["memberId"]
    world.leave((id_of_x, None))
    assert waiting.error == "UNKNOWN_MEMBER_ID"

    def change(answer: Answer) -> list[Answer]:
        bad = () if fields else ("protocolName: is null, which version 6 doesn't allow",)
        return [replace(answer, body={**(answer.body or {}), **fields}, findings=bad)]

    violation = world.judged(world._instead(waiting, change)).verdict().violation
    assert violation is not None
    assert violation.wrong is Wrong.DEVIATION
    assert violation.decided_by == ("JOIN-PENDING",)  # which let it wait
    rule = broken_rule(violation, KAFKA_4)
    assert rule is not None
    assert rule.id == "LEAVE-MEMBER-PREPARING"


@pytest.mark.parametrize(
    ("error", "rule_id"),
    [
        (Error.MEMBER_ID_REQUIRED, "JOIN-STATIC-EMPTY-NEW"),
        (Error.UNKNOWN_MEMBER_ID, "JOIN-PHASE-DELAY-OVER"),  # a wait may end so, too
    ],
)
def test_a_refusal_breaks_the_rule_that_takes_the_request_in(error: Error, rule_id: str) -> None:
    world = Told(config={"group.initial.rebalance.delay.ms": 0})
    reply = world.join("A1")
    world.wait(1)
    refused = world.told(reply, errorCode=error.value, generationId=-1, leader="", members=[])
    violation = world.judged(refused).verdict().violation
    assert violation is not None
    rule = broken_rule(violation, KAFKA_4)
    assert rule is not None
    assert rule.id == rule_id
