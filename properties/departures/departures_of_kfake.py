"""Known departures of kfake: what its coordinator does differently, by its source.

Which member leads, once the leader is gone, and whose join comes first depends on the order of a
map, so most of them show in turns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import structs

from fencepost.model.classic.group import Group
from fencepost.model.classic.perform_rebalance import joined_answer
from fencepost.model.classic.work import Effect, Emission, Work
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import JoinGroupResponse
from fencepost.model.messages.shapes import Message
from fencepost.model.revision import Twist
from fencepost.model.table.cells import ABSENT, when
from fencepost.model.table.effects import Do
from fencepost.model.table.table import Level, Rule, Table
from fencepost.model.table.vocabulary import Generation, GroupState
from fencepost.properties.departures.departure import ADDING, KFAKE, Departure
from fencepost.properties.departures.mutation_operators import (
    afterwards,
    in_turn,
    one_only,
    retold,
    unless,
    vacant,
)

_KFAKE = frozenset({KFAKE})
COMPLETE = (Do.COMPLETE_JOIN, Do.START_SYNC_TIMER)
"""What completes a join phase."""


def _first(*rules: Rule) -> Callable[[Table], Table]:
    """Decide these rules before all others of a table, in place of those with their ids."""

    def change(table: Table) -> Table:
        ids = {rule.id for rule in rules}
        checks = tuple(rule for rule in table.checks if rule.id not in ids)
        rows = tuple(rule for rule in table.rows if rule.id not in ids)
        return Table(table.name, table.features, (*rules, *checks), rows)

    return change


def _otherwise(rule_id: str, **changes: object) -> Callable[[Table], Table]:
    """Change a rule in its place; without changes, leave it out."""

    def change(table: Table) -> Table:
        checks, rows = (
            tuple(
                rule.but(**changes) if rule.id == rule_id else rule
                for rule in rules
                if changes or rule.id != rule_id
            )
            for rules in (table.checks, table.rows)
        )
        return Table(table.name, table.features, checks, rows)

    return change


def _absent(rule_id: str) -> Rule:
    return Rule(rule_id, when(state=ABSENT), answer=Error.GROUP_ID_NOT_FOUND)


def _nameless(message: Message) -> Message:
    told = {Error.NONE.value, Error.MEMBER_ID_REQUIRED.value}
    if isinstance(message, JoinGroupResponse) and message.error_code not in told:
        return structs.replace(message, member_id="")
    return message


def _instance_first(table: Table) -> Table:
    """A commit is held to its instance first; without members a generation is wrong."""
    ids = ("COMMIT-INSTANCE-UNMAPPED", "COMMIT-INSTANCE-FENCED")
    instance = (rule for rule in table.checks if rule.id in ids)
    generation = Rule(
        "COMMIT-EMPTY-GROUP-GENERATION",
        when(
            state=(ABSENT, GroupState.EMPTY),
            generation=(Generation.BEFORE, Generation.EQUAL, Generation.AFTER),
        ),
        answer=Error.ILLEGAL_GENERATION,
    )
    return _first(*instance, generation)(table)


def _is_waiting(work: Work) -> bool:
    """Whether the join phase still waits for a member, pending ids aside."""
    group = work.group
    joined = all(m.joining is not None for m in group.members)
    over = group.members and joined and group.delay is None
    return work.rule == "JOIN-PHASE-WAIT" and not over


def _not_begun(work: Work) -> bool:
    return work.rule == "JOIN-PHASE-WAIT" and work.group.state is GroupState.PREPARING


def _everybody_leads(own: Effect) -> Effect:
    def told(work: Work, emission: Emission) -> Message | None:
        answer = emission.message
        assert isinstance(answer, JoinGroupResponse)
        return joined_answer(structs.replace(work.group, leader=answer.member_id), answer.member_id)

    wrong = retold(told)(own)

    def effect(work: Work) -> list[Work] | None:
        return wrong(work) if work.group.leader is None else own(work)

    return effect


def _still_vacant(before: Group, work: Work) -> None:
    if before.leader is None and before.members:
        work.group = structs.replace(work.group, leader=None)


def _vacant_unless_answered(before: Group, work: Work) -> None:
    """A leader that restarts goes on leading only where that is answered at once."""
    if work.rule != "JOIN-STATIC-EMPTY-STABLE":
        vacant(before, work)


PENDING_ASIDE: Mapping[Do, Twist] = {
    Do.COMPLETE_JOIN: unless(_is_waiting),
    Do.START_SYNC_TIMER: unless(_not_begun),
}
"""No join phase waits for ids that were handed out, if it completes when it is looked at."""

EVERYBODY_LEADS: Mapping[Do, Twist] = {
    Do.REMOVE_MEMBER: in_turn(one_only, afterwards(vacant)),
    Do.REMOVE_HOLDER: in_turn(one_only, afterwards(vacant)),
    Do.COMPLETE_JOIN: _everybody_leads,
}
"""Nobody leads once the leader has left, and then each survivor is told that it does."""

OF_KFAKE: tuple[Departure, ...] = (
    Departure(
        "pending-not-awaited",
        "a rebalance doesn't wait for member ids that were handed out and have not joined yet",
        _KFAKE,
        PENDING_ASIDE,
        tables={"join phase": _otherwise("JOIN-PHASE-WAIT", effect=COMPLETE)},
    ),
    Departure(
        "everybody-leads",
        "after the leader has gone, each member in turn is made the leader and told so",
        _KFAKE,
        {
            **EVERYBODY_LEADS,
            Do.REMOVE_ABSENT_DYNAMIC: in_turn(one_only, afterwards(vacant)),
            Do.REPLACE_HOLDER: afterwards(_vacant_unless_answered),
            **dict.fromkeys(ADDING, afterwards(_still_vacant)),
        },
    ),
    Departure(
        "absent-group-not-found",
        "a heartbeat, sync or leave for a group that doesn't exist is not looked at",
        _KFAKE,
        tables={
            "Heartbeat": _first(_absent("HEARTBEAT-GROUP-ABSENT")),
            "SyncGroup": _first(_absent("SYNC-GROUP-ABSENT")),
            "LeaveGroup": _first(_absent("LEAVE-GROUP-ABSENT")),
        },
    ),
    Departure(
        "absent-group-offsets",
        "reading the offsets of a group that doesn't exist is an error",
        _KFAKE,
        tables={"OffsetFetch": _first(_absent("FETCH-GROUP-ABSENT"))},
    ),
    Departure(
        "refused-join-id",
        "a join that is refused is answered with an empty member id",
        _KFAKE,
        level=Level.SHOULD,
        distort=_nameless,
    ),
    Departure(
        "commit-instance-first",
        "a commit is held to its instance first, and without members to no generation",
        _KFAKE,
        tables={"OffsetCommit": _instance_first},
    ),
    Departure(
        "unnamed-sync",
        "a sync need not name its protocol",
        _KFAKE,
        level=Level.SHOULD,
        tables={"SyncGroup": _otherwise("SYNC-PROTOCOL-NULL")},
    ),
    Departure(
        "refused-first-join",
        "a group whose first join is refused is dropped at once",
        _KFAKE,
        level=Level.SHOULD,
        tables={"JoinGroup": _otherwise("JOIN-PROTOCOLS-INCONSISTENT", effect=())},
    ),
)
