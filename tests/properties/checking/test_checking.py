"""Revisions are checked in small worlds: the right properties fail, by the shortest run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.id_first import ID_FIRST, LOUD_ID_FIRST

from fencepost.model.classic.cells import when
from fencepost.model.classic.effects import Do
from fencepost.model.classic.group import Group
from fencepost.model.classic.rules.join import VERSION
from fencepost.model.classic.vocabulary import Mid
from fencepost.model.messages.errors import Error
from fencepost.model.revision import DropRule, Revision, SetRule, derive
from fencepost.model.revisions import revisions
from fencepost.model.revisions.base import KAFKA_4, RULES
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.model.table.expr import Column, all_of
from fencepost.model.table.shared_features import Inst
from fencepost.model.table.table import Rule
from fencepost.properties.checking.checking import (
    CheckBudget,
    Checked,
    CheckedProperty,
    PropertyStatus,
    RowStatus,
    check_promises,
    check_revision,
)
from fencepost.properties.checking.liveness import ANSWERED, find_broken_promises
from fencepost.properties.checking.row_properties import uncovered_rows, without_rebalance
from fencepost.properties.claims.property_registry import PROPERTIES, find_property
from fencepost.properties.claims.step_checks import quiet_restart, skips_assignment
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.logic.logic import Engine
from fencepost.properties.oracle.oracle import judge
from fencepost.properties.worlds.scope import (
    PROMISE_SCOPES,
    RARE_SCOPES,
    NamedScope,
    Scope,
    find_check_scope,
)
from fencepost.properties.worlds.views import StepView
from fencepost.properties.worlds.world import Worlds

QUICK = tuple(find_check_scope(name) for name in ("zombie", "two processes", "failover"))
ZOMBIE = (find_check_scope("zombie"),)
RARE = tuple(find_check_scope(name) for name in ("old zombie", "three members"))


def checked(name: str, *ids: str, questions: tuple[NamedScope, ...] = QUICK) -> Checked:
    properties = [find_property(i) for i in ids] if ids else list(PROPERTIES.values())
    return check_revision(find_revision(name), properties, questions=questions)


def findings(result: Checked, *wanted: PropertyStatus) -> set[str]:
    return {r.property.id for r in result.results if r.finding in wanted}


def only(result: Checked) -> CheckedProperty:
    (one,) = result.results
    return one


@pytest.mark.parametrize("name", ["kafka-4", "kip-345"])
def test_what_shipped_breaks_nothing_that_it_is_not_known_for(name: str) -> None:
    result = checked(name)

    assert findings(result, PropertyStatus.BROKEN, PropertyStatus.BY_DRAFT) == set()


@pytest.mark.parametrize("name", ["kafka-2.3.0", "kafka-2.8.0", "kafka-4.1"])
def test_releases_and_their_patches_break_nothing_that_they_are_not_known_for(name: str) -> None:
    """`big_checks.py` asks this of all revisions in all scopes."""
    result = checked(name, questions=(find_check_scope("two processes"),))

    assert findings(result, PropertyStatus.BROKEN, PropertyStatus.BY_DRAFT) == set()


@pytest.mark.parametrize(
    ("name", "asked"),
    [("kafka-2.8.0", "nobody-waits-for-syncs"), ("kafka-2.8", "sync-timer-has-a-debtor")],
)
def test_where_nothing_waits_for_syncs_that_is_what_is_checked(name: str, asked: str) -> None:
    scope = (find_check_scope("two processes"),)
    result = checked(name, "sync-timer-has-a-debtor", questions=scope)

    assert only(result).property.id == asked
    assert only(result).finding is PropertyStatus.HOLDS


def test_what_is_made_from_a_release_may_fail_where_that_does() -> None:
    own = derive(revisions.find("kafka-2.3"), "own", "", ())
    again = derive(own, "again", "", ())
    scope = (find_check_scope("two processes"),)

    for revision in (own, again):
        result = check_revision(
            revision, [find_property("a-heartbeat-keeps-alive")], questions=scope
        )
        assert only(result).finding is PropertyStatus.EXPECTED


@pytest.mark.parametrize(
    ("changed", "finding"),
    [
        ({"effect": (), "answer": Error.REBALANCE_IN_PROGRESS}, PropertyStatus.EXPECTED),
        ({"effect": (), "answer": Error.NONE}, PropertyStatus.BROKEN),
    ],
)
def test_what_a_release_did_is_known_whoever_writes_the_rule(
    changed: dict[str, Any], finding: PropertyStatus
) -> None:
    rule = RULES["HEARTBEAT-COMPLETING"].but(because="another reason", **changed)
    own = derive(KAFKA_4, "own", "", (SetRule("Heartbeat", rule, "x"),))
    named = replace(rule, id="HEARTBEAT-REFUSED")
    differences = (
        DropRule("Heartbeat", "HEARTBEAT-COMPLETING", "x"),
        SetRule("Heartbeat", named, "x"),
    )
    renamed = derive(KAFKA_4, "renamed", "", differences)
    asked = [
        find_property(i) for i in ("a-heartbeat-keeps-alive", "a-heartbeat-tells-of-a-rebalance")
    ]

    for revision in (own, renamed):
        alive, tells = check_revision(revision, asked, questions=ZOMBIE).results

        assert alive.finding is finding
        assert tells.finding is not PropertyStatus.EXPECTED  # it is another promise than kafka-4's


NEVER_KEPT_ALIVE = "a-heartbeat-keeps-alive"
NO_END = "wait-for-syncs-has-an-end"


@pytest.mark.parametrize("base", ["kafka-2.5", "kafka-4"])
def test_a_rule_of_ones_own_is_not_excused_by_the_id_that_a_release_uses(base: str) -> None:
    # A release that is known for this property refuses the heartbeat; this rule answers NONE.
    rule = find_revision("kafka-2.5").rule("HEARTBEAT-COMPLETING").but(answer=Error.NONE)
    own = derive(find_revision(base), "own", "own", (SetRule("Heartbeat", rule, "a note"),))
    result = check_revision(own, [find_property(NEVER_KEPT_ALIVE)], questions=ZOMBIE)
    assert only(result).finding is PropertyStatus.BROKEN


def test_a_run_of_the_base_is_expected_of_what_is_made_from_it() -> None:
    old = find_revision("kafka-2.5")
    assert only(checked("kafka-2.5", NO_END)).finding is PropertyStatus.EXPECTED
    mended = SetRule("Heartbeat", KAFKA_4.rule("HEARTBEAT-COMPLETING"), "a note")
    own = derive(old, "own", "own", (mended,))
    result = check_revision(own, [find_property(NO_END)], questions=ZOMBIE)
    assert only(result).finding is PropertyStatus.EXPECTED


def test_the_shortest_run_of_all_scopes_is_shown() -> None:
    """The scope of zombies, which comes first, has a longer run to it."""
    name = "comment-table-1"
    both = (find_check_scope("zombie"), find_check_scope("two processes"))
    ways = [
        only(checked(name, "no-two-consumers-on-one-id", questions=scopes))
        for scopes in ((both[0],), (both[1],), both)
    ]

    steps = [len(way.run.turns) for way in ways if way.run is not None]
    assert steps[2] == min(steps[:2]) < steps[0]


def test_what_kafka_is_known_for_is_told_with_its_run() -> None:
    result = only(checked("kafka-4", "static-goes-only-by-session-leave-replacement"))

    assert result.finding is PropertyStatus.EXPECTED
    assert result.run is not None
    assert "SYNC-PHASE-EXPIRED" in result.run.turns[-1].rules


def test_the_first_comment_lets_a_zombie_consume_beside_its_successor() -> None:
    result = only(checked("comment-table-1", "no-two-consumers-on-one-id", questions=ZOMBIE))

    assert result.finding is PropertyStatus.BROKEN
    assert result.run is not None
    assert [turn.rules[0] for turn in result.run.turns] == [
        "JOIN-STATIC-EMPTY-NEW",
        "JOIN-UNKNOWN-INSTANCE",  # the unknown id
        "JOIN-STATIC-EMPTY-MAPPED",  # the empty id
        "JOIN-KNOWN-INSTANCE",  # the known id
    ]


def test_the_second_comment_lets_a_removed_consumer_evict_its_successor() -> None:
    result = only(checked("comment-table-2", "retired-id-stays-invalid", questions=ZOMBIE))

    assert result.finding is PropertyStatus.BY_DRAFT
    assert result.run is not None
    assert [turn.rules[0] for turn in result.run.turns] == [
        "JOIN-STATIC-EMPTY-NEW",
        "JOIN-UNKNOWN-MAPPED",
    ]
    assert result.run.turns[-1].act.client == 1  # the one that came with an id of old


def test_a_violation_is_a_run_that_its_revision_allows_and_kafka_does_not() -> None:
    result = only(checked("comment-table-1", "no-two-consumers-on-one-id", questions=ZOMBIE))
    assert result.run is not None
    config = {"group.initial.rebalance.delay.ms": 0}
    events = list(result.run.events)

    own = judge(revisions.find("comment-table-1"), config, events, lag_ms=0).verdict()
    kafka = judge(revisions.find("kafka-4"), config, events, lag_ms=0).verdict()

    assert own.violation is None
    assert kafka.violation is not None


def test_an_expected_violation_hides_no_other_by_another_rule() -> None:
    known = find_property("static-goes-only-by-session-leave-replacement")
    fewer = replace(known, expected_rules={"kafka-4": frozenset({"JOIN-GROUP-FULL"})})

    result = check_revision(revisions.find("kafka-4"), [fewer], questions=ZOMBIE)

    assert only(result).finding is PropertyStatus.BROKEN


def test_a_property_that_nothing_puts_to_the_test_is_a_failure() -> None:
    result = checked("kafka-4", "a-refused-commit-stores-nothing", questions=QUICK[1:2])

    assert only(result).finding is PropertyStatus.UNTESTED
    assert not result.holds


def test_before_heartbeats_counted_a_leader_that_never_syncs_went_with_its_session() -> None:
    (answered,) = check_promises(find_revision("kafka-2.4"), [ANSWERED], PROMISE_SCOPES[2:3])

    assert answered.finding is PropertyStatus.HOLDS


def test_a_leader_that_never_syncs_holds_everybody_up_from_2_6_1_to_2_8_0() -> None:
    (answered,) = check_promises(find_revision("kafka-2.7"), [ANSWERED], PROMISE_SCOPES[2:3])

    assert answered.finding is PropertyStatus.EXPECTED
    assert answered.run is not None
    again = answered.run.turns[-answered.round :]
    assert {turn.act.kind for turn in again} >= {"tick", "heartbeat"}
    assert "sync" not in {turn.act.kind for turn in again}


def test_every_promise_is_kept_by_kafka_4() -> None:
    kept = check_promises(revisions.find("kafka-4"), scopes=PROMISE_SCOPES[:2])

    assert {k.promise.id: k.finding for k in kept} == {
        "every-request-is-answered": PropertyStatus.HOLDS,
        "every-group-settles": PropertyStatus.HOLDS,
        "a-changed-subscription-is-assigned": PropertyStatus.UNTESTED,
    }


def test_a_lost_wait_for_syncs_breaks_a_promise() -> None:
    mutant = find_revision("mutant:kafka-12890")

    (answered,) = check_promises(mutant, [ANSWERED], PROMISE_SCOPES[2:3])

    assert answered.finding is PropertyStatus.BROKEN


def test_an_unknown_question_or_property_is_named() -> None:
    with pytest.raises(KeyError, match="no question 'why'; there are zombie"):
        find_check_scope("why")
    with pytest.raises(KeyError, match="no property 'all-is-well'; there are"):
        find_property("all-is-well")


def test_each_property_says_who_does_not_check_it_and_why() -> None:
    for one in PROPERTIES.values():
        assert one.engines | set(one.not_by) == set(Engine), one.id
        assert not one.engines & set(one.not_by), one.id
        assert all(one.not_by.values()), one.id


def test_a_promise_is_not_kept_where_the_machine_stops() -> None:
    """A member stays in a group that is Empty: no rule speaks of its heartbeats."""
    emptied = RULES["SESSION-EXPIRED"].but(effect=(Do.BECOME_EMPTY,))
    unsafe = derive(KAFKA_4, "unsafe", "", (SetRule("session timeout", emptied, "x"),))
    alone = NamedScope("alone", "", Scope(clients=1, acts=("join", "sync", "heartbeat", "tick")))

    kept = check_promises(unsafe, scopes=[alone])

    assert {one.finding for one in kept} == {PropertyStatus.UNTESTED}
    assert all("the machine stops at a group that can't be (" in one.why for one in kept)


def test_a_static_member_that_is_told_its_id_first_restarts_without_a_cost() -> None:
    """It takes over its instance under the pending id: between join and sync that is a cause."""
    result = check_revision(ID_FIRST, questions=QUICK[1:2])

    assert findings(result, PropertyStatus.BROKEN, PropertyStatus.BY_DRAFT) == {
        "a-static-member-needs-no-id-first",
        "a-restart-in-a-stable-group-is-quiet",
    }
    (told,) = (r for r in result.results if r.property.id == "a-restart-in-a-stable-group-is-quiet")
    assert told.violation is not None
    assert told.violation.sentence.endswith("and its join got MEMBER_ID_REQUIRED")


def test_who_takes_over_under_a_pending_id_is_a_restart() -> None:
    """The first join, which is told the id, is left out."""

    def faults(revision: Revision) -> set[str]:
        found: set[str | None] = set()

        def note(view: StepView) -> tuple[tuple[str, ...], tuple[str, ...]]:
            if "JOIN-PENDING-STATIC-STABLE" in {rule.id for rule in view.rules}:
                found.update((quiet_restart(view), skips_assignment(view)))
            return (), ()

        explore(Worlds(revision, QUICK[1].scope, note))
        return {each for each in found if each is not None}

    assert faults(ID_FIRST) == set()
    assert faults(LOUD_ID_FIRST) == {
        "a static member restarted in a stable group and the group is not stable any more"
    }


def test_a_removal_beside_another_instance_without_a_rebalance_is_not_safe() -> None:
    leaves, rule = KAFKA_4.tables["LeaveGroup member"], KAFKA_4.rule("LEAVE-MEMBER-BY-INSTANCE")
    lazy = without_rebalance(KAFKA_4, leaves, rule)
    assert lazy is not None
    result = check_revision(lazy, questions=(find_check_scope("removal"),))
    assert not result.is_safe
    assert result.verdict().startswith("not safe: what-a-member-had-is-handed-on")
    (failed,) = (r for r in result.results if r.property.id == "what-a-member-had-is-handed-on")
    assert failed.violation is not None
    assert "the partitions of A are nobody's" in failed.violation.sentence


def test_a_check_is_the_same_in_several_processes() -> None:
    revision = find_revision("comment-table-1")
    one, two = (check_revision(revision, questions=QUICK, jobs=jobs) for jobs in (1, 2))

    def summary(result: Checked) -> list[object]:
        return [
            [(q.name, e.states, e.transitions, e.levels, e.violations) for q, e in result.explored],
            [(r.property.id, r.finding, r.run) for r in result.results],
        ]

    assert summary(one) == summary(two)
    assert findings(one, PropertyStatus.BY_DRAFT)


def test_promises_are_the_same_in_several_processes() -> None:
    two = Scope(clients=2, instances=2, members=2, acts=("join", "sync", "heartbeat", "tick"))
    scopes = (PROMISE_SCOPES[0], NamedScope("two", "two instances", two))
    broken = find_revision("kafka-2.7")
    alone, both = (check_promises(broken, scopes=scopes, jobs=jobs) for jobs in (1, 2))

    assert [(k.promise.id, k.finding, k.run) for k in alone] == [
        (k.promise.id, k.finding, k.run) for k in both
    ]
    assert alone[0].finding is PropertyStatus.EXPECTED


def test_processes_that_share_the_time_have_more_of_it_each() -> None:
    alone, both = CheckBudget(None, 60.0, 4), CheckBudget(None, 60.0, 4, jobs=2)

    assert alone.next_seconds() == pytest.approx(15, abs=1)
    assert both.next_seconds() == pytest.approx(30, abs=1)


def with_rows(table: str, *rows: Rule) -> Revision:
    """Make a revision of one's own: kafka-4 with these rows."""
    return derive(KAFKA_4, "own", "", tuple(SetRule(table, row, "x") for row in rows))


