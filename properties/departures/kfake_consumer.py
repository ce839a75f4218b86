"""Change tables and steps of the consumer protocol as kfake has them, for `known_departures`.

Read from the source of kfake (`groups.go`).  kfake finds a member by its id alone: an instance
matters to a join that brings one, and to a heartbeat of a stranger.  A join makes a new target if
its subscription is another one than before, a leave makes one at once, and a released member counts
in none: it keeps what it had.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import chain, combinations, permutations, product
from typing import Any

from msgspec.structs import replace

from fencepost.model.consumer.answer_bodies import is_full
from fencepost.model.consumer.cells import (
    DANGLING,
    EMPTY,
    LIVE,
    MEMBER,
    NONE,
    OTHER,
    RELEASED,
    UNKNOWN,
    UNMAPPED,
    when,
)
from fencepost.model.consumer.consumer_work import ConsumerWork
from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.features import ASSIGNORS, owned
from fencepost.model.consumer.group import (
    ASSIGNMENT,
    REBALANCE,
    SESSION,
    ConsumerGroup,
    Member,
    Phase,
)
from fencepost.model.consumer.open_targets import decided, with_share_of
from fencepost.model.consumer.perform import caller, heartbeat, sent_or_fresh_id
from fencepost.model.consumer.vocabulary import (
    BEAT_TABLE,
    JOIN_TABLE,
    LEAVE_TABLE,
    REMOVAL_TABLE,
    Assignor,
    Caller,
    Epoch,
    Fields,
    Leave,
    Owned,
)
from fencepost.model.messages.consumer_messages import (
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatResponse,
    DescribedConsumerGroup,
)
from fencepost.model.messages.errors import Error
from fencepost.model.messages.shapes import Message
from fencepost.model.messages.subscription import TopicPartition
from fencepost.model.revision import Twist
from fencepost.model.table.expr import ALWAYS, Column, all_of, any_of, negate
from fencepost.model.table.table import OwnStep, Rule, Table
from fencepost.model.work import Effect
from fencepost.properties.departures.mutation_operators import (
    Change,
    afterwards,
    chained,
    first,
    last,
    otherwise,
    unless,
    with_column,
)

_Works = list[ConsumerWork] | None

_REBALANCE_MS = 45_000
"""The time to revoke of a member whose join gives none."""


_ANSWERS = (Do.ANSWER_CHANGES, Do.ANSWER_ASSIGNMENT)
GUARDED_STEPS: Mapping[Enum, Twist] = dict.fromkeys(
    (Do.RECOMPUTE_TARGET, Do.RECONCILE, Do.RESTART_SESSION, *_ANSWERS),
    unless(lambda work: bool(work.emissions)),
)


def _refuse(work: ConsumerWork, error: Error) -> None:
    assert work.request is not None
    answer = ConsumerGroupHeartbeatResponse(error_code=error.value)
    work.emit(work.request.id, answer)


# Any heartbeat makes its group.


def _make(work: ConsumerWork) -> None:
    """Let a group without members come to exist: of epoch 1 here, which kfake calls 0."""
    if work.start is None or work.start.is_simple:
        work.create()
        work.group = replace(work.group, epoch=1)


_MAKE = OwnStep("MAKE_GROUP", "the group comes to exist, without members", _make)


def unjoined_at_zero(message: Message) -> Message:
    """Describe a group that nobody ever joined at epoch 0."""
    if not isinstance(message, ConsumerGroupDescribeResponse):
        return message
    return replace(message, groups=tuple(map(_at_zero, message.groups)))


def _at_zero(row: DescribedConsumerGroup) -> DescribedConsumerGroup:
    is_unjoined = not row.members and (row.group_epoch, row.assignment_epoch) == (1, 0)
    return replace(row, group_epoch=0) if is_unjoined else row


MADE: Mapping[str, Change] = {
    JOIN_TABLE: chained(
        otherwise("CG-JOIN-FIELDS-MISSING", effect=(_MAKE,)),
        otherwise("CG-JOIN-ASSIGNOR-UNKNOWN", effect=(_MAKE,)),
    ),
    BEAT_TABLE: otherwise("CG-BEAT-GROUP-ABSENT", effect=(_MAKE,), answer=Error.UNKNOWN_MEMBER_ID),
    LEAVE_TABLE: chained(
        otherwise("CG-LEAVE-GROUP-ABSENT", effect=(_MAKE,), answer=Error.UNKNOWN_MEMBER_ID),
        otherwise("CG-LEAVE-RELEASE-BARE", effect=(_MAKE,)),
    ),
}
"""A heartbeat makes the group that it names, whatever the answer is."""

# A member is found by its id.

STRANGER = when(mid=(EMPTY, UNKNOWN))
_LEAVES = (Do.REMOVE_MEMBER, Do.BUMP_EPOCH)


def _answer_nobody(work: ConsumerWork) -> None:
    assert work.request is not None
    work.emit(work.request.id, ConsumerGroupHeartbeatResponse(error_code=0))


_ANSWER_NOBODY = OwnStep(
    "ANSWER_NOBODY", "answer NONE with epoch 0 and no member id", _answer_nobody, answers=True
)


def _keep_instance(before: ConsumerGroup | None, work: ConsumerWork) -> None:
    old = None if before is None else before.member(work.caller)
    if old is not None:
        member = replace(caller(work), instance_id=old.instance_id)
        work.group = work.group.with_member(member)


def _by_id(table: Table) -> Table:
    """Add the row of a heartbeat whose instance is mapped to somebody else."""
    row = Rule(
        "CG-BEAT-BY-ID",
        all_of(
            when(inst=(OTHER, DANGLING), mid=MEMBER),
            any_of(when(epoch=Epoch.CURRENT), when(epoch=Epoch.PREVIOUS, owned=Owned.SUBSET)),
        ),
        (Do.RECOMPUTE_TARGET, Do.RECONCILE, Do.RESTART_SESSION, Do.ANSWER_CHANGES),
    )
    return Table(table.name, table.features, table.checks, (*table.rows, row))


def _is_named(group: Any, member_id: str, instance_id: str | None) -> bool:
    return group is not None and instance_id is not None and group.holder(instance_id) == member_id


IS_NAMED = Column("entry", (False, True), "whether the entry names the caller", _is_named)

HEARTBEATS_BY_ID: Mapping[str, Change] = {
    BEAT_TABLE: chained(
        otherwise("CG-BEAT-ID-MISSING"),
        otherwise("CG-BEAT-ID-BLANK"),
        otherwise("CG-BEAT-INSTANCE-UNMAPPED", guard=all_of(when(inst=UNMAPPED), STRANGER)),
        with_column(IS_NAMED),
        otherwise(
            "CG-BEAT-INSTANCE-DANGLING",
            guard=all_of(when(inst=DANGLING), STRANGER, IS_NAMED.among(False)),
            answer=Error.FENCED_INSTANCE_ID,
        ),
        otherwise("CG-BEAT-INSTANCE-FENCED", guard=all_of(when(inst=OTHER), STRANGER)),
        otherwise("CG-BEAT-UNKNOWN-MEMBER", guard=STRANGER),
        _by_id,
    )
}
KEEPING_INSTANCES: Mapping[Enum, Twist] = {Do.UPDATE_MEMBER: afterwards(_keep_instance)}

LEAVES_BY_ID: Mapping[str, Change] = {
    LEAVE_TABLE: chained(
        *map(
            otherwise,
            (
                "CG-LEAVE-ID-MISSING",
                "CG-LEAVE-ID-MISSING-LEGACY",
                "CG-LEAVE-ID-BLANK",
                "CG-LEAVE-ASSIGNOR-UNKNOWN",
                "CG-LEAVE-INSTANCE-UNMAPPED",
                "CG-LEAVE-INSTANCE-DANGLING",
                "CG-LEAVE-INSTANCE-FENCED",
            ),
        ),
        otherwise("CG-LEAVE-UNKNOWN-MEMBER", guard=STRANGER),
        otherwise(
            "CG-LEAVE-RELEASE-BARE",
            guard=when(leave=Leave.RELEASE, caller=Caller.DYNAMIC),
            effect=(*_LEAVES, _ANSWER_NOBODY),
            answer=None,
        ),
        otherwise(
            "CG-LEAVE-RELEASE",
            guard=when(leave=Leave.RELEASE, mid=MEMBER, caller=Caller.STATIC),
        ),
        otherwise(
            "CG-LEAVE-RELEASE-AGAIN",
            guard=when(leave=Leave.RELEASE, mid=MEMBER, caller=Caller.RELEASED),
        ),
        otherwise("CG-LEAVE-FOR-GOOD", guard=when(leave=Leave.FOR_GOOD, mid=MEMBER)),
    )
}
"""A leave looks at nothing but the member id; -2 of a dynamic member removes it."""


def _name_holder(work: ConsumerWork) -> None:
    if work.instance is not None:
        work.caller = work.group.holder(work.instance) or work.caller


_NAME_HOLDER = OwnStep(
    "NAME_HOLDER", "the row names the id that the instance is mapped to", _name_holder
)
REMOVES_NOBODY: Mapping[str, Change] = {
    REMOVAL_TABLE: first(
        Rule("CG-REMOVE-UNKNOWN", ALWAYS, (_NAME_HOLDER,), Error.UNKNOWN_MEMBER_ID)
    )
}

# Joins of those who are members.

_IN = (Do.RECOMPUTE_TARGET, Do.RECONCILE, Do.RESTART_SESSION, Do.ANSWER_ASSIGNMENT)
_HELD = when(inst=OTHER, holder=LIVE)
_LIVE = when(mid=MEMBER, caller=(Caller.DYNAMIC, Caller.STATIC))


def _bump(work: ConsumerWork) -> None:
    work.group = replace(work.group, epoch=work.group.epoch + 1)
    work.is_bumped = True


def _without(group: ConsumerGroup, member_id: str) -> ConsumerGroup:
    """Remove a member; the entries of instances stay."""
    return replace(group.without_member(member_id), static=group.static)


def _free_at_once(work: ConsumerWork, member_id: str) -> None:
    """Let partitions of a member that was taken away be assigned by the same request."""
    if work.start is not None and work.start.has_id(member_id):
        work.start = _without(work.start, member_id)


def _displaced(group: ConsumerGroup, work: ConsumerWork) -> str | None:
    """Return the id of the released holder of the instance that a join brings, if it is another."""
    holder = None if work.instance is None else group.holder(work.instance)
    return holder if holder != work.caller and holder and group.has_id(holder) else None


def _take(work: ConsumerWork, member: Member) -> bool:
    """Take subscription and assignor over, and tell if one is another; an unknown one is refused.

    What was taken before the refusal stays.
    """
    sent = heartbeat(work)
    names, assignor = sent.subscribed_topic_names, sent.server_assignor
    topics = member.topics if names is None else tuple(sorted(set(names)))
    is_other = topics != member.topics
    member = replace(member, topics=topics)
    if assignor is not None and assignor != member.assignor:
        if assignor not in ASSIGNORS:
            _refuse(work, Error.UNSUPPORTED_ASSIGNOR)
        else:
            member, is_other = replace(member, assignor=assignor), True
    work.group = work.group.with_member(member)
    return is_other and not work.emissions


def _rejoin(work: ConsumerWork) -> None:
    """Update a live member in place; the instance is mapped to it, and is not its own."""
    sent = heartbeat(work)
    assert work.request is not None
    if (displaced := _displaced(work.group, work)) is not None:
        work.group = _without(work.group, displaced)
        _free_at_once(work, displaced)
    if work.instance is not None:
        work.group = work.group.with_mapping(work.instance, work.caller)
    timeout_ms = sent.rebalance_timeout_ms
    member = caller(work)
    member = replace(
        member,
        client_id=work.request.client_id,
        rack_id=sent.rack_id or "",
        rebalance_timeout_ms=timeout_ms if timeout_ms > 0 else member.rebalance_timeout_ms,
    )
    if _take(work, member):
        _bump(work)


def _come_back(work: ConsumerWork) -> list[ConsumerWork] | None:
    """Make a new member of epoch 0 with the partitions and the target of the released one.

    If that one joined without a subscription, any is another one.  It may also have given an empty
    one.
    """
    work.caller = sent_or_fresh_id(work)
    sent, group = heartbeat(work), work.group
    assert work.request is not None
    source = _displaced(group, work) or work.caller
    before, target = group.member(source), group.target_of(source)
    assert before is not None
    still_open = _with_heir(group, source, work.caller)
    for member_id in {source, work.caller}:
        if group.has_id(member_id):
            group = _without(group, member_id)
            _free_at_once(work, member_id)
    if work.instance is not None:
        group = group.with_mapping(work.instance, work.caller)
    work.group = group
    assignor = sent.server_assignor or ""
    if sent.server_assignor is not None and assignor not in ASSIGNORS:
        _refuse(work, Error.UNSUPPORTED_ASSIGNOR)
        return None
    timeout_ms = sent.rebalance_timeout_ms
    member = Member(
        member_id=work.caller,
        instance_id=work.instance,
        client_id=work.request.client_id,
        rebalance_timeout_ms=timeout_ms if timeout_ms > 0 else _REBALANCE_MS,
        assigned=before.assigned,
        topics=tuple(sorted(set(sent.subscribed_topic_names or ()))),
        assignor=assignor,
        rack_id=sent.rack_id or "",
    )
    group = group.with_member(member).with_target(work.caller, target)
    work.group = replace(group, open=still_open)
    work.owned = None  # it is taken for one that may own all that it had
    if member.topics or before.topics:
        if member.topics != before.topics:
            _bump(work)
        return None
    fork = work.fork()
    _bump(fork)
    return [work, fork]


def _with_heir(
    group: ConsumerGroup, source: str, heir: str
) -> tuple[tuple[TopicPartition, tuple[str, ...]], ...]:
    """Return what is open in the target, with the heir's part instead of the source's."""
    if source == heir:
        return group.open
    names = {source: heir, heir: ""}
    rows = ((p, tuple(sorted({names.get(i, i) for i in ids}))) for p, ids in group.open)
    return tuple((p, ids) for p, ids in rows if ids != ("",))


REJOINS_IN_PLACE: Mapping[str, Change] = {
    JOIN_TABLE: last(
        Rule(
            "CG-JOIN-IN-PLACE",
            all_of(_LIVE, negate(_HELD)),
            (OwnStep("REJOIN", "the caller is updated in place", _rejoin), *_IN),
        ),
        Rule(
            "CG-JOIN-INSTANCE-OF-NOBODY",
            all_of(when(inst=DANGLING), STRANGER),
            (Do.ADD_STATIC, Do.BUMP_EPOCH, *_IN),
        ),
    )
}


RETURNS: Mapping[str, Change] = {
    JOIN_TABLE: last(
        Rule(
            "CG-JOIN-COME-BACK",
            any_of(
                all_of(when(inst=OTHER, holder=RELEASED), negate(_LIVE)),
                all_of(when(mid=MEMBER, caller=Caller.RELEASED), negate(_HELD)),
            ),
            (OwnStep("COME_BACK", "the caller gets the released member's place", _come_back), *_IN),
        )
    )
}


def _unheeding(own: Effect) -> Effect:
    """Reconcile as if the caller subscribed to all that it has, unless its target is new."""

    def effect(work: ConsumerWork) -> _Works:
        member = work.group.member(work.caller)
        if member is None or work.has_new_target:
            return own(work)
        has = (*member.partitions(), *work.group.target_of(work.caller))
        topics = {*member.topics, *(partition.topic for partition in has)}
        if topics == {*member.topics}:
            return own(work)
        work.group = work.group.with_member(replace(member, topics=tuple(sorted(topics))))
        works = own(work) or [work]
        for done in works:
            restored = replace(caller(done), topics=member.topics)
            done.group = done.group.with_member(restored)
        return works

    return effect


UNHEEDING: Mapping[Enum, Twist] = {Do.RECONCILE: _unheeding}


def _at_first(_: ConsumerGroup | None, work: ConsumerWork) -> None:
    group = work.group
    if not group.members and (group.epoch, group.target_epoch) == (1, 0):
        work.group = replace(group, epoch=0)


FROM_ZERO: Mapping[Enum, Twist] = {Do.CREATE_GROUP: afterwards(_at_first)}
IDLE_BUMPS: Mapping[str, Change] = {
    JOIN_TABLE: chained(
        *(
            otherwise(
                f"CG-JOIN-{kind}-NEW-IDLE", effect=(Do.CREATE_GROUP, add, Do.BUMP_EPOCH, *_IN)
            )
            for kind, add in (("DYNAMIC", Do.ADD_DYNAMIC), ("STATIC", Do.ADD_STATIC))
        )
    )
}


FIELDS_UNCHECKED: Mapping[str, Change] = {
    JOIN_TABLE: otherwise("CG-JOIN-FIELDS-MISSING", guard=when(fields=Fields.OWNING))
}


def _give_time(_: ConsumerGroup | None, work: ConsumerWork) -> None:
    member = caller(work)
    if member.rebalance_timeout_ms <= 0:
        member = replace(member, rebalance_timeout_ms=_REBALANCE_MS)
        work.group = work.group.with_member(member)


GIVING_TIME: Mapping[Enum, Twist] = dict.fromkeys(
    (Do.ADD_DYNAMIC, Do.ADD_STATIC, Do.UPDATE_MEMBER), afterwards(_give_time)
)


def _map_refused(work: ConsumerWork) -> None:
    if work.instance is not None:
        work.group = work.group.with_mapping(work.instance, sent_or_fresh_id(work))


ASSIGNOR_LAST: Mapping[str, Change] = {
    JOIN_TABLE: otherwise(
        "CG-JOIN-ASSIGNOR-UNKNOWN",
        guard=all_of(when(assignor=Assignor.UNKNOWN, inst=(NONE, UNMAPPED, DANGLING)), STRANGER),
        effect=(
            _MAKE,
            OwnStep("MAP_REFUSED", "the instance is mapped to the caller", _map_refused),
        ),
    )
}

# Heartbeats.


def _take_full(work: ConsumerWork) -> None:
    """Take a heartbeat's subscription and assignor over, if it gives all fields."""
    if not work.emissions and is_full(heartbeat(work)) and _take(work, caller(work)):
        _bump(work)


