from __future__ import annotations

import random

import pytest
from support.shrunk_groups import shrunk_group

from fencepost.model.assignors.assignor_input import racks_matter
from fencepost.model.assignors.sticky import claims_of
from fencepost.properties.assignors.assignor_promises import (
    KINDS,
    GroupKind,
    random_group,
    small_groups,
    small_racked_groups,
    wants_are_alike,
)


def test_small_groups_are_all_different() -> None:
    found = [repr(one) for one in small_groups(2, 2)]
    assert len(found) == len(set(found)) == 44


def test_small_groups_with_racks_are_all_different() -> None:
    found = [repr(one) for one in small_racked_groups(2, 2)]
    assert len(found) == len(set(found)) == 3**2 * 3**2 * 2


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_random_groups_are_of_their_kind(kind: GroupKind) -> None:
    rng = random.Random(1)
    found = [random_group(kind, rng) for _ in range(60)]
    claims = [claims_of(one.members, one.counts).claimants.values() for one in found]
    with_racks = [racks_matter(one.members, one.partitions(), one.racks) for one in found]
    assert kind.is_uniform == all(map(wants_are_alike, found))
    assert kind.has_racks == any(with_racks)
    assert kind.has_conflicts == any(len(who) > 1 for of in claims for who in of)
    assert repr(random_group(kind, random.Random(2))) == repr(random_group(kind, random.Random(2)))


def test_a_group_shrinks_to_what_matters() -> None:
    found = shrunk_group(lambda one: len(one.members) > 1 and sum(one.counts.values()) > 2)
    assert len(found.members) == 2
    assert found.counts == {"ta": 3}
    assert all(m.group_instance_id is None for m in found.members)
