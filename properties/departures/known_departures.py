"""List the known departures: differences of coordinators in use from the model.

A departure is a small change that any revision can have.  If the revision can't explain a history,
and the revision with the departure can, the departure is the cause.  Those of Kafka are described
in `docs/findings/` under their names, with the observations; those of kfake, in
`departures_of_kfake`, are read from its source.  A mutant is an invented bug; a departure does what
was observed, as far as that is known.

In kfake, the next leader after the leader has gone, and the join that comes first, depend on the
order of a map, so most of its departures show in turns.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Any

from msgspec import structs
from msgspec.structs import replace

from fencepost.model.classic.cells import ABSENT, when
from fencepost.model.classic.classic_protocol import CLASSIC
from fencepost.model.classic.classic_work import ClassicWork, Effect
from fencepost.model.classic.effects import Do
from fencepost.model.classic.group import CREATION, SESSION, SYNC, Group, InitialDelay, Member
from fencepost.model.classic.perform import join_answer, join_request, rebalance
from fencepost.model.classic.vocabulary import Generation, GroupState
from fencepost.model.consumer.consumer_protocol import CONSUMER
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import JoinGroupResponse, SyncGroupResponse
from fencepost.model.messages.shapes import Message
from fencepost.model.protocol import Protocol
from fencepost.model.revision import Distortion, Revision, Twist
from fencepost.model.table.table import Level, Rule, Table
from fencepost.model.work import Emission
from fencepost.properties.departures import kfake_consumer, kfake_requests
from fencepost.properties.departures.mutation_operators import (
    afterwards,
    changed_member,
    changed_members,
    first,
    in_turn,
    one_only,
    otherwise,
    retold,
    unless,
    vacant,
)

OLD, NEW, KFAKE = "kafka+old", "kafka+new", "kfake"
_KAFKA = re.compile(r"kafka:(?P<major>\d+)[^+]*(?P<choice>\+old|\+new)?")
_KFAKE_SOURCE = "https://github.com/twmb/franz-go/blob/01f206a7e32c/pkg/kfake/groups.go"

ADDING = (Do.ADD_DYNAMIC, Do.ADMIT_PENDING, Do.ADD_STATIC)
"""The effects that add a member under a new id."""

_KEPT = 256
"""Revisions with departures to cache: each failure is attributed with the same ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Departure:
    """A known departure.

    `about`: its title; `of`: the coordinators that have it; `twists`: the effects that it changes;
    `level`: the gravest level of its violations, whichever rule they break; `tables`: makes another
    table of a revision's table, by name; `protocol`: of the revisions that can have it;
    `is_occasional`: what the coordinator did for others decides if it shows; the others as a
    revision's.
    """

    name: str
    about: str
    of: frozenset[str] = frozenset()
    twists: Mapping[Enum, Twist] = field(default_factory=dict)
    level: Level = Level.MUST
    tables: Mapping[str, Callable[[Table], Table]] = field(default_factory=dict)
    distort: Distortion | None = None
    restart_needs_room: bool = False
    unchecked: frozenset[str] = frozenset()
    protocol: Protocol[Any, Any] = CLASSIC
    is_occasional: bool = False

    @property
    def described(self) -> str:
        """Its description: a page of this project, or an address."""
        return _KFAKE_SOURCE if self.of == {KFAKE} else f"docs/findings/{self.name}.md"


def coordinator_of(target: str) -> str:
    """Return the coordinator of a target, by its name, such as `kafka:3.9.1+old`; "": unknown.

    Kafka has the new one from 4.0 on, and the old one before, unless the name chooses.
    """
    if name := _KAFKA.match(target):
        is_new = name["choice"] == "+new" or int(name["major"]) >= 4
        return NEW if is_new else OLD
    return KFAKE if target.startswith(KFAKE) else ""


def departed(base: Revision, departures: Iterable[Departure]) -> Revision:
    """Return a revision with these differences, called `BASE + NAME + …`."""
    return _departed(base, tuple(departures))


