from __future__ import annotations

import pytest
from hypothesis import given, settings
from support.groups import group, told

from fencepost.model.assignors.assignors import ASSIGNORS, Assignor
from fencepost.properties.assignors.assignor_promises import AssignorInput, groups

EACH = pytest.mark.parametrize("assignor", ASSIGNORS.values(), ids=lambda assignor: assignor.name)


def test_names_and_kinds() -> None:
    assert list(ASSIGNORS) == ["range", "roundrobin", "sticky", "cooperative-sticky"]
    assert [a.name for a in ASSIGNORS.values() if a.is_cooperative] == ["cooperative-sticky"]
    assert [a.name for a in ASSIGNORS.values() if a.needs_memory] == ["sticky"]
    assert [a.name for a in ASSIGNORS.values() if not a.knows_racks] == ["roundrobin"]


@EACH
@settings(max_examples=30)
@given(group=groups())
def test_the_order_of_members_means_nothing(assignor: Assignor, group: AssignorInput) -> None:
    backwards = AssignorInput(group.members[::-1], group.counts, group.racks)
    assert group.assigned(assignor) == backwards.assigned(assignor)


@EACH
def test_a_topic_that_nobody_knows_has_no_partitions(assignor: Assignor) -> None:
    unknown = group("m1: ta tz", "m2: tz", ta=2)
    assert told(unknown.assigned(assignor)) == {"m1": "ta0 ta1", "m2": ""}
    assert told(group("m1: tz").assigned(assignor)) == {"m1": ""}


@EACH
def test_who_wants_nothing_gets_nothing(assignor: Assignor) -> None:
    """Kafka's sticky assignors give such a member partitions, if hash codes put it first."""
    assert told(group("m1: ", "m2: ta", ta=2).assigned(assignor)) == {"m1": "", "m2": "ta0 ta1"}


@EACH
def test_a_claim_to_what_does_not_exist_is_none(assignor: Assignor) -> None:
    """A topic that was made anew has fewer partitions; Kafka's then go to two members."""
    found = group("m1: ta | ta0 ta5 @1", "m2: ta | ta1 @1", ta=3).assigned(assignor)
    assert sorted(p.partition for ps in found.values() for p in ps) == [0, 1, 2]
