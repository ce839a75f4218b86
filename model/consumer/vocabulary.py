"""Define the features of the consumer protocol's guards, and which values can occur together.

A ConsumerGroupHeartbeat joins with epoch 0, leaves with -1 or -2, and else is a heartbeat proper:
three tables, each with some of these features.  `feasible` accepts the combinations that can occur.

Words: mid = memberId, inst = instanceId.  The holder of an instance is the member id that it is
mapped to.  A holder that left with -2 is released, any other is live.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from fencepost.model.table.expr import Column, Feature
from fencepost.model.table.shared_features import ROOM, Room, Word


class Kind(Word):
    """The group that the request names.

    SIMPLE: a commit made it, and nobody was ever a member; it is none of this protocol yet.
    """

    ABSENT = "absent"
    SIMPLE = "of offsets alone"
    EMPTY = "without members"
    CONSUMER = "with members"


class Mid(Word):
    """Result of comparing the request's memberId with the group."""

    EMPTY = '""'
    MEMBER = "a member"
    UNKNOWN = "unknown"


class Inst(Word):
    """Result of comparing the request's instanceId with the static map.

    DANGLING: mapped to an id that is no member any more, as releases up to 4.3.1 leave it.
    """

    NONE = "none"
    UNMAPPED = "unmapped"
    OWN = "mapped to this member"
    OTHER = "mapped to another"
    DANGLING = "mapped to nobody's id"


class Holder(Word):
    """State of the member that the instance is mapped to.

    CLASSIC: it joined by JoinGroup, and is not released.
    """

    NOBODY = "nobody"
    LIVE = "live"
    RELEASED = "released"
    CLASSIC = "of the classic protocol"


class Caller(Word):
    """Kind of the member that the member id of the request is of.

    Up to 4.3.1 an instance can be mapped to a dynamic member, whose id was a static one's before.
    """

    NOBODY = "no member"
    DYNAMIC = "dynamic"
    STATIC = "static"
    RELEASED = "released"


class Epoch(Word):
    """Result of comparing the epoch of a heartbeat, which is above 0, with the caller's."""

    MEANINGLESS = "not asked"
    BEFORE = "older"
    PREVIOUS = "the previous one"
    CURRENT = "the current one"
    AFTER = "newer"


class Leave(Word):
    """Meaning of an epoch below 0."""

    FOR_GOOD = "-1, for good"
    RELEASE = "-2, for a while"
    BELOW = "below -2"


class Owned(Word):
    """Result of comparing the partitions that the caller owns with its assigned ones."""

    NULL = "null"
    SUBSET = "within the assigned"
    EXCESS = "more than the assigned"


class Fields(Word):
    """Presence of what a join must have: an empty owned list, rebalance timeout, subscription.

    OWNING: the list isn't empty, or isn't there; INCOMPLETE: the list is empty, another is missing.
    """

    COMPLETE = "complete"
    OWNING = "owning"
    INCOMPLETE = "incomplete"


class Assignor(Word):
    """Result of comparing the server assignor that is asked for with the broker's and the group's.

    ANOTHER: if the group takes this request, the assignor that most members ask for is another one.
    """

    KNOWN = "known or none"
    UNKNOWN = "unknown"
    ANOTHER = "changes the group's preferred one"


class Change(Word):
    """Result of comparing the subscription with that of the caller, or of the holder it replaces.

    A subscription of null is unchanged.  UNREADABLE: it has another expression, which is invalid.
    """

    MEANINGLESS = "not asked"
    UNCHANGED = "unchanged"
    CHANGED = "changed"
    UNREADABLE = "changed to an invalid expression"


class MemberEpoch(Word):
    """Result of comparing the epoch of a commit or fetch with the member's.

    NEGATIVE, BELOW and POSITIVE: there is no member to compare with.  A released member has epoch
    -2.
    """

    NEGATIVE = "none, which is -1"
    BELOW = "of nobody, below -1"
    POSITIVE = "of nobody, 0 or above"
    BEFORE = "older"
    EQUAL = "the current one"
    AFTER = "newer"


class Since(Word):
    """Result of comparing the epoch since which a partition is the member's with that of a commit.

    NEVER: it is not the member's.
    """

    BEFORE = "the same or older"
    AFTER = "newer"
    NEVER = "never"


class Subject(Word):
    """State of the member whose timer expired."""

    LIVE = "a live member"
    RELEASED = "a released member"


class Stored(Word):
    """State that another coordinator loads in a failover; each change is written at once."""

    NOTHING = "nothing"
    GROUP = "a group"


