"""Write guards of the consumer protocol as cells: `when(mid=UNKNOWN, inst=OTHER, holder=LIVE)`."""

from __future__ import annotations

from typing import TypedDict, Unpack

from fencepost.model.consumer import vocabulary
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
from fencepost.model.table import shared_features
from fencepost.model.table.columns import Cell, Columns, column_features
from fencepost.model.table.expr import Expr
from fencepost.model.table.shared_features import Availability, GroupId, Room


class Cells(TypedDict, total=False):
    """The columns, and what a cell of each can hold."""

    version: Expr
    group_id: Cell[GroupId]
    blank: Cell[bool]
    coordinator: Cell[Availability]
    kind: Cell[Kind]
    mid: Cell[Mid]
    inst: Cell[Inst]
    holder: Cell[Holder]
    caller: Cell[Caller]
    reconciled: Cell[bool]
    epoch: Cell[Epoch]
    leave: Cell[Leave]
    owned: Cell[Owned]
    fields: Cell[Fields]
    change: Cell[Change]
    assignor: Cell[Assignor]
    room: Cell[Room]
    topic_ids: Cell[bool]
    topics: Cell[bool]
    subscribed: Cell[bool]
    member_epoch: Cell[MemberEpoch]
    since: Cell[Since]
    subject: Cell[Subject]
    stored: Cell[Stored]


COLUMNS = Columns(
    column_features(Cells, vars(vocabulary), vars(shared_features)),
    related=vocabulary.RELATED,
    feasible=vocabulary.feasible,
    headings=("mid", "inst", "holder", "group"),
    member_tables=vocabulary.MEMBER_TABLES,
)

# The values of the columns that most rules fill.  `EMPTY` is the empty member id; the group without
# members is `Kind.EMPTY`.
EMPTY, MEMBER, UNKNOWN = Mid.EMPTY, Mid.MEMBER, Mid.UNKNOWN
NONE, UNMAPPED, OWN, OTHER = Inst.NONE, Inst.UNMAPPED, Inst.OWN, Inst.OTHER
DANGLING = Inst.DANGLING
LIVE, RELEASED, CLASSIC = Holder.LIVE, Holder.RELEASED, Holder.CLASSIC
UNCHANGED, CHANGED = Change.UNCHANGED, Change.CHANGED
UNREADABLE = Change.UNREADABLE
KNOWN, ANOTHER = Assignor.KNOWN, Assignor.ANOTHER


def when(*conditions: Expr, **cells: Unpack[Cells]) -> Expr:
    """Make the guard that holds where each of these features has the value, or one of the values.

    `conditions`: further ones, such as of your own columns.  Takes and raises what `Columns.guard`
    does.
    """
    return COLUMNS.guard(cells, *conditions)
