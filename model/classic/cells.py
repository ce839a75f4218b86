"""Write guards of the classic protocol as cells: `when(mid=EMPTY, inst=OTHER, state=STABLE)`."""

from __future__ import annotations

from typing import TypedDict, Unpack

from fencepost.model.classic import vocabulary
from fencepost.model.classic.vocabulary import (
    Change,
    Delay,
    Fit,
    Generation,
    Given,
    GroupState,
    Late,
    Left,
    Membership,
    Mid,
    Offer,
    Parked,
    Range,
    Role,
    Stored,
    Subject,
    Trigger,
)
from fencepost.model.table import shared_features
from fencepost.model.table.columns import Cell, Columns, column_features
from fencepost.model.table.expr import Expr
from fencepost.model.table.shared_features import Availability, GroupId, Inst, Record, Room


class Cells(TypedDict, total=False):
    """The columns, and what a cell of each can hold."""

    version: Expr
    group_id: Cell[GroupId]
    coordinator: Cell[Availability]
    session: Cell[Range]
    state: Cell[GroupState]
    mid: Cell[Mid]
    inst: Cell[Inst]
    role: Cell[Role]
    generation: Cell[Generation]
    offer: Cell[Offer]
    subscription: Cell[Change]
    selection: Cell[Change]
    room: Cell[Room]
    protocol_fields: Cell[Given]
    protocol_fit: Cell[Fit]
    topics: Cell[bool]
    metadata: Cell[bool]
    record: Cell[Record]
    trigger: Cell[Trigger]
    delay: Cell[Delay]
    parked: Cell[Parked]
    left: Cell[Left]
    subject: Cell[Subject]
    late: Cell[Late]
    stored: Cell[Stored]
    consumers: Cell[bool]
    subscribed: Cell[bool]
    remaining: Cell[bool]
    membership: Cell[Membership]


COLUMNS = Columns(
    column_features(Cells, vars(shared_features), vars(vocabulary)),
    related=vocabulary.RELATED,
    feasible=vocabulary.feasible,
    headings=("mid", "inst", "state"),
    member_tables=vocabulary.MEMBER_TABLES,
)

# The values of the columns that most rules fill.  `EMPTY` is the empty member id; the Empty state
# is `GroupState.EMPTY`.
EMPTY, PENDING, MEMBER, UNKNOWN = Mid.EMPTY, Mid.PENDING, Mid.MEMBER, Mid.UNKNOWN
NONE, UNMAPPED, OWN, OTHER = Inst.NONE, Inst.UNMAPPED, Inst.OWN, Inst.OTHER
ABSENT, PREPARING = GroupState.ABSENT, GroupState.PREPARING
COMPLETING, STABLE, DEAD = GroupState.COMPLETING, GroupState.STABLE, GroupState.DEAD
WITH_MEMBERS = (PREPARING, COMPLETING, STABLE)
FOLLOWER, LEADER = Role.FOLLOWER, Role.LEADER
UNCHANGED, CHANGED = Change.UNCHANGED, Change.CHANGED


def when(*conditions: Expr, **cells: Unpack[Cells]) -> Expr:
    """Make the guard that holds where each of these features has the value, or one of the values.

    `conditions`: of your own columns, such as `MINE.among(…)`.  Takes and raises what
    `Columns.guard` does.
    """
    return COLUMNS.guard(cells, *conditions)
