"""The sticky assignor, and the cooperative one, which hands over in two rounds.

Balance comes first, then racks where they matter, then that partitions stay where they are.  Groups
whose members all want the same are assigned in one way (`alike.py`), others in another
(`unlike.py`).

Source: Kafka's StickyAssignor and CooperativeStickyAssignor, by what they decide; KIP-54, KIP-429
(cooperative handover), KIP-792 (generations), KIP-881 (racks).
"""

from __future__ import annotations

from fencepost.model.assignors.assignor_input import (
    NO_RACKS,
    Applicant,
    Assignment,
    Counts,
    Racks,
    collected,
)
from fencepost.model.assignors.ownership_claims import Claims, claims_of
from fencepost.model.assignors.sticky_mixed_topics import settle_unlike
from fencepost.model.assignors.sticky_same_topics import settle_alike


def assign_sticky(
    members: tuple[Applicant, ...], counts: Counts, racks: Racks = NO_RACKS
) -> Assignment:
    """Level the loads, and leave partitions where they are as far as that allows."""
    return _settled(members, counts, racks, claims_of(members, counts))


def assign_cooperatively(
    members: tuple[Applicant, ...], counts: Counts, racks: Racks = NO_RACKS
) -> Assignment:
    """As sticky, but what another member still claims goes to nobody until it was given back."""
    claims = claims_of(members, counts)
    owners = {p: owner.member_id for p, owner in claims.owners().items()}
    return {
        member_id: tuple(
            p
            for p in partitions
            if owners.get(p) == member_id
            or all(m.member_id == member_id for m in claims.claimants.get(p, ()))
        )
        for member_id, partitions in _settled(members, counts, racks, claims).items()
    }


def _settled(
    members: tuple[Applicant, ...], counts: Counts, racks: Racks, claims: Claims
) -> Assignment:
    wanted = {frozenset(member.subscription.topics) for member in members}
    settle = settle_alike if len(wanted) == 1 else settle_unlike
    return collected(members, settle(members, counts, racks, claims))
