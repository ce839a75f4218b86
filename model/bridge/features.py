"""Turn a request of a classic member in a consumer group into a point, and a conversion, too."""

from __future__ import annotations

from fencepost.model.bridge.vocabulary import Cause, Offer, Rejoin, Sender
from fencepost.model.classic.group import Group
from fencepost.model.consumer import features
from fencepost.model.consumer.group import ConsumerGroup, Member, Phase
from fencepost.model.consumer.settings import MAX_SIZE
from fencepost.model.coordinator import MIGRATION_POLICY, NAMED_VALUES, Config
from fencepost.model.messages.messages import HeartbeatRequest, JoinGroupRequest, SyncGroupRequest
from fencepost.model.messages.subscription import (
    PROTOCOL_TYPE,
    ProtocolReader,
    Subscription,
    assignment_fault,
    decode_subscription,
)
from fencepost.model.table.expr import Point
from fencepost.model.table.shared_features import Availability

_PROTOCOL_SINCE = 5
"""The first version of SyncGroup that names protocol type and name."""


def policy(config: Config) -> str:
    """Return the name of the migration policy."""
    return NAMED_VALUES[MIGRATION_POLICY][config[MIGRATION_POLICY] or 0]


def subscription(join: JoinGroupRequest) -> Subscription | None:
    """Return what a join subscribes to; None: it can't be read."""
    if not join.protocols:
        return None
    try:
        return decode_subscription(join.protocols[0].metadata)
    except ValueError:
        return None


def offer(group: ConsumerGroup, join: JoinGroupRequest) -> Offer:
    """Compare the protocols of a join with those of the other classic members."""
    names = {p.name for p in join.protocols}
    for member in group.members:
        if member.classic is not None and member.member_id != join.member_id:
            names &= {p.name for p in member.classic.protocols}
    if join.protocol_type != PROTOCOL_TYPE or not names:
        return Offer.UNSUPPORTED
    return Offer.BROKEN if subscription(join) is None else Offer.SUPPORTED


def join_point(
    group: ConsumerGroup, join: JoinGroupRequest, version: int, config: Config, here: Availability
) -> Point:
    """Make the point of a join."""
    return (
        version,
        here,
        policy(config) != "disabled",
        features.room(group, config),
        offer(group, join),
        features.mid(group, join.member_id),
        features.inst(group, join.group_instance_id, join.member_id),
    )


def rejoin(group: ConsumerGroup, member: Member | None) -> Rejoin:
    """Return the reason for which a member must join again.

    The share of a member that has the epoch of the target is decided, also where others are open.
    """
    if member is None:
        return Rejoin.NONE
    if member.phase is Phase.UNREVOKED:
        return Rejoin.REVOKE
    if member.epoch < group.target_epoch:
        return Rejoin.TARGET
    if member.phase is Phase.UNRELEASED:
        missing = set(group.target_of(member.member_id)) - set(member.partitions())
        if not missing & set(group.owned()):
            return Rejoin.FREE
    return Rejoin.EPOCH if member.epoch < group.epoch else Rejoin.NONE


def sender_point(
    group: ConsumerGroup,
    request: HeartbeatRequest | SyncGroupRequest,
    version: int,
    here: Availability,
) -> Point:
    """Make the point of a heartbeat or a sync."""
    member = group.member(request.member_id)
    kind = Sender.NOBODY
    if member is not None:
        kind = Sender.CONSUMER if member.classic is None else Sender.CLASSIC
    point: Point = (
        here,
        features.mid(group, request.member_id),
        features.inst(group, request.group_instance_id, request.member_id),
        kind,
        member is not None and member.epoch == request.generation_id,
    )
    if isinstance(request, SyncGroupRequest):
        point = (_names_protocol(request, version), *point, _has_protocol(member, request, version))
    return (*point, rejoin(group, member))


def _names_protocol(sync: SyncGroupRequest, version: int) -> bool:
    """Return True if a sync names a protocol, or is of a version without names."""
    return version < _PROTOCOL_SINCE or None not in {sync.protocol_type, sync.protocol_name}


def _has_protocol(member: Member | None, sync: SyncGroupRequest, version: int) -> bool:
    """Return True if a sync names its member's protocol, or is of a version without names."""
    if member is None or member.classic is None:
        return False
    names = PROTOCOL_TYPE, member.classic.protocols[0].name
    return version < _PROTOCOL_SINCE or (sync.protocol_type, sync.protocol_name) == names


def upgrade_point(group: Group, config: Config) -> Point:
    """Make the point of an upgrade."""
    limit = config[MAX_SIZE]
    return (
        bool(group.members),
        policy(config) in {"upgrade", "bidirectional"},
        group.protocol_type == PROTOCOL_TYPE,
        limit is None or len(group.members) <= limit,
        all(_is_plain(member.assignment) for member in group.members),
    )


def _is_plain(assignment: bytes) -> bool:
    """Return True if an assignment has no data of its assignor."""
    if not assignment or assignment_fault(assignment):
        return True
    reader = ProtocolReader(assignment[2:])
    reader.partitions()
    return not reader.bytes_or_none()


def downgrade_point(group: ConsumerGroup, cause: Cause, config: Config) -> Point:
    """Make the point of a downgrade."""
    limit = config["group.max.size"]
    return (
        cause,
        policy(config) in {"downgrade", "bidirectional"},
        limit is None or len(group.members) <= limit,
    )
