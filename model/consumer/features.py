"""Turn a request on a group of the consumer protocol into a point: the features of its table.

Where members tie for the group's preferred assignor, there are several points.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from fencepost.model.consumer.answer_bodies import is_full
from fencepost.model.consumer.expressions import is_refused
from fencepost.model.consumer.group import RELEASED_EPOCH, ConsumerGroup, Member
from fencepost.model.consumer.settings import MAX_SIZE
from fencepost.model.consumer.topics import NO_IDS, TopicIds, partitions_in
from fencepost.model.consumer.vocabulary import (
    Assignor,
    Caller,
    Change,
    Epoch,
    Fields,
    Holder,
    Inst,
    Kind,
    Leave,
    MemberEpoch,
    Mid,
    Owned,
    Since,
    Stored,
    Subject,
)
from fencepost.model.coordinator import Config
from fencepost.model.messages.consumer_messages import ConsumerGroupHeartbeatRequest
from fencepost.model.messages.messages import (
    CommitRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
)
from fencepost.model.messages.streams_messages import StreamsGroupHeartbeatRequest
from fencepost.model.messages.subscription import TopicPartition
from fencepost.model.table.expr import Point
from fencepost.model.table.shared_features import Availability, GroupId, Room

ASSIGNORS = ("uniform", "range")
"""The server's assignors; the first is the default."""


def group_id(value: str | None) -> GroupId:
    """Compare the group id with none and the empty string."""
    if value is None:
        return GroupId.NULL
    return GroupId.GIVEN if value else GroupId.EMPTY


def kind(group: ConsumerGroup | None) -> Kind:
    """Return the kind of group that there is."""
    if group is None:
        return Kind.ABSENT
    if group.is_simple:
        return Kind.SIMPLE
    return Kind.CONSUMER if group.members else Kind.EMPTY


def mid(group: ConsumerGroup | None, member_id: str) -> Mid:
    """Look the member id up in the group."""
    if not member_id:
        return Mid.EMPTY
    return Mid.UNKNOWN if group is None or group.member(member_id) is None else Mid.MEMBER


def inst(group: ConsumerGroup | None, instance_id: str | None, member_id: str) -> Inst:
    """Look the instance up in the static map."""
    if instance_id is None:
        return Inst.NONE
    holder = None if group is None else group.holder(instance_id)
    if group is None or holder is None:
        return Inst.UNMAPPED
    if group.member(holder) is None:
        return Inst.DANGLING
    return Inst.OWN if holder == member_id else Inst.OTHER


def _holder_member(group: ConsumerGroup | None, instance_id: str | None) -> Member | None:
    if group is None or instance_id is None:
        return None
    return group.member(group.holder(instance_id) or "")


def holder(group: ConsumerGroup | None, instance_id: str | None) -> Holder:
    """Return the state of the instance's holder."""
    member = _holder_member(group, instance_id)
    if member is None:
        return Holder.NOBODY
    if member.is_released:
        return Holder.RELEASED
    return Holder.LIVE if member.classic is None else Holder.CLASSIC


def caller(group: ConsumerGroup | None, member_id: str) -> Caller:
    """Return the kind of the member of this id."""
    member = None if group is None else group.member(member_id)
    if member is None:
        return Caller.NOBODY
    if member.is_released:
        return Caller.RELEASED
    return Caller.STATIC if member.is_static else Caller.DYNAMIC


def room(group: ConsumerGroup | None, config: Config) -> Room:
    """Compare the group with group.consumer.max.size."""
    limit = config[MAX_SIZE]
    full = group is not None and limit is not None and len(group.members) >= limit
    return Room.FULL if full and group is not None and group.members else Room.FREE