@lru_cache(_KEPT)
def _departed(base: Revision, departures: tuple[Departure, ...]) -> Revision:
    twists, distort = dict(base.twists), base.distort
    for departure in departures:
        for do, twist in departure.twists.items():
            twists[do] = in_turn(twists[do], twist) if do in twists else twist
        if departure.distort is not None:
            distort = departure.distort if distort is None else _both(distort, departure.distort)
    return dataclasses.replace(
        base,
        name=" + ".join([base.name, *(departure.name for departure in departures)]),
        twists=twists,
        tables={
            name: _changed(table, tuple(d for d in departures if name in d.tables))
            for name, table in base.tables.items()
        },
        distort=distort,
        restart_needs_room=base.restart_needs_room or any(d.restart_needs_room for d in departures),
        unchecked=base.unchecked.union(*(d.unchecked for d in departures)),
    )


@lru_cache(_KEPT)
def _changed(table: Table, departures: tuple[Departure, ...]) -> Table:
    """Return a table with all these changes; revisions share it, as well as what it compiles."""
    for departure in departures:
        table = departure.tables[table.name](table)
    return table


def _both(first: Distortion, second: Distortion) -> Distortion:
    return lambda message: second(first(message))


_KFAKE = frozenset({KFAKE})
COMPLETE = (Do.COMPLETE_JOIN, Do.START_SYNC_TIMER)
"""Effects that complete a join phase."""


def _absent(rule_id: str) -> Rule:
    return Rule(rule_id, when(state=ABSENT), answer=Error.GROUP_ID_NOT_FOUND)


def _nameless(message: Message) -> Message:
    with_id = {Error.NONE.value, Error.MEMBER_ID_REQUIRED.value}
    if isinstance(message, JoinGroupResponse) and message.error_code not in with_id:
        return structs.replace(message, member_id="")
    return message


def _instance_first(table: Table) -> Table:
    """Check the instance of a commit first; without members a generation is wrong."""
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
    return first(*instance, generation)(table)


def _is_waiting(work: ClassicWork) -> bool:
    """Return True if the join phase still waits for a member, pending ids aside."""
    group = work.group
    joined = all(m.joining is not None for m in group.members)
    over = group.members and joined and group.delay is None
    return work.rule == "JOIN-PHASE-WAIT" and not over


def _not_begun(work: ClassicWork) -> bool:
    return work.rule == "JOIN-PHASE-WAIT" and work.group.state is GroupState.PREPARING


def _everybody_leads(own: Effect) -> Effect:
    def lead(work: ClassicWork, emission: Emission) -> Message | None:
        answer = emission.message
        assert isinstance(answer, JoinGroupResponse)
        return join_answer(structs.replace(work.group, leader=answer.member_id), answer.member_id)

    wrong = retold(lead)(own)

    def effect(work: ClassicWork) -> list[ClassicWork] | None:
        return wrong(work) if work.group.leader is None else own(work)

    return effect


def _still_vacant(before: Group, work: ClassicWork) -> None:
    if before.leader is None and before.members:
        work.group = structs.replace(work.group, leader=None)


def _vacant_unless_answered(before: Group, work: ClassicWork) -> None:
    """Let a leader that restarts go on leading only where that is answered at once."""
    if work.rule != "JOIN-STATIC-EMPTY-STABLE":
        vacant(before, work)


PENDING_ASIDE: Mapping[Enum, Twist] = {
    Do.COMPLETE_JOIN: unless(_is_waiting),
    Do.START_SYNC_TIMER: unless(_not_begun),
}
"""Join phases don't wait for ids that were handed out, if they complete when they are checked."""

EVERYBODY_LEADS: Mapping[Enum, Twist] = {
    Do.REMOVE_MEMBER: in_turn(one_only, afterwards(vacant)),
    Do.REMOVE_HOLDER: in_turn(one_only, afterwards(vacant)),
    Do.COMPLETE_JOIN: _everybody_leads,
}
"""Without a leader, once it has left, each survivor is answered as the leader.
"""

