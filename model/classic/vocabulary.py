"""Define the features of the classic protocol's guards, and which values can occur together.

Features of several protocols are in `fencepost.model.table.shared_features`.  Each table has some
of these features; a point is one value for each.  `feasible` accepts the combinations that can
occur; the test that tables are total enumerates exactly those.

Words: mid = member.id, inst = group.instance.id.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from fencepost.model.table.expr import Column, Feature
from fencepost.model.table.shared_features import INST, RECORD, ROOM, Inst, Record, Room, Word


class GroupState(Word):
    """State of a group, by Kafka's names; ABSENT: no such group."""

    ABSENT = "absent"
    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class Mid(Word):
    """Result of comparing the request's member.id with the group."""

    EMPTY = '""'
    PENDING = "pending"
    MEMBER = "a member"
    UNKNOWN = "unknown"


class Role(Word):
    """Role of the caller in the group, or of the instance that it takes over."""

    NOBODY = "nobody"
    FOLLOWER = "follower"
    LEADER = "leader"


class Offer(Word):
    """Result of the protocol check of a join."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"


class Change(Word):
    """Result of comparing a value with the one before."""

    MEANINGLESS = "not asked"
    UNCHANGED = "unchanged"
    CHANGED = "changed"


class Range(Word):
    """Result of comparing a setting with its bounds."""

    INSIDE = "in range"
    OUTSIDE = "out of range"


class Generation(Word):
    """Result of comparing the request's generation with the group's."""

    NEGATIVE = "negative"
    BEFORE = "before"
    EQUAL = "equal"
    AFTER = "after"


class Given(Word):
    """Presence of fields that may be null."""

    GIVEN = "given"
    NULL = "null"


class Fit(Word):
    """Result of comparing protocol type and name of a sync with the group's."""

    MATCHING = "matching"
    DIFFERENT = "different"


class Trigger(Word):
    """Reason for a check of the join phase's end."""

    CHECK = "the group changed"
    EXPIRY = "the timer expired"


class Delay(Word):
    """State of the initial delay of a rebalance from Empty."""

    NONE = "not running"
    EXTENDABLE = "extendable"
    LAST = "used up"


class Parked(Word):
    """Number of members that have a parked join."""

    NOBODY = "no member has a parked join"
    SOME = "some members have parked joins"
    ALL = "all members have parked joins"


class Left(Word):
    """Number of members without the absent dynamic members."""

    NOBODY = "no member is left"
    SOMEBODY = "a member is left"


class Subject(Word):
    """Owner of the session that expired."""

    PENDING = "a pending id"
    NEW = "a member that never completed a join"
    WAITING = "a member with a parked request"
    IDLE = "a member without a parked request"


class Late(Word):
    """Members that owe a sync when the wait for syncs ends."""

    DYNAMIC = "some dynamic member"
    STATIC = "static members alone"


class Membership(Word):
    """Kind of the member that the member id of the request is of."""

    NONE = "no member"
    DYNAMIC = "dynamic"
    STATIC = "static"


class Stored(Word):
    """State of a group that another coordinator loads in a failover."""

    NOTHING = "nothing"
    OFFSETS = "offsets alone"
    EMPTY = "an Empty group"
    STABLE = "a Stable group"


STATE = Feature("state", tuple(GroupState), "the state of the group")
SYNCING_STATE = Feature(
    "state",
    (GroupState.COMPLETING, GroupState.STABLE),
    "the state of the group, where syncs are waited for",
)
LATE = Feature(
    "late", (Late.DYNAMIC, Late.STATIC), "who was given the generation and has not sent SyncGroup"
)
MID = Feature("mid", tuple(Mid), "the member.id of the request")
ROLE = Feature("caller", tuple(Role), "what the caller, or the instance that it takes over, is")
SESSION = Feature("session timeout", tuple(Range), "against the broker's bounds")
OFFER = Feature("offer", tuple(Offer), "the protocol check")
SUBSCRIPTION = Feature("protocols", tuple(Change), "the offered protocols against the member's own")
SELECTION = Feature("selected protocol", tuple(Change), "the vote with this offer, in Stable")
GENERATION = Feature("generation", tuple(Generation), "against the group's")
PROTOCOL_FIELDS = Feature("protocol fields", tuple(Given), "protocol type and name of a sync")
PROTOCOL_FIT = Feature("protocol", tuple(Fit), "protocol type and name against the group's")
TRIGGER = Feature("trigger", tuple(Trigger), "cause of the check of the join phase", says_all=True)
DELAY = Feature("initial delay", tuple(Delay), "the wait of a rebalance from Empty")
PARKED = Feature(
    "parked", tuple(Parked), "members with a parked join; all: none pending too", says_all=True
)
LEFT = Feature(
    "left", tuple(Left), "members once absent dynamic ones are taken away", says_all=True
)
SUBJECT = Feature("subject", tuple(Subject), "whose session expired")
CONSUMERS = Feature("consumers", (False, True), "whether the members are consumers, by their type")
SUBSCRIBED = Feature("subscribed", (False, True), "whether some member may read the topic")
REMAINING = Feature("other offsets", (False, True), "whether a deletion leaves offsets")
STORED = Feature("stored", tuple(Stored), "what a failover finds")