_BEAT = (
    Do.RESTART_SESSION,
    OwnStep("TAKE_FULL", "a heartbeat with all fields changes the subscription", _take_full),
    Do.RECOMPUTE_TARGET,
    Do.RECONCILE,
    Do.ANSWER_CHANGES,
)
FULL_ALONE: Mapping[str, Change] = {
    BEAT_TABLE: chained(
        otherwise("CG-BEAT-ASSIGNOR-UNKNOWN"),
        last(
            Rule("CG-BEAT-FULL", when(epoch=Epoch.CURRENT), _BEAT),
            Rule("CG-BEAT-FULL-AGAIN", when(epoch=Epoch.PREVIOUS, owned=Owned.SUBSET), _BEAT),
        ),
    )
}
"""A heartbeat changes a subscription only if it gives all fields; a known assignor counts, too."""


def _before_the_release(work: ConsumerWork) -> None:
    """Refuse an epoch that is newer, unless it is the one before the member was released."""
    member = caller(work)
    is_previous = heartbeat(work).member_epoch == member.previous_epoch
    is_within = owned(member, work.owned) is Owned.SUBSET
    if not (member.is_released and is_previous and is_within):
        _refuse(work, Error.FENCED_MEMBER_EPOCH)


REVIVED: Mapping[str, Change] = {
    BEAT_TABLE: otherwise(
        "CG-BEAT-EPOCH-NEWER",
        effect=(
            OwnStep("CHECK_RELEASED", "a released member may go on", _before_the_release),
            *_BEAT,
        ),
        answer=None,
    )
}