OF_KFAKE: tuple[Departure, ...] = (
    Departure(
        "pending-not-awaited",
        "a rebalance doesn't wait for member ids that were handed out and have not joined yet",
        _KFAKE,
        PENDING_ASIDE,
        tables={"join phase": otherwise("JOIN-PHASE-WAIT", effect=COMPLETE)},
    ),
    Departure(
        "everybody-leads",
        "after the leader has gone, each member in turn is made the leader, and its answer says so",
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
        "a heartbeat, sync or leave for a group that doesn't exist is not checked",
        _KFAKE,
        tables={
            "Heartbeat": first(_absent("HEARTBEAT-GROUP-ABSENT")),
            "SyncGroup": first(_absent("SYNC-GROUP-ABSENT")),
            "LeaveGroup": first(_absent("LEAVE-GROUP-ABSENT")),
        },
    ),
    Departure(
        "absent-group-offsets",
        "reading the offsets of a group that doesn't exist is an error",
        _KFAKE,
        tables={"OffsetFetch": first(_absent("FETCH-GROUP-ABSENT"))},
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
        "a commit's instance is checked first, and without members its generation is not",
        _KFAKE,
        tables={"OffsetCommit": _instance_first},
    ),
    Departure(
        "unnamed-sync",
        "a sync need not name its protocol",
        _KFAKE,
        level=Level.SHOULD,
        tables={"SyncGroup": otherwise("SYNC-PROTOCOL-NULL")},
    ),
    Departure(
        "refused-first-join",
        "a group whose first join is refused is dropped at once",
        _KFAKE,
        level=Level.SHOULD,
        tables={"JoinGroup": otherwise("JOIN-PROTOCOLS-INCONSISTENT", effect=())},
    ),
)


