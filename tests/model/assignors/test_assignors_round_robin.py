from __future__ import annotations

from support.groups import group, told

from fencepost.model.assignors.assignors import ASSIGNORS

ROUND_ROBIN = ASSIGNORS["roundrobin"]


def test_partitions_are_dealt_in_turn() -> None:
    found = group("m1: ta tb", "i1: ta tb", ta=3, tb=2).assigned(ROUND_ROBIN)
    assert told(found) == {"i1": "ta0 ta2 tb1", "m1": "ta1 tb0"}


def test_who_does_not_want_a_topic_is_passed_over() -> None:
    found = group("m1: ta", "m2: ta tb", "m3: tb", ta=3, tb=2).assigned(ROUND_ROBIN)
    assert told(found) == {"m1": "ta0 ta2", "m2": "ta1 tb0", "m3": "tb1"}


def test_racks_mean_nothing() -> None:
    found = group("m1(ra): ta", "m2(rb): ta", ta="rb ra").assigned(ROUND_ROBIN)
    assert told(found) == {"m1": "ta0", "m2": "ta1"}
