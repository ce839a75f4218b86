"""Each member has what the leader of its generation assigned to it, and somebody assigns.

Whoever is given another's assignment reads its partitions, too: liars are found in the worlds, and
revisions that are only different aren't blamed.
"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fencepost.model.classic.cells import when
from fencepost.model.classic.classic_work import ClassicWork
from fencepost.model.classic.effects import Do
from fencepost.model.classic.vocabulary import GroupState, Role
from fencepost.model.revision import Revision, SetRule, derive
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.table.expr import all_of, negate
from fencepost.model.table.table import OwnStep, Rule
from fencepost.properties.checking.checking import PropertyStatus, check_revision
from fencepost.properties.claims.property_registry import find_property
from fencepost.properties.logic.logic import PropertyClass
from fencepost.properties.worlds.scope import NamedScope, Scope, find_check_scope

ASSIGNS, STABLE = "the-leader-alone-assigns", "a-stable-group-is-assigned"
LASTS, TO_ASSIGN = "an-assignment-lasts-its-generation", "somebody-is-to-assign"
ASKED = (ASSIGNS, STABLE, LASTS, TO_ASSIGN)
PAIR = NamedScope(
    "pair", "", Scope(clients=2, instances=2, members=2, acts=("join", "sync", "restart"))
)
TRIO = NamedScope(
    "trio", "", Scope(clients=3, instances=3, members=3, acts=("join", "sync"), keeps_id=False)
)
DYNAMIC = NamedScope("dynamic", "", Scope(clients=2, dynamic=2, members=2, acts=("join", "sync")))
COMPLETES = ("JOIN-PHASE-ALL-JOINED", "JOIN-PHASE-DELAY-OVER")
RESTARTS, SYNCS = KAFKA_4.rule("JOIN-STATIC-EMPTY-STABLE"), KAFKA_4.rule("SYNC-STABLE")
LEADER = when(role=Role.LEADER)


def made(*changes: SetRule) -> Revision:
    return derive(KAFKA_4, "own", "tried here", changes)


def changed(table: str, rule_id: str, *effect: Do | OwnStep) -> SetRule:
    return SetRule(table, KAFKA_4.rule(rule_id).but(effect=effect, because="tried here"), "x")


def mixed(work: ClassicWork, places: tuple[int, ...]) -> None:
    """Give each member the assignment of another, by place, where all got something."""
    members = work.group.members
    if len(members) == len(places) and all(m.assignment for m in members):
        for member, place in zip(members, places, strict=True):
            given = replace(member, assignment=members[place].assignment)
            work.group = work.group.with_member(given)


def mixing(*places: int) -> Revision:
    mix = OwnStep("MIX", "assignments are mixed up", lambda work: mixed(work, places))
    first = (Do.NOTE_SYNC, Do.PARK_SYNC, Do.ASSIGN)
    rest = (Do.PERSIST, Do.ANSWER_SYNCS)
    return made(changed("SyncGroup", "SYNC-COMPLETING-LEADER", *first, mix, *rest))


def settles(work: ClassicWork) -> None:
    work.group = replace(work.group, state=GroupState.STABLE)


def loses(work: ClassicWork) -> None:
    member = work.group.member(work.caller)
    assert member is not None
    work.group = work.group.with_member(replace(member, assignment=b"x"))


def of_leader(rule: Rule, table: str, name: str, *effect: Do) -> tuple[SetRule, SetRule]:
    """Let a rule do something else for the leader."""
    own = Rule(name, all_of(rule.guard, LEADER), effect, source="x", because="tried here")
    return (
        SetRule(table, rule.but(guard=all_of(rule.guard, negate(LEADER))), "x"),
        SetRule(table, own, "x"),
    )


ASSIGNS_AGAIN = of_leader(
    RESTARTS, "JoinGroup", "RESTART-LEADS", Do.REPLACE_HOLDER, Do.PERSIST, Do.ANSWER_CURRENT
)
USED = (Do.NOTE_SYNC, Do.ASSIGN, Do.PERSIST, Do.ANSWER_ASSIGNMENT)
SETTLES = OwnStep("SETTLE", "the group is stable at once", settles)
LOSES = OwnStep("LOSE", "the new process has another assignment", loses)


def violated(revision: Revision, scope: NamedScope) -> set[str]:
    checked = check_revision(revision, [find_property(one) for one in ASKED], questions=(scope,))
    allowed = {PropertyStatus.HOLDS, PropertyStatus.UNTESTED}
    found = [result for result in checked.results if result.finding not in allowed]
    assert {one.property.property_class for one in found} <= {PropertyClass.SAFETY}
    return {one.property.id for one in found}


@pytest.mark.parametrize(
    ("places", "scope"),
    [((0, 0), PAIR), ((1, 1), PAIR), ((1, 0), PAIR), ((0, 0), DYNAMIC), ((0, 2, 1), TRIO)],
    ids=["the first one's", "the second one's", "swapped", "of dynamic members", "of followers"],
)
def test_whoever_is_given_anothers_assignment_is_found(
    places: tuple[int, ...], scope: NamedScope
) -> None:
    assert violated(mixing(*places), scope) == {ASSIGNS}
    assert find_property(ASSIGNS).harm.startswith("two clients may read the same partitions")


@pytest.mark.parametrize("scope", [PAIR, DYNAMIC, TRIO], ids=lambda scope: scope.name)
def test_who_is_given_its_own_is_not_blamed(scope: NamedScope) -> None:
    assert not violated(mixing(*range(scope.scope.members)), scope)


def test_a_group_that_is_stable_before_its_leader_assigned_is_found() -> None:
    at_once = (
        changed("join phase", name, *KAFKA_4.rule(name).effect, SETTLES) for name in COMPLETES
    )
    assert STABLE in violated(made(*at_once), PAIR)


def test_a_leader_that_is_told_to_skip_what_nobody_made_is_found() -> None:
    quick = changed(
        "JoinGroup", "JOIN-STATIC-EMPTY-COMPLETING", Do.REPLACE_HOLDER, Do.ANSWER_RESTARTED
    )
    assert violated(made(quick), PAIR) == {TO_ASSIGN}


def test_an_assignment_that_changes_within_a_generation_is_found() -> None:
    bad_manners = find_check_scope("bad manners")
    again = of_leader(SYNCS, "SyncGroup", "SYNC-STABLE-LEADER", *USED)
    assert LASTS in violated(made(*ASSIGNS_AGAIN, *again), bad_manners)
    loses_it = changed(
        "JoinGroup", RESTARTS.id, Do.REPLACE_HOLDER, LOSES, Do.PERSIST, Do.ANSWER_RESTARTED
    )
    assert violated(made(loses_it), PAIR) == {LASTS}


def test_other_ways_of_a_leader_that_restarts_are_not_blamed() -> None:
    """It may assign and be ignored, or begin a rebalance (the alternatives of KIP-814)."""
    rebalance = changed("JoinGroup", RESTARTS.id, Do.REPLACE_HOLDER, Do.REBALANCE, Do.PARK_JOIN)
    assert not violated(made(*ASSIGNS_AGAIN), PAIR)
    assert not violated(made(rebalance), PAIR)