OF_KFAKE_CONSUMERS: tuple[Departure, ...] = tuple(
    Departure(name, about, _KFAKE, level=level, protocol=CONSUMER, **changes)
    for name, about, level, changes in (
        (
            "made-by-any-heartbeat",
            "a heartbeat makes the group that it names, whatever the answer is",
            Level.SHOULD,
            {"tables": kfake_consumer.MADE, "distort": kfake_consumer.unjoined_at_zero},
        ),
        (
            "assignor-last",
            "a join checks the assignor last, when its instance is mapped to it already",
            Level.SHOULD,
            {"tables": kfake_consumer.ASSIGNOR_LAST},
        ),
        (
            "join-fields-unchecked",
            "a join needs neither a rebalance timeout nor a subscription",
            Level.SHOULD,
            {
                "tables": kfake_consumer.FIELDS_UNCHECKED,
                "twists": kfake_consumer.GIVING_TIME,
            },
        ),
        (
            "epoch-from-zero",
            "a group begins at epoch 0, and each new member raises it, also one without topics",
            Level.MAY,
            {"tables": kfake_consumer.IDLE_BUMPS, "twists": kfake_consumer.FROM_ZERO},
        ),
        (
            "rejoin-in-place",
            "a live member that joins again keeps its place, whatever instance it brings",
            Level.MUST,
            {"tables": kfake_consumer.REJOINS_IN_PLACE, "twists": kfake_consumer.GUARDED_STEPS},
        ),
        (
            "refused-topics-kept",
            "partitions of topics that a refused join or heartbeat leaves out stay assigned",
            Level.MAY,
            {"twists": kfake_consumer.UNHEEDING},
        ),
        (
            "return-unheard",
            "a join in place of a released member is taken for one that still owns everything",
            Level.MUST,
            {"tables": kfake_consumer.RETURNS, "twists": kfake_consumer.GUARDED_STEPS},
        ),
        (
            "heartbeat-by-id",
            "a heartbeat of a member is not compared with the instance that it names",
            Level.MUST,
            {
                "tables": kfake_consumer.HEARTBEATS_BY_ID,
                "twists": kfake_consumer.KEEPING_INSTANCES,
            },
        ),
        (
            "full-heartbeat-alone",
            "a heartbeat changes a subscription or an assignor only if it gives all fields",
            Level.MUST,
            {"tables": kfake_consumer.FULL_ALONE, "twists": kfake_consumer.GUARDED_STEPS},
        ),
        (
            "released-revived",
            "a heartbeat with the epoch before the release revives a released member",
            Level.SHOULD,
            {"tables": kfake_consumer.REVIVED, "twists": kfake_consumer.GUARDED_STEPS},
        ),
        (
            "released-for-ever",
            "a released member keeps its epochs, and its session never ends",
            Level.MUST,
            {"twists": kfake_consumer.RELEASED_FOR_EVER},
        ),
        (
            "expired-entry-stays",
            "an instance stays mapped to a member that a timer removed",
            Level.MUST,
            {"twists": kfake_consumer.ENTRIES_STAY},
        ),
        (
            "leave-by-id",
            "a leave looks at the member id alone",
            Level.MUST,
            {"tables": kfake_consumer.LEAVES_BY_ID},
        ),
        (
            "removes-nobody",
            "LeaveGroup removes no member of a consumer group",
            Level.MUST,
            {"tables": kfake_consumer.REMOVES_NOBODY},
        ),
        (
            "ids-unchecked",
            "a heartbeat's ids are not validated, and an epoch below -2 is one that is not current",
            Level.SHOULD,
            {"tables": kfake_requests.IDS_UNCHECKED},
        ),
        (
            "commit-checks",
            "a commit checks the group, then its version and member, then each partition alone",
            Level.MUST,
            {"tables": kfake_requests.COMMITS},
        ),
        (
            "transaction-checks",
            "a commit in a transaction looks at the instance, and needs the member's own epoch",
            Level.MUST,
            {"tables": kfake_requests.TRANSACTIONS},
        ),
        (
            "absent-group-fetch",
            "reading the offsets of a group that doesn't exist is GROUP_ID_NOT_FOUND",
            Level.SHOULD,
            {"tables": kfake_requests.FETCHES},
        ),
        (
            "released-group-deleted",
            "a group whose members are all released is deleted as one without members",
            Level.SHOULD,
            {"tables": kfake_requests.DELETIONS},
        ),
        (
            "unknown-topic-fetch",
            "OffsetFetch by an id that no topic has is no error: nothing is stored",
            Level.SHOULD,
            {"distort": kfake_requests.unknown_topics_unstored},
        ),
        (
            "nameless-group-absent",
            'LeaveGroup or OffsetDelete of group "" is GROUP_ID_NOT_FOUND until it is made',
            Level.SHOULD,
            {"tables": kfake_requests.NAMELESS, "is_occasional": True},
        ),
        (
            "offset-deletion-by-state",
            "OffsetDelete of a group with live members is an error, whatever they subscribe to",
            Level.SHOULD,
            {"tables": kfake_requests.OFFSET_DELETIONS},
        ),
        (
            "untyped-list",
            "ListGroups gives no protocol type, and its state counts live members",
            Level.SHOULD,
            {
                "twists": kfake_requests.LISTED_BY_THE_LIVE,
                "distort": kfake_requests.untyped,
            },
        ),
        (
            "described-as-classic",
            "DescribeGroups shows groups of the consumer protocol, without their members",
            Level.SHOULD,
            {"tables": kfake_requests.DESCRIBED_AS_CLASSIC},
        ),
        (
            "absent-group-removal",
            "LeaveGroup of a group that doesn't exist is GROUP_ID_NOT_FOUND",
            Level.SHOULD,
            {"tables": kfake_requests.REMOVALS},
        ),
        (
            "previous-epoch-kept",
            "the previous epoch stays the same while a member gives partitions up",
            Level.SHOULD,
            {"twists": kfake_consumer.KEEPING_PREVIOUS},
        ),
        (
            "hurried-again",
            "the time to give partitions up begins again with each heartbeat",
            Level.MUST,
            {"twists": kfake_consumer.HURRIED_AGAIN},
        ),
        (
            "given-up-singly",
            "a partition is free once its member reports it no longer, others to give up or not",
            Level.MAY,
            {"twists": kfake_consumer.GIVING_UP_SINGLY},
        ),
        (
            "target-of-the-live",
            "a target is made for live members alone, and only when the epoch grows",
            Level.MUST,
            {
                "tables": kfake_consumer.TARGETS_OF_THE_LIVE,
                "twists": kfake_consumer.MADE_FOR_THE_LIVE,
            },
        ),
        (
            "described-by-the-live",
            "a description leaves out partitions to give up, and its state counts live members",
            Level.SHOULD,
            {
                "tables": kfake_requests.KEPT_ALONE,
                "distort": kfake_requests.described_by_the_live,
            },
        ),
    )
)