def split(rule_id: str, column: Column, row: Rule) -> tuple[Rule, Rule]:
    """Split a row of kafka-4 by a column: where it is true, this row decides."""
    old = KAFKA_4.rule(rule_id)
    rest = old.but(guard=all_of(old.guard, column.among(False)))
    return rest, row.but(guard=all_of(old.guard, column.among(True)))


def more_members_than(many: int) -> Column:
    def has_more(group: Group | None, _member_id: str, _instance: str | None) -> bool:
        return group is not None and len(group.members) > many

    return Column("many members", (False, True), "whether there are more", has_more)


QUIET = Rule("LEAVE-QUIET", when(), (Do.REMOVE_MEMBER,), Error.NONE, source="x", because="x")
HANDED_ON = [find_property("what-a-member-had-is-handed-on")]
ALONE = NamedScope("alone", "", Scope(clients=1, members=1, acts=("join", "sync", "leave")))


def test_a_row_that_no_world_exercises_is_never_safe() -> None:
    rows = split("LEAVE-MEMBER", more_members_than(3), QUIET)
    revision = with_rows("LeaveGroup member", *rows)
    result = check_revision(revision, HANDED_ON, questions=[ALONE], rare=QUICK)

    assert result.own_rows == ("LEAVE-MEMBER", "LEAVE-QUIET")
    assert result.unexercised == ("LEAVE-QUIET",)
    assert result.unmet == (("LeaveGroup member", "many members", "True"),)
    assert result.row_statuses()["LEAVE-QUIET"] is RowStatus.UNEXERCISED
    assert not result.is_safe
    assert not result.is_decided(strict=False)
    untested = replace(result, results=())  # most properties have no case in so small a world
    assert untested.verdict() == (
        "no property is violated, but no world exercises 1 of its 2 own rules: LEAVE-QUIET"
    )