def has_blank_id(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Return True if the instance id or the rack id is there and is empty."""
    return "" in (request.instance_id, request.rack_id)


def fields(join: ConsumerGroupHeartbeatRequest) -> Fields:
    """Check that a join has a rebalance timeout, a subscription, and owns nothing."""
    if join.topic_partitions is None or join.topic_partitions:
        return Fields.OWNING
    return Fields.COMPLETE if is_full(join) else Fields.INCOMPLETE


def compared(
    group: ConsumerGroup | None,
    request: ConsumerGroupHeartbeatRequest | StreamsGroupHeartbeatRequest,
) -> Member | None:
    """Return the member whose subscription and assignor those of the request would replace."""
    if group is None:
        return None
    where = inst(group, request.instance_id, request.member_id)
    if where is Inst.OTHER:
        is_live = holder(group, request.instance_id) is Holder.LIVE
        return None if is_live else _holder_member(group, request.instance_id)
    return None if where is Inst.DANGLING else group.member(request.member_id)


NEW = Member(member_id="", instance_id=None, client_id="", rebalance_timeout_ms=0)
"""A member before its join: it subscribes to nothing."""


def change(member: Member | None, request: ConsumerGroupHeartbeatRequest) -> Change:
    """Compare the subscription with that of a member; None: there is nothing to compare."""
    if member is None:
        return Change.MEANINGLESS
    names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
    same = (names is None or tuple(sorted(set(names))) == member.topics) and (
        regex is None or regex == member.regex
    )
    if regex and regex != member.regex and is_refused(regex):
        return Change.UNREADABLE
    return Change.UNCHANGED if same else Change.CHANGED


def assignors(
    group: ConsumerGroup | None, member: Member | None, name: str | None
) -> tuple[Assignor, ...]:
    """Compare the assignor that is requested for; both results where members tie.

    `member`: the one that asks, or is replaced by the one that asks.  Who asks for none asks for
    the same as before.  Its vote is taken away and given again: in a tie that may turn the order
    of the assignors, if nobody else asks for this one.
    """
    if name is not None and name not in ASSIGNORS:
        return (Assignor.UNKNOWN,)
    requested = "" if member is None else name or member.assignor
    if member is None or not requested:
        return (Assignor.KNOWN,)
    votes = {m.member_id: m.assignor for m in (() if group is None else group.members)}
    before = preferred(votes.values())
    is_same = votes.pop(member.member_id, "") == requested
    after = preferred([*votes.values(), requested])
    if before == after and (len(before) == 1 or (is_same and requested in votes.values())):
        return (Assignor.KNOWN,)
    both = set(before) & set(after)
    return (Assignor.KNOWN, Assignor.ANOTHER) if both else (Assignor.ANOTHER,)


def preferred(names: Iterable[str]) -> tuple[str, ...]:
    """Return the assignors that most members ask for; the default if nobody asks for any."""
    votes = Counter(name for name in names if name)
    most = max(votes.values(), default=0)
    return tuple(n for n in ASSIGNORS if most and votes[n] == most) or ASSIGNORS[:1]


def join_points(
    group: ConsumerGroup | None,
    join: ConsumerGroupHeartbeatRequest,
    version: int,
    config: Config,
    here: Availability,
) -> tuple[Point, ...]:
    """Make the points of a join."""
    member_id, instance_id = join.member_id, join.instance_id
    member = None if group is None else group.member(member_id)
    mine = compared(group, join)
    is_alone = inst(group, instance_id, member_id) in {Inst.NONE, Inst.UNMAPPED}
    is_new = member is None and is_alone
    subscription = change(NEW if is_new else mine, join)
    is_idle = is_new and subscription is Change.UNCHANGED
    return tuple(
        (
            version,
            group_id(join.group_id),
            has_blank_id(join),
            fields(join),
            assignor,
            here,
            kind(group),
            room(group, config),
            mid(group, member_id),
            inst(group, instance_id, member_id),
            holder(group, instance_id),
            caller(group, member_id),
            member is not None and group is not None and group.is_reconciled(member),
            subscription,
        )
        for assignor in assignors(group, NEW if is_idle else mine, join.server_assignor)
    )


def owned_partitions(
    group: ConsumerGroup | None, request: ConsumerGroupHeartbeatRequest, ids: TopicIds = NO_IDS
) -> frozenset[TopicPartition] | None:
    """Return the partitions that the caller says it owns; None: it doesn't say."""
    if request.topic_partitions is None:
        return None
    names = {p.topic for p in group.owned()} if group is not None else set()
    return frozenset(partitions_in(request.topic_partitions, names, ids))


def epoch(member: Member | None, value: int) -> Epoch:
    """Compare an epoch with a member's."""
    if member is None:
        return Epoch.MEANINGLESS
    if value == member.epoch:
        return Epoch.CURRENT
    if value > member.epoch:
        return Epoch.AFTER
    return Epoch.PREVIOUS if value == member.previous_epoch else Epoch.BEFORE


def owned(member: Member | None, partitions: frozenset[TopicPartition] | None) -> Owned:
    """Compare the owned partitions with those that a member is assigned."""
    if partitions is None:
        return Owned.NULL
    assigned = set() if member is None else set(member.partitions())
    return Owned.SUBSET if partitions <= assigned else Owned.EXCESS


def beat_points(
    group: ConsumerGroup | None,
    beat: ConsumerGroupHeartbeatRequest,
    config: Config,
    here: Availability,
    ids: TopicIds = NO_IDS,
) -> tuple[Point, ...]:
    """Make the points of a heartbeat with an epoch above 0."""
    member = None if group is None else group.member(beat.member_id)
    where = inst(group, beat.instance_id, beat.member_id)
    mine = None if where in {Inst.OTHER, Inst.DANGLING} else member
    return tuple(
        (
            group_id(beat.group_id),
            has_blank_id(beat),
            assignor,
            here,
            kind(group),
            room(group, config),
            mid(group, beat.member_id),
            where,
            epoch(member, beat.member_epoch),
            owned(member, owned_partitions(group, beat, ids)),
            change(mine, beat),
        )
        for assignor in assignors(group, mine, beat.server_assignor)
    )


def leave_point(
    group: ConsumerGroup | None,
    leave: ConsumerGroupHeartbeatRequest,
    version: int,
    here: Availability,
) -> Point:
    """Make the point of a heartbeat with an epoch below 0."""
    value = leave.member_epoch
    asks = Leave.FOR_GOOD if value == -1 else Leave.BELOW
    (assignor,) = assignors(None, None, leave.server_assignor)
    return (
        version,
        group_id(leave.group_id),
        has_blank_id(leave),
        Leave.RELEASE if value == RELEASED_EPOCH else asks,
        assignor,
        here,
        kind(group),
        mid(group, leave.member_id),
        inst(group, leave.instance_id, leave.member_id),
        caller(group, leave.member_id),
    )


def removal_point(group: ConsumerGroup, member_id: str, instance_id: str | None) -> Point:
    """Make the point of one row of a LeaveGroup."""
    return (kind(group), mid(group, member_id), inst(group, instance_id, member_id))


def subject_point(group: ConsumerGroup, member_id: str) -> Point:
    """Make the point of a timer that expired."""
    member = group.member(member_id)
    assert member is not None
    return (Subject.RELEASED if member.is_released else Subject.LIVE,)


def member_epoch(member: Member | None, value: int) -> MemberEpoch:
    """Compare the epoch of a commit or fetch with a member's."""
    if member is None:
        below = MemberEpoch.NEGATIVE if value == -1 else MemberEpoch.BELOW
        return MemberEpoch.POSITIVE if value >= 0 else below
    if value == member.epoch:
        return MemberEpoch.EQUAL
    return MemberEpoch.AFTER if value > member.epoch else MemberEpoch.BEFORE


def commit_point(
    group: ConsumerGroup | None,
    commit: CommitRequest,
    version: int,
    here: Availability,
    *,
    missing: bool = False,
    unknown: bool = False,
) -> Point:
    """Make the point of a commit.

    `missing`: none of its topics exists.  `unknown`: it names topics by ids, and none has any.
    """
    member = None if group is None else group.member(commit.member_id)
    epochs = member_epoch(member, commit.generation_id)
    who = (
        kind(group),
        mid(group, commit.member_id),
        inst(group, commit.group_instance_id, commit.member_id),
        caller(group, commit.member_id),
    )
    if isinstance(commit, OffsetCommitRequest):
        return (version, unknown, missing, here, *who, epochs)
    return (missing, group_id(commit.group_id), here, *who, epochs)


def since(member: Member | None, partition: TopicPartition, value: int) -> Since:
    """Compare the epoch since which a partition is a member's with that of a commit.

    One that it is to give up is its own until then.
    """
    own = {} if member is None else dict((*member.assigned, *member.revoking))
    if partition not in own:
        return Since.NEVER
    return Since.BEFORE if own[partition] <= value else Since.AFTER


def deletion_point(
    group: ConsumerGroup | None,
    delete: OffsetDeleteRequest,
    topic: str | None,
    here: Availability,
    *,
    missing: bool,
) -> Point:
    """Make the point of one topic of an OffsetDelete; None where it names no topic."""
    members = () if group is None else group.members
    subscribed = any(topic in member.topics for member in members)
    return (group_id(delete.group_id), here, kind(group), missing, subscribed)


def fetch_point(
    group: ConsumerGroup | None, member_id: str | None, value: int, here: Availability
) -> Point:
    """Make the point of a fetch; `member_id` None: it names none."""
    member = None if group is None or member_id is None else group.member(member_id)
    who = Mid.EMPTY if member_id is None else Mid.UNKNOWN if member is None else Mid.MEMBER
    return (here, kind(group), who, member_epoch(member, value))


def stored(group: ConsumerGroup | None) -> Stored:
    """Return the state that another coordinator would load in a failover."""
    return Stored.NOTHING if group is None else Stored.GROUP