def families(protocol: Protocol[Any, Any] = CLASSIC) -> tuple[tuple[Departure, ...], ...]:
    """Return the departures of each coordinator in a protocol, which it has all at once."""
    own = [departure for departure in DEPARTURES.values() if departure.protocol is protocol]
    together = (
        tuple(departure for departure in own if coordinator in departure.of)
        for coordinator in (NEW, OLD, KFAKE)
    )
    return tuple(family for family in together if family)


def _rebalances(_: Group, work: ClassicWork) -> None:
    if work.group.state in {GroupState.STABLE, GroupState.COMPLETING}:
        rebalance(work, 0)


def _ends_the_delay(_: Group, work: ClassicWork) -> None:
    group = work.group
    if group.members and all(member.joining is not None for member in group.members):
        work.group = replace(group, delay=None)


def _remembers_newcomer(before: Group, work: ClassicWork) -> None:
    if before.delay is not None and before.delay.somebody_came:
        work.group = replace(work.group, remembers_newcomer=True)


def _awaits_more(before: Group, work: ClassicWork) -> None:
    group = work.group
    if before.remembers_newcomer and group.delay is not None and before.delay is None:
        delay = InitialDelay(group.delay.remaining_ms, somebody_came=True)
        work.group = replace(group, delay=delay, remembers_newcomer=False)


def _comes_unnoticed(before: Group, work: ClassicWork) -> None:
    if before.delay is not None and before.generation_id > 0:
        work.group = replace(work.group, delay=before.delay)


def _awaits_everybody(_: Group, work: ClassicWork) -> None:
    changed_members(work, lambda member: replace(member, owes_sync=True))


def _unanswered_sync(_: ClassicWork, emission: Emission) -> Message | None:
    return None if isinstance(emission.message, SyncGroupResponse) else emission.message


def _replaced(before: Group, work: ClassicWork) -> Member | None:
    """Return the holder of the instance before."""
    return before.member(before.holder(work.instance or "") or "")


def _old_session(before: Group, work: ClassicWork) -> None:
    old = _replaced(before, work)
    if old is not None:
        work.set_timer(SESSION, work.caller, old.session_timeout_ms)


def _awaits_replaced(before: Group, work: ClassicWork) -> None:
    """Wait for the sync that the replaced id owed, though nobody can send it."""
    old = _replaced(before, work)
    if before.awaits_replaced or (old is not None and old.owes_sync):
        timers = (timer for timer in before.timers if timer.kind == SYNC)
        work.group = replace(work.group, awaits_replaced=True).with_timers(timers)


def _kept_when_made(before: Group, work: ClassicWork) -> None:
    if before == Group():
        work.group = replace(work.group, stored=Group())


def _unseen_when_made(before: Group, work: ClassicWork) -> None:
    if before == Group():
        work.set_timer(CREATION, "", 1)


def _unseen_until_written(before: Group, work: ClassicWork) -> None:
    """Write nothing for a commit that stores nothing: it takes until something else is written."""
    if before == Group() and not work.group.offsets:
        now = work.span.earliest
        work.group = work.group.with_timer(CREATION, "", now, now + _EVER_MS)


def _visible_when_written(_: Group, work: ClassicWork) -> None:
    work.group = work.group.without_timer(CREATION)