def test_a_fault_that_needs_three_members_is_found_in_a_rare_world() -> None:
    rows = split("LEAVE-MEMBER", more_members_than(2), QUIET)
    revision = with_rows("LeaveGroup member", *rows)
    result = check_revision(revision, HANDED_ON, questions=[ALONE], rare=RARE)

    assert [named.name for named, _ in result.explored] == ["alone", "three members"]
    assert result.unexercised == ()
    assert result.unmet == ()
    assert "what-a-member-had-is-handed-on" in findings(result, PropertyStatus.BROKEN)


def test_a_zombie_that_speaks_an_old_version_is_found_in_a_rare_world() -> None:
    fenced = KAFKA_4.rule("JOIN-INSTANCE-FENCED")
    zombie = when(mid=Mid.UNKNOWN, inst=Inst.OTHER, version=VERSION.below(8))
    other = when(mid=Mid.MEMBER, inst=Inst.OTHER, version=VERSION.below(8))
    let_in = (Do.REPLACE_HOLDER_AS_SENT, Do.REBALANCE, Do.PARK_JOIN)
    rows = (
        fenced.but(guard=all_of(fenced.guard, VERSION.at_least(8))),
        Rule("JOIN-ZOMBIE-OLD", zombie, let_in, source="x", because="x"),
        Rule("JOIN-OTHER-OLD", other, answer=fenced.answer, source="x", because="x"),
    )
    retired = [find_property("retired-id-stays-invalid")]
    revision = with_rows("JoinGroup", *rows)
    result = check_revision(revision, retired, questions=ZOMBIE, rare=RARE)

    assert "old zombie" in {named.name for named, _ in result.explored}
    assert only(result).finding is PropertyStatus.BROKEN


