"""Turn a request in a state into a point: the value of each feature of its table.

Where the protocol leaves a value open (a tied vote), there are several points.
"""

from __future__ import annotations

from msgspec.structs import replace

from fencepost.model.classic.answer_bodies import assign, commit_fits, group_fits, is_long
from fencepost.model.classic.group import ALL_TOPICS, Group, kinds
from fencepost.model.classic.vocabulary import (
    Change,
    Delay,
    Fit,
    Generation,
    Given,
    GroupState,
    Late,
    Left,
    Mid,
    Offer,
    Parked,
    Range,
    Role,
    Stored,
    Subject,
    Trigger,
)
from fencepost.model.coordinator import METADATA_LIMIT, RECORD_LIMIT, Config
from fencepost.model.messages.messages import (
    CommitRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    SyncGroupRequest,
)
from fencepost.model.messages.subscription import PROTOCOL_TYPE
from fencepost.model.table.expr import Point
from fencepost.model.table.shared_features import Availability, GroupId, Inst, Record, Room


def group_id(value: str | None) -> GroupId:
    """Compare the group id with none and the empty string."""
    if value is None:
        return GroupId.NULL
    return GroupId.GIVEN if value else GroupId.EMPTY


def state(group: Group | None) -> GroupState:
    """Return the group's state."""
    return GroupState.ABSENT if group is None else group.state


def mid(group: Group | None, member_id: str) -> Mid:
    """Look the member id up in the group."""
    if not member_id:
        return Mid.EMPTY
    if group is not None:
        if member_id in group.pending:
            return Mid.PENDING
        if group.member(member_id) is not None:
            return Mid.MEMBER
    return Mid.UNKNOWN


def inst(group: Group | None, group_instance_id: str | None, member_id: str) -> Inst:
    """Look the instance id up in the static map."""
    if group_instance_id is None:
        return Inst.NONE
    holder = None if group is None else group.holder(group_instance_id)
    if holder is None:
        return Inst.UNMAPPED
    return Inst.OWN if holder == member_id else Inst.OTHER


def role(group: Group | None, kind: Mid, member_id: str, instance: str | None = None) -> Role:
    """Return the role of the caller, or of the holder of the instance that it takes over."""
    if group is None:
        return Role.NOBODY
    member = member_id if kind is Mid.MEMBER else None
    if kind is Mid.EMPTY and instance is not None:
        member = group.holder(instance)
    if member is None:
        return Role.NOBODY
    return Role.LEADER if group.leader == member else Role.FOLLOWER


def generation(group: Group | None, generation_id: int) -> Generation:
    """Compare the request's generation with the group's; without a group, 0 and more is after."""
    if generation_id < 0:
        return Generation.NEGATIVE
    if group is None or generation_id > group.generation_id:
        return Generation.AFTER
    return Generation.EQUAL if generation_id == group.generation_id else Generation.BEFORE


def offer(group: Group | None, join: JoinGroupRequest) -> Offer:
    """Check that a join offers a protocol that all members share."""
    if group is None or group.state is GroupState.EMPTY:
        good = join.protocol_type != "" and bool(join.protocols)
    else:
        good = join.protocol_type == group.protocol_type and any(
            all(m.supports(p.name) for m in kinds(group.members)) for p in join.protocols
        )
    return Offer.SUPPORTED if good else Offer.UNSUPPORTED


def room(
    group: Group | None,
    join: JoinGroupRequest,
    where: Inst,
    limit: int | None,
    *,
    restart_needs_room: bool = False,
) -> Room:
    """Compare the group with group.max.size.  A join that replaces a holder adds no member.

    `restart_needs_room`: count it as if it added one.
    """
    if group is None or limit is None or group.state in {GroupState.EMPTY, GroupState.DEAD}:
        return Room.FREE
    own = join.member_id
    replaces = not own and where is Inst.OTHER and not restart_needs_room
    if replaces and join.group_instance_id is not None:
        own = group.holder(join.group_instance_id) or ""
    member = group.member(own) if own else None
    if group.state is GroupState.PREPARING:
        inside = member is not None and member.joining is not None
        return Room.FREE if inside or group.waiting() < limit else Room.FULL
    return Room.FREE if member is not None or len(group.members) < limit else Room.FULL


def selections(group: Group, join: JoinGroupRequest) -> tuple[Change, ...]:
    """Compare the vote with the vote if the instance's holder offered the join's protocols.

    Several results where the vote is tied.  Where the map names no member, as in mutants, the vote
    stays.
    """
    votes = _taken_over(group, join).votes()
    changes = {
        Change.UNCHANGED if name == group.protocol_name else Change.CHANGED for name in votes
    }
    return tuple(c for c in Change if c in changes)


