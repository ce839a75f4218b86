from __future__ import annotations

from support.groups import group, told

from fencepost.model.assignors.assignors import ASSIGNORS

RANGE = ASSIGNORS["range"]


def test_nine_partitions_stay_with_their_instances_when_another_process_takes_one() -> None:
    """The KIP's example: by member id, every range would shift when 1 leaves and 4 comes."""
    nine = {"i1": "ta0 ta1 ta2", "i2": "ta3 ta4 ta5", "i3": "ta6 ta7 ta8"}
    assert told(group("i1: ta", "i2: ta", "i3: ta", ta=9).assigned(RANGE)) == nine
    dynamic = group("m2: ta", "m3: ta", "m4: ta", ta=9).assigned(RANGE)
    assert told(dynamic) == {"m2": nine["i1"], "m3": nine["i2"], "m4": nine["i3"]}


def test_the_first_get_one_more_and_static_ones_are_first() -> None:
    found = group("a1: ta", "i2: ta", "i1: ta", ta=7).assigned(RANGE)
    assert told(found) == {"i1": "ta0 ta1 ta2", "i2": "ta3 ta4", "a1": "ta5 ta6"}


def test_each_topic_is_cut_for_itself() -> None:
    found = group("m1: ta tb", "m2: ta", "m3: tb", ta=2, tb=3).assigned(RANGE)
    assert told(found) == {"m1": "ta0 tb0 tb1", "m2": "ta1", "m3": "tb2"}


def test_near_partitions_come_first() -> None:
    found = group("m1(ra): ta", "m2(rb): ta", ta="rb rb ra ra").assigned(RANGE)
    assert told(found) == {"m1": "ta2 ta3", "m2": "ta0 ta1"}


def test_who_is_in_no_rack_is_near_to_all() -> None:
    found = group("m1(ra): ta", "m2: ta", ta="rb rb ra ra").assigned(RANGE)
    assert told(found) == {"m1": "ta2 ta3", "m2": "ta0 ta1"}


def test_a_share_is_never_exceeded_for_a_rack() -> None:
    found = group("m1(ra): ta", "m2(rb): ta", "m3(rc): ta", ta="ra ra ra ra rb").assigned(RANGE)
    assert told(found) == {"m1": "ta0 ta1", "m2": "ta2 ta4", "m3": "ta3"}


def test_topics_that_are_cut_alike_stay_so() -> None:
    """Number 1 is near to `m1` in one topic only; so it is near to nobody."""
    found = group("m1(ra): ta tb", "m2(rb): ta tb", ta="rb ra", tb="rb rb").assigned(RANGE)
    assert told(found) == {"m1": "ta1 tb1", "m2": "ta0 tb0"}


def test_racks_that_make_no_difference_are_left_out() -> None:
    for everywhere in ("ra,rb ra,rb", "rc rc"):
        found = group("m1(ra): ta", "m2(rb): ta", ta=everywhere).assigned(RANGE)
        assert told(found) == {"m1": "ta0", "m2": "ta1"}