def test_rare_worlds_are_explored_for_ones_own_rows_alone() -> None:
    result = check_revision(KAFKA_4, HANDED_ON, questions=[ALONE], rare=RARE_SCOPES)

    assert [named.name for named, _ in result.explored] == ["alone"]
    assert (result.own_rows, result.unexercised) == ((), ())


def test_a_row_by_which_a_property_is_violated_is_one_that_it_speaks_of() -> None:
    rows = split("LEAVE-MEMBER", more_members_than(1), QUIET)
    revision = with_rows("LeaveGroup member", *rows)
    pair = Scope(clients=2, dynamic=1, members=2, acts=("join", "sync", "leave"))
    scopes = [NamedScope("pair", "", pair)]
    result = check_revision(revision, HANDED_ON, questions=scopes, rare=QUICK)
    asked = replace(result, uncovered={"LEAVE-QUIET": "", "LEAVE-MEMBER": ""})

    assert asked.own_uncovered == ("LEAVE-MEMBER",)
    assert asked.verdict().startswith("not safe: ")
    assert asked.row_statuses() == {
        "LEAVE-MEMBER": RowStatus.UNCOVERED,
        "LEAVE-QUIET": RowStatus.COVERED,
    }
    assert asked.is_decided(strict=False)
    assert not asked.is_decided(strict=True)