def _taken_over(group: Group, join: JoinGroupRequest) -> Group:
    """Give the instance's holder, if there is one, the protocols of the join."""
    assert join.group_instance_id is not None
    holder = group.member(group.holder(join.group_instance_id) or "")
    return group if holder is None else group.with_member(replace(holder, protocols=join.protocols))


def topic_uses(group: Group | None, topic: str) -> tuple[bool, ...]:
    """Tell if the group is subscribed to a topic, as of its generation; both, if that is unknown.

    A group of no generation yet counts as subscribed to all topics.
    """
    if group is None or group.state in {GroupState.EMPTY, GroupState.DEAD}:
        return (False,)
    if group.subscribed is not None:
        return (_names(group.subscribed, topic),)
    if group.state is not GroupState.PREPARING:
        return (_names(group.topics(), topic),)
    if group.delay is not None:
        return (group.generation_id == 0,)
    stored = group.stored
    if (
        stored is not None
        and stored.state is GroupState.STABLE
        and stored.generation_id == group.generation_id
    ):
        return (_names(stored.topics(), topic),)
    unchanged = tuple(m for m in group.members if not m.new and m.joining is None)
    if unchanged and _names(replace(group, members=unchanged).topics(), topic):
        return (True,)
    return (False, True)


def _names(topics: tuple[str, ...], topic: str) -> bool:
    return topics == ALL_TOPICS or topic in topics


def deletion_points(
    group: Group | None,
    delete: OffsetDeleteRequest,
    topic: str | None,
    here: Availability,
    *,
    missing: bool,
    named: frozenset[tuple[str, int]],
) -> tuple[Point, ...]:
    """Make the points of one topic of an OffsetDelete; None where it names no topic.

    `named`: all partitions of topics that exist.
    """
    where = state(group)
    kept = group is not None and any((o.topic, o.partition) not in named for o in group.offsets)
    alone = group is None or where in {GroupState.EMPTY, GroupState.DEAD}
    consumers = alone or (group is not None and group.protocol_type == PROTOCOL_TYPE)
    uses = topic_uses(group, topic) if topic is not None and consumers else (False,)
    return tuple(
        (
            group_id(delete.group_id),
            here,
            where,
            consumers,
            missing,
            kept and where is GroupState.EMPTY,
            used,
        )
        for used in uses
    )


def retention_points(group: Group, topic: str) -> tuple[Point, ...]:
    """Make the points of the end of the retention of a topic's offsets."""
    alone = group.state is GroupState.EMPTY
    consumers = alone or group.protocol_type == PROTOCOL_TYPE
    uses = topic_uses(group, topic) if consumers else (False,)
    return tuple((group.state, consumers, used) for used in uses)


_RECORDS = {True: Record.FITS, False: Record.TOO_LARGE}


def _join_records(
    group: Group | None, join: JoinGroupRequest, change: Change, config: Config
) -> tuple[Record, ...]:
    """Compare the record of a replacement in Stable with the limit; both results, if unknown."""
    limit = config[RECORD_LIMIT]
    if group is None or limit is None or change is not Change.UNCHANGED:
        return (Record.FITS,)
    return tuple(
        _RECORDS[fits] for fits in group_fits(_taken_over(group, join), join.group_id, limit)
    )


def join_points(
    group: Group | None,
    join: JoinGroupRequest,
    version: int,
    config: Config,
    here: Availability = Availability.HERE,
    *,
    restart_needs_room: bool = False,
) -> tuple[Point, ...]:
    """Make the points of a join: several where a vote is tied, or a record's size unknown.

    `restart_needs_room`: like the revision's.
    """
    where = state(group)
    kind = mid(group, join.member_id)
    instance = inst(group, join.group_instance_id, join.member_id)
    offered = offer(group, join)
    low = config["group.min.session.timeout.ms"] or 0
    high = config["group.max.session.timeout.ms"] or 0
    session = Range.INSIDE if low <= join.session_timeout_ms <= high else Range.OUTSIDE
    subscription = Change.MEANINGLESS
    if group is not None and kind is Mid.MEMBER:
        member = group.member(join.member_id)
        assert member is not None
        same = member.protocols == join.protocols
        subscription = Change.UNCHANGED if same else Change.CHANGED
    changes: tuple[Change, ...] = (Change.MEANINGLESS,)
    if (
        where is GroupState.STABLE
        and kind is Mid.EMPTY
        and instance is Inst.OTHER
        and offered is Offer.SUPPORTED
    ):
        assert group is not None
        changes = selections(group, join)
    free = room(
        group,
        join,
        instance,
        config["group.max.size"],
        restart_needs_room=restart_needs_room,
    )
    return tuple(
        (
            version,
            group_id(join.group_id),
            here,
            session,
            where,
            kind,
            instance,
            role(group, kind, join.member_id, join.group_instance_id),
            offered,
            subscription,
            change,
            free,
            record,
        )
        for change in changes
        for record in _join_records(group, join, change, config)
    )


