from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.groups import group, told
from support.lying_assignors import LYING_ASSIGNORS
from support.shrunk_groups import shrunk_group

from fencepost.model.assignors.assignors import ASSIGNORS, Assignor
from fencepost.properties.assignors.assignor_promises import (
    ASSIGNOR_PROMISES,
    KINDS,
    AssignorInput,
    GroupKind,
    broken_promises,
    groups,
    random_group,
    rounds,
    settled,
    small_groups,
    small_racked_groups,
)

EACH = pytest.mark.parametrize("assignor", ASSIGNORS.values(), ids=lambda assignor: assignor.name)
COOPERATIVE = ASSIGNORS["cooperative-sticky"]


@EACH
@settings(max_examples=60)
@given(group=groups())
def test_promises_are_kept(assignor: Assignor, group: AssignorInput) -> None:
    assert broken_promises(assignor, group) == []


@EACH
def test_promises_are_kept_in_all_small_groups(assignor: Assignor) -> None:
    for one in small_groups(2, 3):
        assert broken_promises(assignor, one) == [], one


@EACH
def test_promises_are_kept_in_all_small_groups_with_racks(assignor: Assignor) -> None:
    for one in small_racked_groups(2, 2):
        assert broken_promises(assignor, one) == [], one


@pytest.mark.parametrize("name", LYING_ASSIGNORS)
def test_a_lying_assignor_is_caught(name: str) -> None:
    liar, promise = LYING_ASSIGNORS[name]
    rng = random.Random(1)
    some = (random_group(kind, rng) for _ in range(50) for kind in KINDS)
    assert any(any(ASSIGNOR_PROMISES[promise](liar, one)) for one in some)


@pytest.mark.parametrize("name", ["gives-all-to-first", "goes-by-member-id", "hands-over-early"])
def test_what_catches_it_is_small(name: str) -> None:
    liar, promise = LYING_ASSIGNORS[name]
    found = shrunk_group(lambda one: any(ASSIGNOR_PROMISES[promise](liar, one)))
    assert len(found.members) <= 2
    assert sum(found.counts.values()) <= 3


def test_every_promise_is_broken_by_somebody() -> None:
    assert {promise for _, promise in LYING_ASSIGNORS.values()} == set(ASSIGNOR_PROMISES)


@settings(max_examples=40)
@given(st.sampled_from(list(ASSIGNORS.values())), groups(GroupKind()), st.integers(0, 5))
def test_a_process_that_forgot_has_one_partition_less_at_most(
    assignor: Assignor, group: AssignorInput, which: int
) -> None:
    found = settled(assignor, group)
    now = group.owning(found, 9)
    gone = now.members[which % len(now.members)]
    blank = replace(gone, subscription=replace(gone.subscription, owned=(), generation_id=-1))
    after = settled(
        assignor, replace(now, members=tuple(blank if m == gone else m for m in now.members))
    )
    lost = {m: set(partitions) - set(after[m]) for m, partitions in found.items()}
    assert len(lost.pop(gone.member_id)) <= (1 if assignor.is_sticky else 0)
    assert not any(lost.values())


def test_racks_can_take_more_than_two_rounds() -> None:
    """As in Kafka: what is far is dealt anew in each round."""
    found = group(
        "m0(ra): ta tb | ta2 tb0 @4",
        "i1(rb): ta tb | ta0 tb2 @5",
        "i2: ta tb | tb4 tb5 @3",
        "m3(rb): ta tb | ta4 tb1 @3",
        ta="ra rb rc rb,rc ra,rc",
        tb="ra,rc ra rb ra,rc rb ra,rc",
    )
    passed = rounds(COOPERATIVE, found)
    assert len(passed) > 2
    assert sum(map(len, passed[-1][1].values())) == 11
    assert any(told(one) != told(passed[-1][1]) for _, one in passed[1:-1])