def _keep_epochs(before: ConsumerGroup | None, work: ConsumerWork) -> None:
    """Let a released member keep the epochs that it had, and let no session run."""
    old = None if before is None else before.member(work.caller)
    assert old is not None
    member = replace(caller(work), previous_epoch=old.previous_epoch, assigned=old.assigned)
    work.group = work.group.with_member(member).without_timer(SESSION, work.caller)


def _keep_entries(before: ConsumerGroup | None, work: ConsumerWork) -> None:
    """Let the entries of instances stay when a timer removes their member."""
    if before is not None and work.request is None:
        work.group = replace(work.group, static=before.static)


ENTRIES_STAY: Mapping[Enum, Twist] = {Do.REMOVE_MEMBER: afterwards(_keep_entries)}
RELEASED_FOR_EVER: Mapping[Enum, Twist] = {Do.RELEASE: afterwards(_keep_epochs)}


def _keep_previous(before: ConsumerGroup | None, work: ConsumerWork) -> None:
    old = None if before is None else before.member(work.caller)
    member = work.group.member(work.caller)
    if old is not None and member is not None and member.phase is Phase.UNREVOKED:
        member = replace(member, previous_epoch=old.previous_epoch)
        work.group = work.group.with_member(member)


def _hurry_again(_: ConsumerGroup | None, work: ConsumerWork) -> None:
    member = work.group.member(work.caller)
    if member is not None and member.phase is Phase.UNREVOKED and member.revoking:
        work.set_timer(REBALANCE, work.caller, member.rebalance_timeout_ms)


