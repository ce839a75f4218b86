from __future__ import annotations

from support.groups import group, partitions

from fencepost.model.assignors.assignor_input import Applicant
from fencepost.model.assignors.sticky import Claims, claims_of
from fencepost.model.messages.subscription import TopicPartition
from fencepost.properties.assignors.assignor_promises import AssignorInput

[P0, P1, P2] = partitions("ta0 ta1 ta2")
Named = dict[TopicPartition, str]


def claimed(of: AssignorInput) -> Claims:
    return claims_of(of.members, of.counts)


def names(found: dict[TopicPartition, Applicant]) -> Named:
    return {partition: owner.member_id for partition, owner in found.items()}


def test_the_latest_claim_counts() -> None:
    claims = claimed(group("m1: ta | ta0 ta1 @2", "m2: ta | ta0 @3", ta=3))
    assert names(claims.owners()) == {P0: "m2", P1: "m1"}


def test_of_two_latest_claims_none_does() -> None:
    claims = claimed(group("m1: ta | ta0 @3", "m2: ta | ta0 @3", "m3: ta | ta0 @2", ta=3))
    assert names(claims.owners()) == {}


def test_what_does_not_exist_or_nobody_wants_is_not_claimed() -> None:
    claims = claimed(group("m1: ta | ta2 ta3 ta-1 tb0 @1", ta=3, tb=1))
    assert names(claims.owners()) == {P2: "m1"}


def test_who_had_it_earlier() -> None:
    claims = claimed(
        group("m1: ta | ta0 @2", "m2: ta | ta0 @3", "m3: ta | ta0 ta1 @4", "m4: ta | ta2 @5", ta=3)
    )
    assert names(claims.earlier()) == {P0: "m3", P1: "m3"}