KIND = Feature("group", tuple(Kind), "the group")
MID = Feature("mid", tuple(Mid), "the memberId of the request")
INST = Feature("inst", tuple(Inst), "the instanceId of the request")
HOLDER = Feature("holder", tuple(Holder), "the member that the instance is mapped to")
CALLER = Feature("caller", tuple(Caller), "the member of this id")
RECONCILED = Feature(
    "reconciled", (False, True), "whether the caller has taken over its target, all of it"
)
CHANGE = Feature("subscription", tuple(Change), "the subscription against the one before")
ASSIGNOR = Feature("assignor", tuple(Assignor), "the server assignor that is asked for")
EPOCH = Feature("epoch", tuple(Epoch), "the epoch against the caller's")
LEAVE = Feature("epoch", tuple(Leave), "the epoch, below 0")
OWNED = Feature("owned", tuple(Owned), "the owned partitions against the assigned ones")
FIELDS = Feature("fields", tuple(Fields), "the fields of a join")
BLANK = Feature("blank id", (False, True), 'whether the instance id or the rack id is ""')
MEMBER_EPOCH = Feature("epoch", tuple(MemberEpoch), "the epoch against the member's")
TOPIC_IDS = Feature(
    "topic ids all unknown", (False, True), "whether no topic has any id of a commit"
)
SINCE = Feature("assigned since", tuple(Since), "since when the partition is the member's")
SUBSCRIBED = Feature("subscribed", (False, True), "whether a member subscribes to the topic")
SUBJECT = Feature("subject", tuple(Subject), "whose timer expired")
STORED = Feature("stored", tuple(Stored), "what a failover finds")


def _is_first_epoch(group: Any, member_id: str, _: str | None) -> bool:
    member = None if group is None else group.member(member_id)
    return member is not None and member.epoch > 0 and member.previous_epoch == 0


FIRST_EPOCH = Column(
    "first epoch",
    (False, True),
    "whether the caller's previous epoch is 0, so that its first join may be sent again",
    _is_first_epoch,
)
"""A column for releases that compare the epoch of a join, too."""

JOIN_TABLE = "ConsumerGroupHeartbeat join"
BEAT_TABLE = "ConsumerGroupHeartbeat"
LEAVE_TABLE = "ConsumerGroupHeartbeat leave"
REMOVAL_TABLE = "LeaveGroup member"
MEMBER_TABLES = (JOIN_TABLE, BEAT_TABLE, LEAVE_TABLE, REMOVAL_TABLE)
"""The tables of requests about one member: they may have a `Column`."""

RELATED: tuple[Feature, ...] = (
    KIND,
    MID,
    INST,
    HOLDER,
    CALLER,
    RECONCILED,
    CHANGE,
    ASSIGNOR,
    EPOCH,
    MEMBER_EPOCH,
    ROOM,
)
"""Features some of whose values can't occur together; `feasible` uses no others."""

_MEMBERLESS = frozenset({Kind.ABSENT, Kind.SIMPLE, Kind.EMPTY})
_MAPPED = frozenset({Inst.OWN, Inst.OTHER})
_OF_NOBODY = frozenset({MemberEpoch.NEGATIVE, MemberEpoch.BELOW, MemberEpoch.POSITIVE})


def feasible(answers: dict[int, Hashable]) -> bool:
    """Return True if these values (by feature identity) can occur together.

    Impossible are: members, mapped instances or a full group where there are no members; an
    instance mapped to the caller when the caller is no member; a holder without a mapped instance;
    an epoch, a subscription or an assignor to compare without a member to compare with (a new
    member's subscription is compared with none at all, and its assignor counts only where that is
    equal); a released member that is reconciled.
    """

    def get(feature: Feature) -> Hashable:
        return answers.get(id(feature))

    kind, mid, inst, caller = get(KIND), get(MID), get(INST), get(CALLER)
    if kind in _MEMBERLESS and (mid is Mid.MEMBER or inst in _MAPPED or get(ROOM) is Room.FULL):
        return False
    if kind in {Kind.ABSENT, Kind.SIMPLE} and inst is Inst.DANGLING:
        return False
    if inst is Inst.OWN and mid not in {Mid.MEMBER, None}:
        return False
    if caller is not None and (caller is Caller.NOBODY) is (mid is Mid.MEMBER):
        return False
    if not _is_feasible_holder(get(HOLDER), inst, caller):
        return False
    if get(RECONCILED) is True and caller in {Caller.NOBODY, Caller.RELEASED}:
        return False
    if (epoch := get(MEMBER_EPOCH)) is not None and (epoch in _OF_NOBODY) is (mid is Mid.MEMBER):
        return False
    if (epoch := get(EPOCH)) is not None and (epoch is Epoch.MEANINGLESS) is (mid is Mid.MEMBER):
        return False
    is_join = get(EPOCH) is None
    return _is_feasible_change(get(CHANGE), get(ASSIGNOR), get(HOLDER), mid, inst, is_join=is_join)


def _is_feasible_holder(holder: Hashable, inst: Hashable, caller: Hashable) -> bool:
    if holder is None:
        return True
    if (holder is Holder.NOBODY) is (inst in _MAPPED):
        return False
    if inst is Inst.OWN:
        return (holder is Holder.RELEASED) is (caller is Caller.RELEASED)
    return True


def _is_feasible_change(
    change: Hashable,
    assignor: Hashable,
    holder: Hashable,
    mid: Hashable,
    inst: Hashable,
    *,
    is_join: bool,
) -> bool:
    if change is None:
        return True
    alone = inst in {Inst.NONE, Inst.UNMAPPED}
    own = mid is Mid.MEMBER and (alone or inst is Inst.OWN)
    comparable = own or (inst is Inst.OTHER and holder in {Holder.RELEASED, Holder.CLASSIC})
    is_new = is_join and mid in {Mid.EMPTY, Mid.UNKNOWN} and alone
    if (comparable or is_new) is (change is Change.MEANINGLESS):
        return False
    is_idle = is_new and change is Change.UNCHANGED
    return comparable or is_idle or assignor is not Assignor.ANOTHER
