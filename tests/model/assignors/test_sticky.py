from __future__ import annotations

import pytest
from support.groups import group, told

from fencepost.model.assignors.assignor_input import Assignment
from fencepost.model.assignors.assignors import ASSIGNORS
from fencepost.properties.assignors.assignor_promises import AssignorInput

STICKY, COOPERATIVE = ASSIGNORS["sticky"], ASSIGNORS["cooperative-sticky"]


def sticky(of: AssignorInput) -> dict[str, str]:
    return told(of.assigned(STICKY))


def cooperative(of: AssignorInput) -> Assignment:
    return of.assigned(COOPERATIVE)


def test_no_more_moves_than_must() -> None:
    found = sticky(group("i1: ta | ta0 ta1 ta2 ta3 @1", "i2: ta | ta4 ta5 @1", "i3: ta", ta=6))
    assert found == {"i1": "ta0 ta1", "i2": "ta4 ta5", "i3": "ta2 ta3"}


def test_who_has_more_keeps_the_share_that_is_one_more() -> None:
    found = sticky(group("i1: ta", "i2: ta | ta0 ta1 ta2 @1", ta=3))
    assert found == {"i1": "ta2", "i2": "ta0 ta1"}


def test_a_restart_without_memory_moves_the_odd_partition() -> None:
    """`i1` had two of three, as Kafka deals: the share that is one more goes to who was there."""
    found = sticky(group("i1: ta", "i2: ta | ta2 @1", ta=3))
    assert found == {"i1": "ta0", "i2": "ta1 ta2"}


def test_a_handover_takes_two_rounds() -> None:
    first = group("m1: ta | ta0 ta1 ta2 ta3 @1", "m2: ta", ta=4)
    found = cooperative(first)
    assert told(found) == {"m1": "ta0 ta1", "m2": ""}
    assert told(cooperative(first.owning(found, 2))) == {"m1": "ta0 ta1", "m2": "ta2 ta3"}


def test_the_latest_claim_wins() -> None:
    found = cooperative(group("m1: ta | ta0 @1", "m2: ta | ta0 @2", ta=1))
    assert told(found) == {"m1": "", "m2": "ta0"}


def test_what_two_claim_goes_to_nobody_at_first() -> None:
    two = group("m1: ta | ta0 @2", "m2: ta | ta0 @2", ta=1)
    assert told(cooperative(two)) == {"m1": "", "m2": ""}
    assert sticky(two) == {"m1": "ta0", "m2": ""}


def test_what_a_later_owner_loses_is_held_back_from_an_earlier_one() -> None:
    """Kafka gives `ta0` to `m2` at once here, while `m1` still reads it."""
    found = group("m1: ta tb | ta0 ta1 tb0 @4", "m2: ta | ta0 @3", "m3: tb", ta=2, tb=1)
    assert told(cooperative(found)) == {"m1": "ta1", "m2": "", "m3": ""}


def test_far_partitions_are_given_up_for_near_ones() -> None:
    found = sticky(group("m1(ra): ta | ta0 @1", "m2(rb): ta | ta1 @1", ta="rb ra"))
    assert found == {"m1": "ta1", "m2": "ta0"}


def test_balance_comes_before_racks() -> None:
    found = sticky(group("m1(ra): ta", "m2(rb): ta", ta="ra ra ra ra"))
    assert sorted(map(len, (text.split() for text in found.values()))) == [2, 2]


def test_partitions_with_few_near_members_are_dealt_first() -> None:
    """`ta1` is near to `m1` alone, so `m1` gets that one, not `ta0`."""
    found = sticky(group("m1(ra): ta", "m2(rb): ta", ta="ra,rb ra"))
    assert found == {"m1": "ta1", "m2": "ta0"}


def test_a_near_member_gets_one_more_where_none_is_short() -> None:
    found = sticky(group("m1(ra): ta | ta0 @1", "m2(rb): ta | ta1 @1", ta="ra rb rb"))
    assert found == {"m1": "ta0", "m2": "ta1 ta2"}


@pytest.mark.parametrize("members", [("m1: ta", "m2: ta tb"), ("m1: ta tb", "m2: ta")])
def test_who_wants_more_gets_what_the_other_does_not_want(members: tuple[str, str]) -> None:
    found = sticky(group(*members, ta=2, tb=2))
    assert sorted(found.values()) == ["ta0 ta1", "tb0 tb1"]


def test_single_moves_make_loads_even() -> None:
    found = sticky(group("m1: ta tb | ta0 ta1 tb0 @1", "m2: ta", ta=2, tb=1))
    assert found == {"m1": "ta1 tb0", "m2": "ta0"}


def test_what_a_member_does_not_want_any_more_is_free() -> None:
    found = sticky(group("m1: tb | ta0 tb0 @1", "m2: ta tb", ta=1, tb=1))
    assert found == {"m1": "tb0", "m2": "ta0"}


def test_a_partition_goes_back_to_who_had_it_earlier() -> None:
    found = sticky(group("m1: ta tb | ta0 ta1 ta2 tb0 @4", "m2: ta", "m3: ta | ta1 @3", ta=3, tb=1))
    assert found["m3"] == "ta1"


def test_who_had_it_earlier_gets_nothing_that_it_does_not_want_now() -> None:
    """Kafka gives `m3` a partition of a topic that it doesn't want."""
    found = sticky(group("m1: ta tb | ta0 ta1 ta2 tb0 @4", "m2: ta", "m3: tb | ta1 @3", ta=3, tb=1))
    assert "ta" not in found["m3"]


def test_near_members_come_first_where_wishes_differ() -> None:
    found = sticky(group("m1(ra): ta", "m2(rb): ta tb", ta="rb ra", tb="ra"))
    assert found == {"m1": "ta1", "m2": "ta0 tb0"}


def test_a_chain_of_moves_is_not_tried() -> None:
    """Loads 3, 2, 1 could be 2, 2, 2 by two moves at once, as no single move helps."""
    found = sticky(
        group("m1: ta | ta0 ta1 ta2 @1", "m2: ta tb | tb0 tb1 @1", "m3: tb | tb2 @1", ta=3, tb=3)
    )
    assert found == {"m1": "ta0 ta1 ta2", "m2": "tb0 tb1", "m3": "tb2"}
