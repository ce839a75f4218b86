"""Holes, overlaps and idle rules of a table are told, in as few cells as can be."""

from __future__ import annotations

import pytest

from fencepost.model.classic import vocabulary
from fencepost.model.classic.cells import COLUMNS, when
from fencepost.model.classic.vocabulary import RELATED, Mid, feasible
from fencepost.model.revision import Difference, DropRule, SetRule, derive
from fencepost.model.revisions import revisions
from fencepost.model.revisions.base import KAFKA_4, RULES
from fencepost.model.table import shared_features
from fencepost.model.table.expr import Feature
from fencepost.model.table.shared_features import Inst
from fencepost.model.table.table import Rule, Table
from fencepost.model.table.table_soundness import decided, table_faults

SIZE = Feature("size", (0, 1, 2), "how large")
SMALL = [name for name in KAFKA_4.tables if name not in {"JoinGroup", "SyncGroup", "OffsetCommit"}]


def joins(*differences: Difference) -> Table:
    return derive(KAFKA_4, "own", "own", differences).tables["JoinGroup"]


def dropped(rule_id: str) -> DropRule:
    return DropRule("JoinGroup", rule_id, "tried")


@pytest.mark.parametrize("name", revisions.NAMES)
def test_what_is_shipped_is_sound(name: str) -> None:
    for table in revisions.find(name).tables.values():
        assert table_faults(table, COLUMNS) == []


@pytest.mark.parametrize("name", SMALL)
def test_one_point_stands_for_those_that_no_rule_tells_apart(name: str) -> None:
    table = KAFKA_4.tables[name]
    few = decided(table, COLUMNS)
    used = {id(rule) for rules in few.values() for rule in rules}
    assert set(few) <= set(COLUMNS.points(table.features))
    assert used == {id(table.decide(point)) for point in COLUMNS.points(table.features)}


def test_no_other_feature_restricts_any() -> None:
    known = {**vars(shared_features), **vars(vocabulary)}
    features = [f for f in known.values() if isinstance(f, Feature)]
    for feature in features:
        if feature not in RELATED:
            assert all(feasible({id(feature): value}) for value in feature.domain)


def test_a_hole_is_told_by_member_instance_and_state() -> None:
    (hole,) = table_faults(joins(dropped("JOIN-FOLLOWER-STABLE-CHANGED")), COLUMNS)
    assert hole.startswith("table JoinGroup: no rule decides: inst none or mapped to this member")
    assert "state Stable" in hole
    place, _, remedy = hole.partition("; ")
    assert place.endswith("protocols changed, caller follower")
    assert remedy == (
        "add a rule, or widen one: when(inst=(Inst.NONE, Inst.OWN), state=GroupState.STABLE, "
        "subscription=Change.CHANGED, role=Role.FOLLOWER)"
    )
    (hole,) = table_faults(joins(dropped("JOIN-INSTANCE-FENCED")), COLUMNS)
    assert hole == (
        "table JoinGroup: no rule decides: mid a member or unknown, inst mapped to another; "
        "add a rule, or widen one: when(mid=(Mid.MEMBER, Mid.UNKNOWN), inst=Inst.OTHER)"
    )


def test_an_overlap_is_told_with_both_rules() -> None:
    wider = RULES["JOIN-PENDING"].but(guard=RULES["JOIN-UNKNOWN-MEMBER"].guard)
    (hole, overlap) = table_faults(joins(SetRule("JoinGroup", wider, "tried")), COLUMNS)
    assert hole.startswith("table JoinGroup: no rule decides: mid pending, inst none")
    assert overlap.startswith("table JoinGroup: JOIN-PENDING and JOIN-UNKNOWN-MEMBER both decide")
    assert overlap.endswith("; narrow one of them, or drop it")


def test_an_overlap_is_told_by_all_that_either_rule_asks_for() -> None:
    taken = Rule("JOIN-TAKEN", when(mid=Mid.EMPTY, inst=Inst.OTHER))
    overlaps = table_faults(joins(SetRule("JoinGroup", taken, "tried")), COLUMNS)
    assert len(overlaps) == 4
    for overlap in overlaps:
        assert 'both decide: mid "", inst mapped to another, state ' in overlap


def test_a_rule_that_nothing_reaches_is_told_unless_it_says_why() -> None:
    check = Rule("ALL", SIZE.at_least(0))
    idle = Rule("IDLE", SIZE.at_least(0))
    assert table_faults(Table("toy", (SIZE,), (check,), (idle,)), COLUMNS) == [
        "table toy: nothing reaches IDLE; drop it, or say in `defensive` why not"
    ]
    known = idle.but(defensive="the check comes first")
    assert table_faults(Table("toy", (SIZE,), (check,), (known,)), COLUMNS) == []


def test_a_table_without_rules_decides_nowhere() -> None:
    (fault,) = table_faults(Table("toy", (SIZE,), (), ()), COLUMNS)
    assert fault == "table toy: no rule decides: everywhere; add a rule, or widen one"