def _membership(group: Any, member_id: str, _: str | None) -> Membership:
    member = None if group is None else group.member(member_id)
    if member is None:
        return Membership.NONE
    return Membership.STATIC if member.is_static else Membership.DYNAMIC


MEMBERSHIP = Column(
    "membership",
    tuple(Membership),
    "state of the member with this id",
    _membership,
)
MEMBER_TABLES = (
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "OffsetCommit",
    "TxnOffsetCommit",
    "LeaveGroup member",
)
"""The tables of requests about one member: they may have a `Column`."""


_WITHOUT_MEMBERS = frozenset({GroupState.ABSENT, GroupState.EMPTY, GroupState.DEAD})
_WITHOUT_ANYONE = frozenset({GroupState.ABSENT, GroupState.DEAD})


RELATED: tuple[Feature, ...] = (
    STATE,
    MID,
    INST,
    ROLE,
    OFFER,
    SUBSCRIPTION,
    SELECTION,
    ROOM,
    GENERATION,
    RECORD,
    TRIGGER,
    DELAY,
    PARKED,
    LEFT,
    SUBJECT,
    CONSUMERS,
    SUBSCRIBED,
    REMAINING,
    MEMBERSHIP,
)
"""Features some of whose values can't occur together; `feasible` uses no others."""


def feasible(answers: dict[int, Hashable]) -> bool:
    """Return True if these values (by feature identity) can occur together.

    Impossible are: members or mapped instances in a group that has no members; pending ids in a
    group that doesn't exist; an instance mapped to the caller when the caller is no member; a role,
    a subscription to compare or a re-selection without a member to compare with; a session of a
    member where there are none, or of a new member outside of a rebalance; no room where members
    don't count; a generation where there is no group; a parked member where no member is left; a
    record that is too large where none is written.  Without members their type means nothing, and
    they read no topic; with members it means nothing whether a deletion leaves offsets.  Only a
    member is dynamic or static, and it is static if an instance is mapped to it.
    """

    def get(feature: Feature) -> Hashable:
        return answers.get(id(feature))

    state, mid, inst, role = get(STATE), get(MID), get(INST), get(ROLE)
    if (kind := get(MEMBERSHIP)) is not None and (
        (kind is Membership.NONE) is (mid is Mid.MEMBER)
        or (inst is Inst.OWN and kind is not Membership.STATIC)
    ):
        return False
    if state in _WITHOUT_MEMBERS and (mid is Mid.MEMBER or inst in {Inst.OWN, Inst.OTHER}):
        return False
    if state in _WITHOUT_ANYONE and mid is Mid.PENDING:
        return False
    if inst is Inst.OWN and mid not in {Mid.MEMBER, None}:
        return False
    seated = mid is Mid.MEMBER or (mid is Mid.EMPTY and inst is Inst.OTHER)
    if role is not None and (role is Role.NOBODY) is seated:
        return False
    if not _feasible_offer(get(SUBSCRIPTION), get(SELECTION), get(OFFER), state, mid, inst):
        return False
    if not _feasible_subject(get(SUBJECT), state):
        return False
    if get(ROOM) is Room.FULL and state in _WITHOUT_MEMBERS:
        return False
    if state is GroupState.ABSENT and get(GENERATION) in {Generation.BEFORE, Generation.EQUAL}:
        return False
    if get(RECORD) is Record.TOO_LARGE and (
        role is Role.NOBODY or get(SELECTION) not in {None, Change.UNCHANGED}
    ):
        return False
    alone = state in _WITHOUT_MEMBERS
    if get(CONSUMERS) is False and (alone or get(SUBSCRIBED) is True):
        return False
    if get(SUBSCRIBED) is True and alone:
        return False
    if get(REMAINING) is True and state is not GroupState.EMPTY:
        return False
    return _feasible_phase(get(TRIGGER), get(DELAY), get(PARKED), get(LEFT))


def _feasible_offer(
    subscription: Hashable,
    selection: Hashable,
    offer: Hashable,
    state: Hashable,
    mid: Hashable,
    inst: Hashable,
) -> bool:
    if subscription is not None:
        comparable = mid is Mid.MEMBER
        if comparable is (subscription is Change.MEANINGLESS):
            return False
    if selection is not None:
        votes = (
            mid is Mid.EMPTY
            and inst is Inst.OTHER
            and state is GroupState.STABLE
            and offer is Offer.SUPPORTED
        )
        return votes is not (selection is Change.MEANINGLESS)
    return True


def _feasible_subject(subject: Hashable, state: Hashable) -> bool:
    if subject is None:
        return True
    if subject is Subject.PENDING:
        return state not in _WITHOUT_ANYONE
    if subject is Subject.NEW:
        return state is GroupState.PREPARING  # its first join completes with the rebalance
    return state not in _WITHOUT_MEMBERS


def _feasible_phase(trigger: Hashable, delay: Hashable, parked: Hashable, left: Hashable) -> bool:
    if trigger is None:
        return True
    if left is Left.NOBODY:
        return parked is not Parked.SOME  # a member with a parked join stays
    return True
