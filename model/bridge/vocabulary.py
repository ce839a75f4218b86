"""Define the features of mixed groups, and write guards as cells.

A mixed group is a consumer group with members of the classic protocol.  Its tables decide the
requests of these members, and the conversions of groups; they share features with the consumer
protocol.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypedDict, Unpack

from fencepost.model.consumer import vocabulary
from fencepost.model.consumer.vocabulary import INST, MID, Inst, Mid
from fencepost.model.table import shared_features
from fencepost.model.table.columns import Cell, Columns, column_features
from fencepost.model.table.expr import Expr, Feature
from fencepost.model.table.shared_features import ROOM, Availability, Room, Word


class Offer(Word):
    """Result of comparing the protocols of a join with those of the classic members."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    BROKEN = "a subscription that can't be read"


class Sender(Word):
    """Protocol of the member that the member id of the request is of."""

    NOBODY = "no member"
    CONSUMER = "of the consumer protocol"
    CLASSIC = "of the classic protocol"


class Rejoin(Word):
    """The reason for which a classic member must join again.

    FREE: partitions of its target, which others had, are free.
    """

    NONE = "none"
    TARGET = "there is a newer target"
    REVOKE = "it has partitions to give up"
    FREE = "partitions of its target are free"
    EPOCH = "the group has a newer epoch, and no target of it yet"


class Cause(Word):
    """The event after which all members are of the classic protocol."""

    REPLACED = "a classic member replaced the last other one"
    CHANGED = "a classic member with another subscription replaced the last other one"
    LEFT = "the last other one is gone"


POLICY = Feature(
    "migration policy", (False, True), "whether group.consumer.migration.policy allows it"
)
OFFER = Feature("offer", tuple(Offer), "the protocols of a join")
SENDER = Feature("sender", tuple(Sender), "the protocol of the sender")
SAME_GENERATION = Feature(
    "generation is the member's", (False, True), "the generation against the member's epoch"
)
NAMES_PROTOCOL = Feature(
    "protocol is named", (False, True), "protocol type and name of a sync, from version 5 on"
)
SAME_PROTOCOL = Feature(
    "protocol is the member's", (False, True), "protocol type and name of a sync, from version 5 on"
)
REJOIN = Feature("rejoin", tuple(Rejoin), "why the member must join again")
HAS_MEMBERS = Feature("has members", (False, True), "whether the classic group has members")
IS_CONSUMER = Feature(
    "protocol type is consumer", (False, True), "the protocol type of a classic group"
)
FITS = Feature("size fits", (False, True), "the number of members, against the other limit")
PLAIN = Feature(
    "assignments are plain", (False, True), "whether no assignment has data of its assignor"
)
CAUSE = Feature("cause", tuple(Cause), "why all members are of the classic protocol")


class Cells(TypedDict, total=False):
    """The columns, and what a cell of each can hold."""

    version: Expr
    coordinator: Cell[Availability]
    policy: Cell[bool]
    room: Cell[Room]
    offer: Cell[Offer]
    mid: Cell[Mid]
    inst: Cell[Inst]
    sender: Cell[Sender]
    same_generation: Cell[bool]
    names_protocol: Cell[bool]
    same_protocol: Cell[bool]
    rejoin: Cell[Rejoin]
    has_members: Cell[bool]
    is_consumer: Cell[bool]
    fits: Cell[bool]
    plain: Cell[bool]
    cause: Cell[Cause]


def feasible(answers: dict[int, Hashable]) -> bool:
    """Return True if these values (by feature identity) can occur together.

    Impossible is also a sender who is a member under an id that is none, and the reverse, and a
    sync that names no protocol and has its member's.
    """
    if answers.get(id(NAMES_PROTOCOL)) is False and answers.get(id(SAME_PROTOCOL)) is True:
        return False
    sender, mid = answers.get(id(SENDER)), answers.get(id(MID))
    if sender is not None and mid is not None and (sender is Sender.NOBODY) is (mid is Mid.MEMBER):
        return False
    return vocabulary.feasible(answers)


COLUMNS = Columns(
    column_features(Cells, globals(), vars(vocabulary), vars(shared_features)),
    related=(MID, INST, SENDER, ROOM, NAMES_PROTOCOL, SAME_PROTOCOL),
    feasible=feasible,
    headings=("mid", "inst"),
)


def when(*conditions: Expr, **cells: Unpack[Cells]) -> Expr:
    """Make the guard that holds where each of these features has the value, or one of the values.

    Takes and raises what `Columns.guard` does.
    """
    return COLUMNS.guard(cells, *conditions)