def _undone(_: Group, work: ClassicWork) -> None:
    """Undo all that isn't written when a write fails, and that is the group."""
    if work.group.has_timer(CREATION):
        work.forget()


def _still_new(before: Group, work: ClassicWork) -> None:
    """Leave a restart before the first join's answer new, but with a session timer."""
    old = _replaced(before, work)
    if old is not None and old.new:
        changed_member(work, work.caller, lambda member: replace(member, new=True))


def _keeps_the_subscription(_: Group, work: ClassicWork) -> None:
    """Keep the subscription of the refused process, as if the holder had sent it."""
    offered = join_request(work).protocols
    holder = work.group.holder(work.instance or "") or ""
    changed_member(work, holder, lambda member: replace(member, protocols=offered))


def _miscounted(_: Group, work: ClassicWork) -> None:
    """Count a protocol that is offered twice twice, so no protocol is supported by all members."""
    changed_members(work, _without_repeated)


def _without_repeated(member: Member) -> Member:
    names = [protocol.name for protocol in member.protocols]
    once = tuple(p for p in member.protocols if names.count(p.name) == 1)
    return member if once == member.protocols else replace(member, protocols=once)


def _fails_without_candidates(own: Effect) -> Effect:
    """Answer no member with a generation for which no protocol can be chosen.

    The last request, a join or a leave, is answered an error; so are some others.
    """

    def effect(work: ClassicWork) -> list[ClassicWork] | None:
        group = work.group
        if not group.members or group.candidates():
            return own(work)
        work.group = replace(group, generation_id=group.generation_id + 1)
        joins = [m.joining.request_id for m in group.members if m.joining is not None]
        for request_id in (*joins, *([] if work.request is None else [work.request.id])):
            work.emit(request_id, None)
        return None

    return effect


def _restart_fails_without_candidates(own: Effect) -> Effect:
    """Answer a restart an error, since it can't get the current generation either."""

    def effect(work: ClassicWork) -> list[ClassicWork] | None:
        if work.group.candidates():
            return own(work)
        assert work.request is not None
        work.emit(work.request.id, None)
        return None

    return effect


def _only_after_a_generation(own: Effect) -> Effect:
    def effect(work: ClassicWork) -> list[ClassicWork] | None:
        return own(work) if work.group.state is GroupState.COMPLETING else None

    return effect


_OFFERING = (
    Do.ADD_DYNAMIC,
    Do.ADMIT_PENDING,
    Do.ADD_STATIC,
    Do.REPLACE_HOLDER,
    Do.UPDATE_MEMBER,
)

_EVER_MS = 10**9

_WRITTEN_LATER: Mapping[Enum, Twist] = {
    Do.STORE_OFFSETS: in_turn(afterwards(_visible_when_written), afterwards(_unseen_until_written)),
    Do.PERSIST: afterwards(_visible_when_written),
}

_MAKING = (Do.CREATE_GROUP, Do.HAND_OUT_PENDING, Do.ADD_DYNAMIC, Do.ADD_STATIC)

_BOTH, _NEW, _OLD = map(frozenset, ((OLD, NEW), (NEW,), (OLD,)))