KEEPING_PREVIOUS: Mapping[Enum, Twist] = {Do.RECONCILE: afterwards(_keep_previous)}
HURRIED_AGAIN: Mapping[Enum, Twist] = dict.fromkeys(_ANSWERS, afterwards(_hurry_again))


def _give_up(own: Effect) -> Effect:
    """Let partitions that the caller no longer owns be free, before it gave up all it has to."""

    def effect(work: ConsumerWork) -> _Works:
        member = work.group.member(work.caller)
        if member is not None and work.owned is not None:
            kept = tuple(row for row in member.revoking if row[0] in work.owned)
            if kept:
                work.group = work.group.with_member(replace(member, revoking=kept))
        return own(work)

    return effect


GIVING_UP_SINGLY: Mapping[Enum, Twist] = {Do.RECONCILE: _give_up}

# Targets.


def _of_the_live(own: Effect) -> Effect:
    """Make a target for live members, where the epoch grew; released ones keep their part."""

    def effect(work: ConsumerWork) -> _Works:
        group = work.group
        away = [m.member_id for m in group.members if m.is_released]
        if work.emissions or not work.is_bumped or len(away) == len(group.members):
            return None
        twice = _meant_twice(group)
        works = []
        for before in _shares(group.without_timer(ASSIGNMENT), away):
            each = work.fork()
            live = tuple(m for m in before.members if not m.is_released)
            each.group = replace(before, members=live)
            is_double = _lists_twice(before)
            for done in own(each) or [each]:
                done.group = replace(done.group, members=before.members)
                for member_id in away:
                    done.group = done.group.with_target(member_id, before.target_of(member_id))
                works += _kept_twice(done, twice)
                if is_double:
                    works += _listed_twice(done, before)
        return works

    return effect