def test_a_column_about_the_number_of_a_generation_has_one_value() -> None:
    def is_late(group: Group | None, _member_id: str, _instance: str | None) -> bool:
        return group is not None and group.generation_id > 3

    late = Column("late generation", (False, True), "whether it is above 3", is_late)
    revision = with_rows("LeaveGroup member", *split("LEAVE-MEMBER", late, QUIET))
    result = check_revision(revision, HANDED_ON, questions=[ALONE])

    assert result.unmet == (("LeaveGroup member", "late generation", "True"),)
    limited = check_revision(
        revision, HANDED_ON, questions=[ALONE], budget=CheckBudget(max_states=2)
    )
    assert limited.unmet == ()  # nothing is known of what was not explored


class Ticking:
    """A clock on which a second is over at each look."""

    def __init__(self) -> None:
        self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return self.looks


def test_the_time_of_a_check_bounds_all_its_parts() -> None:
    """Without a limit each part explores thousands of worlds, and finishes."""
    clock = Ticking()
    rule = KAFKA_4.rule("HEARTBEAT-STABLE").but(because="another reason")
    own = derive(KAFKA_4, "own", "", (SetRule("Heartbeat", rule, "x"),))
    big = (find_check_scope("two instances"),)
    budget = CheckBudget(seconds=40, scopes=2, clock=clock)

    checked = check_revision(own, questions=big, budget=budget)
    (answered,) = check_promises(own, [ANSWERED], big, budget)
    rows = uncovered_rows(own, is_over=budget.is_over)

    assert checked.explored[0][1].cut
    assert answered.cut
    assert rows.untried == ("HEARTBEAT-STABLE",)
    assert clock.looks < 60