DEPARTURES: Mapping[str, Departure] = {
    departure.name: departure
    for departure in (
        Departure(
            "protocol-twice",
            "a member that offers a protocol twice locks out all others",
            _BOTH,
            {
                **dict.fromkeys(_OFFERING, afterwards(_miscounted)),
                Do.COMPLETE_JOIN: _fails_without_candidates,
                Do.START_SYNC_TIMER: _only_after_a_generation,
                Do.ANSWER_RESTARTED: _restart_fails_without_candidates,
            },
            Level.SHOULD,  # robustness: the KIP is silent, and no client sends such a list
        ),
        Departure(
            "pending-leave",
            "a LeaveGroup with a pending member id rebalances a stable group",
            _NEW,
            {Do.REMOVE_PENDING: afterwards(_rebalances, "LEAVE-MEMBER-PENDING")},
        ),
        Departure(
            "absent-static-member",
            "an absent static member is removed before its session ends",
            _BOTH,
            {Do.COMPLETE_JOIN: afterwards(_awaits_everybody)},
        ),
        Departure(
            "parked-sync",
            "the waiting SyncGroup of a removed member is never answered",
            _BOTH | {KFAKE},
            dict.fromkeys((Do.REMOVE_MEMBER, Do.REMOVE_HOLDER), retold(_unanswered_sync)),
        ),
        Departure(
            "restart-session",
            "after a restart the old session timeout applies until the first heartbeat",
            _BOTH,
            {Do.REPLACE_HOLDER: afterwards(_old_session)},
            Level.SHOULD,  # a session ends, but the KIP doesn't say which process's counts
        ),
        Departure(
            "restart-in-first-join",
            "a static member that restarts during its first join is removed at its session timeout",
            _OLD,
            {Do.REPLACE_HOLDER: afterwards(_still_new)},
        ),
        Departure(
            "refused-restart",
            "a restart that can't be stored leaves its subscription behind",
            _OLD,
            {Do.KEEP_HOLDER: afterwards(_keeps_the_subscription)},
            Level.SHOULD,  # the KIP says nothing of what can't be stored
        ),
        Departure(
            "restart-before-sync",
            "a restart between join and sync causes a rebalance later",
            _BOTH,
            {Do.REPLACE_HOLDER: afterwards(_awaits_replaced)},
        ),
        Departure(
            "full-group",
            "a full group refuses the restart of its own static member",
            _BOTH,
            level=Level.SHOULD,  # the KIP says nothing of a group's size
            restart_needs_room=True,
        ),
        Departure(
            "refused-member",
            "a member that is refused holds up the rebalance of a full group",
            _NEW,
            level=Level.SHOULD,  # the KIP says nothing of a group's size
            unchecked=frozenset({"JOIN-GROUP-FULL", "JOIN-GROUP-FULL-PENDING", "SESSION-WAITING"}),
        ),
        Departure(
            "delay-cut-short",
            "an expired pending member id ends the initial rebalance delay",
            _NEW,
            {Do.REMOVE_PENDING: afterwards(_ends_the_delay, "SESSION-PENDING")},
            Level.SHOULD,  # the delay saves rebalances; no sentence of KIP-345 or property needs it
        ),
        Departure(
            "delay-for-nobody",
            "the initial rebalance delay is extended although no new member joins",
            _BOTH,
            {
                Do.COMPLETE_JOIN: afterwards(_remembers_newcomer),
                Do.BECOME_EMPTY: afterwards(_remembers_newcomer),
                Do.REBALANCE: afterwards(_awaits_more),
            },
            Level.SHOULD,  # as for delay-cut-short
        ),
        Departure(
            "delay-not-extended",
            "new members don't extend the initial delay of a group that had members before",
            _OLD,
            dict.fromkeys(ADDING, afterwards(_comes_unnoticed)),
            Level.SHOULD,  # as for delay-cut-short
        ),
        Departure(
            "kept-without-generation",
            "a group without a generation survives a failover",
            _NEW,
            dict.fromkeys(_MAKING, afterwards(_kept_when_made)),
            Level.SHOULD,  # nobody is fenced or let in by it; the KIP says nothing of such a group
        ),
        Departure(
            "unseen-at-first",
            "a new group is not listed or described at first",
            _NEW,
            {**dict.fromkeys(_MAKING, afterwards(_unseen_when_made)), **_WRITTEN_LATER},
            Level.SHOULD,  # no membership depends on an administrator's view
        ),
        Departure(
            "undone-group",
            "a failed first write deletes a group with its members",
            _NEW,
            {
                **_WRITTEN_LATER,
                Do.REBALANCE: afterwards(_undone, "SYNC-COMPLETING-LEADER-TOO-LARGE"),
            },
        ),
        *OF_KFAKE,
        *OF_KFAKE_CONSUMERS,
    )
}
"""The departures by name: those that a random search meets most often first."""