def _meant_twice(group: ConsumerGroup) -> dict[TopicPartition, set[str]]:
    """Return the partitions that the target gives to several live members, with their ids.

    One of them was released when the other got its part, and is back.
    """
    owners: dict[TopicPartition, set[str]] = {}
    for member in group.members:
        for partition in () if member.is_released else group.target_of(member.member_id):
            if partition.topic in member.topics:
                owners.setdefault(partition, set()).add(member.member_id)
    return {partition: ids for partition, ids in owners.items() if len(ids) > 1}


def _kept_twice(work: ConsumerWork, twice: Mapping[TopicPartition, set[str]]) -> list[ConsumerWork]:
    """Return a work for each choice of those partitions that stay meant for several members."""
    works = []
    for kept in chain.from_iterable(combinations(twice, n) for n in range(len(twice) + 1)):
        each = work.fork()
        rows = tuple(row for row in work.group.open if row[0] not in kept)
        each.group = replace(work.group, open=rows)
        for member_id in {member_id for partition in kept for member_id in twice[partition]}:
            more = {partition for partition in kept if member_id in twice[partition]}
            target = tuple(sorted({*each.group.target_of(member_id), *more}))
            each.group = each.group.with_target(member_id, target)
        works.append(each)
    return works


def _lists_twice(group: ConsumerGroup) -> bool:
    """Return True if the target lists a partition twice for live members."""
    live = (m.member_id for m in group.members if not m.is_released)
    rows = [p for member_id in live for p in group.target_of(member_id)]
    return len(rows) > len(set(rows))