def sync_points(
    group: Group | None,
    sync: SyncGroupRequest,
    version: int,
    config: Config,
    here: Availability = Availability.HERE,
) -> tuple[Point, ...]:
    """Make the points of a sync: two where the size of the record is unknown."""
    kind = mid(group, sync.member_id)
    null = sync.protocol_type is None or sync.protocol_name is None
    different = group is not None and (
        (sync.protocol_type is not None and sync.protocol_type != group.protocol_type)
        or (sync.protocol_name is not None and sync.protocol_name != group.protocol_name)
    )
    sender = role(group, kind, sync.member_id, sync.group_instance_id)
    records: tuple[bool, ...] = (True,)
    if group is not None and group.state is GroupState.COMPLETING and sender is Role.LEADER:
        records = group_fits(assign(group, sync), sync.group_id, config[RECORD_LIMIT])
    return tuple(
        (
            version,
            Given.NULL if null else Given.GIVEN,
            group_id(sync.group_id),
            here,
            state(group),
            kind,
            inst(group, sync.group_instance_id, sync.member_id),
            sender,
            generation(group, sync.generation_id),
            Fit.DIFFERENT if different else Fit.MATCHING,
            _RECORDS[record],
        )
        for record in records
    )


def member_point(
    group: Group | None,
    request: HeartbeatRequest | CommitRequest,
    here: Availability = Availability.HERE,
) -> Point:
    """Make the point of a heartbeat, or the middle part of a commit's."""
    return (
        group_id(request.group_id),
        here,
        state(group),
        mid(group, request.member_id),
        inst(group, request.group_instance_id, request.member_id),
        generation(group, request.generation_id),
    )


def commit_points(
    group: Group | None,
    version: int,
    commit: CommitRequest,
    kept: CommitRequest,
    config: Config,
    here: Availability = Availability.HERE,
) -> tuple[Point, ...]:
    """Make the points of a commit: two where the size of the record is unknown.

    `kept`: the commit without topics that don't exist, and without metadata that are too long.
    Only a commit outside of a transaction is decided by its version.
    """
    known = {t.name for t in kept.topics}
    most = config[METADATA_LIMIT]
    long = any(is_long(p, most) for t in commit.topics if t.name in known for p in t.partitions)
    versions = (version,) if isinstance(commit, OffsetCommitRequest) else ()
    return tuple(
        (
            *versions,
            not known and bool(commit.topics),
            *member_point(group, commit, here),
            _RECORDS[fits],
            long,
        )
        for fits in commit_fits(kept, config[RECORD_LIMIT])
    )


def leaving_point(group: Group, member_id: str, group_instance_id: str | None) -> Point:
    """Make the point of one row of a leave."""
    return (group.state, mid(group, member_id), inst(group, group_instance_id, member_id))


def session_point(group: Group, subject: str) -> Point:
    """Make the point of a session timeout."""
    if subject in group.pending:
        return (group.state, Subject.PENDING)
    member = group.member(subject)
    assert member is not None
    if member.new:
        return (group.state, Subject.NEW)
    waits = member.joining is not None or member.syncing is not None
    return (group.state, Subject.WAITING if waits else Subject.IDLE)


def join_phase_point(group: Group, trigger: Trigger) -> Point:
    """Make the point of the join phase."""
    if group.delay is None:
        delay = Delay.NONE
    else:
        more = group.delay.somebody_came and group.delay.remaining_ms > 0
        delay = Delay.EXTENDABLE if more else Delay.LAST
    waiting = group.waiting()
    if waiting == len(group.members) and not group.pending:
        parked = Parked.ALL
    else:
        parked = Parked.SOME if waiting else Parked.NOBODY
    stays = waiting or any(m.is_static for m in kinds(group.members))
    absent_too = trigger is Trigger.CHECK and bool(group.members)
    return (trigger, delay, parked, Left.SOMEBODY if stays or absent_too else Left.NOBODY)


def sync_phase_point(group: Group) -> Point:
    """Make the point of the sync phase, whose timer expires."""
    dynamic = any(m.owes_sync and not m.is_static for m in kinds(group.members))
    return (group.state, Late.DYNAMIC if dynamic else Late.STATIC)


def stored(group: Group | None) -> Stored:
    """Return the state that another coordinator would load in a failover."""
    if group is None or (group.stored is None and not group.offsets):
        return Stored.NOTHING
    if group.stored is None:
        return Stored.OFFSETS
    return Stored.STABLE if group.stored.state is GroupState.STABLE else Stored.EMPTY


LEADERS_SYNC: Point = (
    0,
    Given.GIVEN,
    GroupId.GIVEN,
    Availability.HERE,
    GroupState.COMPLETING,
    Mid.MEMBER,
    Inst.NONE,
    Role.LEADER,
    Generation.EQUAL,
    Fit.MATCHING,
    Record.FITS,
)
"""The point of the leader's sync after its assignments are written."""