def test_the_search_for_endless_runs_ends_when_the_time_is_over() -> None:
    scope = PROMISE_SCOPES[1].scope
    whole = find_broken_promises(KAFKA_4, scope, [ANSWERED])
    clock = Ticking()

    lines: list[str] = []
    late = find_broken_promises(
        KAFKA_4,
        scope,
        [ANSWERED],
        is_over=lambda: clock() > 3,
        ends=lambda: False,
        progress=lines.append,
    )

    assert whole.tested
    assert not whole.cut
    assert late.exploration.states == whole.exploration.states
    assert late.cut
    assert not late.tested
    assert lines[0] == "3 states, 2 to go"


@pytest.mark.parametrize(
    ("table", "rule_id", "broken"),
    [
        ("TxnOffsetCommit", "TXN-COMMIT-NO-MEMBERS", "an-accepted-commit-is-read"),
        ("TxnOffsetCommit", "TXN-COMMIT-ANONYMOUS", "an-accepted-commit-is-read"),
        ("OffsetDelete", "OFFSET-DELETE-EMPTY", "a-deletion-is-done-or-refused"),
    ],
)
def test_a_row_of_offsets_that_does_nothing_is_found_in_a_rare_world(
    table: str, rule_id: str, broken: str
) -> None:
    revision = with_rows(table, KAFKA_4.rule(rule_id).but(effect=(), source="x", because="x"))
    result = check_revision(revision, [find_property(broken)], questions=[ALONE], rare=RARE_SCOPES)

    assert only(result).finding is PropertyStatus.BROKEN