def _listed_twice(work: ConsumerWork, before: ConsumerGroup) -> Iterator[ConsumerWork]:
    """Yield a work for each target of kfake's `uniform` that lists a partition twice.

    A member with too many gives up a partition that another still has, and that one, or a third,
    gets it again.
    """
    group = work.group
    live = tuple(m for m in group.members if not m.is_released)
    meant = {p for p, _ in group.open} | {p for _, row in group.target for p in row}
    for prior, topics in product(decided(before, None), permutations({p.topic for p in meant})):
        rows = _uniform(prior, live, meant, topics)
        if sum(map(len, rows.values())) > len(meant):
            each = work.fork()
            each.group = replace(group, open=())
            for member_id, row in rows.items():
                each.group = each.group.with_target(member_id, tuple(sorted(row)))
            yield each


def _uniform(
    prior: ConsumerGroup,
    live: Sequence[Member],
    meant: set[TopicPartition],
    topics: Sequence[str],
) -> dict[str, list[TopicPartition]]:
    """Return the target of kfake's `uniform`, by member: what each has, less its excess, and more.

    `topics`: in the order in which an excess is given up.
    """
    reads = {m.member_id: [p for p in sorted(meant) if p.topic in m.topics] for m in live}
    rows = {i: [p for p in prior.target_of(i) if p in reads[i]] for i in sorted(reads)}
    missing = meant - {p for row in rows.values() for p in row}
    least, more = divmod(len(meant), len(rows))
    for place, member_id in enumerate(sorted(rows, key=lambda i: (-len(rows[i]), i))):
        excess = max(len(rows[member_id]) - least - (place < more), 0)
        row = sorted(rows[member_id], key=lambda p: (topics.index(p.topic), -p.partition))
        missing |= set(row[:excess])
        rows[member_id] = row[excess:]
    for partition in sorted(missing):
        readers = [i for i in rows if partition in reads[i]]
        rows[min(readers, key=lambda i: len(rows[i]))].append(partition)
    return rows


def _shares(group: ConsumerGroup, member_ids: list[str]) -> Iterator[ConsumerGroup]:
    """Yield the group with each possible share of these members."""
    if not member_ids:
        yield group
        return
    for share in with_share_of(group, member_ids[0]):
        yield from _shares(share, member_ids[1:])


def _at_once(table: Table) -> Table:
    """Make the target anew with each step that takes a member away."""

    def changed(rule: Rule) -> Rule:
        if Do.BUMP_EPOCH not in rule.effect or Do.RECOMPUTE_TARGET in rule.effect:
            return rule
        place = rule.effect.index(Do.BUMP_EPOCH) + 1
        before, after = rule.effect[:place], rule.effect[place:]
        return rule.but(effect=(*before, Do.RECOMPUTE_TARGET, *after))

    checks, rows = (tuple(map(changed, rules)) for rules in (table.checks, table.rows))
    return Table(table.name, table.features, checks, rows)


TARGETS_OF_THE_LIVE: Mapping[str, Change] = dict.fromkeys(
    (LEAVE_TABLE, "session timeout", "rebalance timeout"), _at_once
)
MADE_FOR_THE_LIVE: Mapping[Enum, Twist] = {Do.RECOMPUTE_TARGET: _of_the_live}
