"""Every promise of every assignor, in all groups of three members and four partitions, and more.

`tox -e explore`: some minutes.
"""

from __future__ import annotations

import random

import pytest

from fencepost.model.assignors.assignors import ASSIGNORS, Assignor
from fencepost.properties.assignors.assignor_promises import (
    KINDS,
    GroupKind,
    broken_promises,
    random_group,
    small_groups,
    small_racked_groups,
)

EACH = pytest.mark.parametrize("assignor", ASSIGNORS.values(), ids=lambda assignor: assignor.name)


@EACH
def test_promises_are_kept_in_all_small_groups(assignor: Assignor) -> None:
    for one in small_groups(3, 4):
        assert broken_promises(assignor, one) == [], one


@EACH
@pytest.mark.parametrize("members", [2, 3])
def test_promises_are_kept_in_all_small_groups_with_racks(assignor: Assignor, members: int) -> None:
    for one in small_racked_groups(members, 3):
        assert broken_promises(assignor, one) == [], one


@EACH
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_promises_are_kept_in_random_groups(assignor: Assignor, kind: GroupKind) -> None:
    rng = random.Random(2)
    for _ in range(1250):
        one = random_group(kind, rng)
        assert broken_promises(assignor, one) == [], one
