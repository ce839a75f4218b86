"""Guards as the cells of a table: `when(mid=EMPTY, inst=OTHER, state=STABLE)`.

Nearly every guard says of some features which values they must have: a row of cells, as in the
KIP's own table.  `when` builds the expression of such a row, and `print_rows` finds the cells
again, to print the table.  What is more than that is written with `fencepost.model.table.expr`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypedDict, TypeVar, Unpack

from fencepost.model.table import vocabulary
from fencepost.model.table.expr import (
    Conjunction,
    Expr,
    Feature,
    In,
    Negation,
    all_of,
    features_of,
    text,
    word,
)
from fencepost.model.table.table import Rule, Table, UnknownNameError
from fencepost.model.table.vocabulary import (
    Availability,
    Change,
    Delay,
    Fit,
    Generation,
    Given,
    GroupId,
    GroupState,
    Inst,
    Late,
    Left,
    Mid,
    Offer,
    Parked,
    Range,
    Record,
    Role,
    Room,
    Stored,
    Subject,
    Trigger,
)

_Value = TypeVar("_Value")
Cell: TypeAlias = _Value | tuple[_Value, ...]
"""A value, or several, any of which will do."""


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


COLUMNS: dict[str, Feature] = {
    name: getattr(vocabulary, name.upper()) for name in Cells.__annotations__ if name != "version"
}
"""The feature of each column.  `version` has one for each table: see `version_feature`."""

# The values of the columns that most rules fill.  `EMPTY` is the empty member id; the Empty state
# is `GroupState.EMPTY`.
EMPTY, PENDING, MEMBER, UNKNOWN = Mid.EMPTY, Mid.PENDING, Mid.MEMBER, Mid.UNKNOWN
NONE, UNMAPPED, OWN, OTHER = Inst.NONE, Inst.UNMAPPED, Inst.OWN, Inst.OTHER
ABSENT, PREPARING = GroupState.ABSENT, GroupState.PREPARING
COMPLETING, STABLE, DEAD = GroupState.COMPLETING, GroupState.STABLE, GroupState.DEAD
FOLLOWER, LEADER = Role.FOLLOWER, Role.LEADER
UNCHANGED, CHANGED = Change.UNCHANGED, Change.CHANGED


class UnknownColumnError(UnknownNameError, ValueError):
    """Raised for a column that `when` does not take."""


def when(**cells: Unpack[Cells]) -> Expr:
    """The guard that holds where each of these features has the value, or one of the values.

    `version` takes a condition on the table's own version: `version=VERSION.at_least(4)`.  Raises
    ValueError that names the column and the remedy: for a column that doesn't exist, a value that
    the column's feature never has, and a cell without values.
    """
    return all_of(*(_condition(column, cell) for column, cell in cells.items()))


def _condition(column: str, cell: object) -> Expr:
    if column == "version":
        if isinstance(cell, In) and cell.feature.name == column:
            return cell
        raise ValueError(f"version={cell!r}: give a condition, as in VERSION.at_least(4)")
    if column not in COLUMNS:
        known = ", ".join(Cells.__annotations__)
        here = next((one for one, feature in COLUMNS.items() if feature.name == column), None)
        meant = "" if here is None else f" (what is shown as {column} is {here} here)"
        sentence = f"there is no column {column!r}{meant}; the columns are {known}"
        raise UnknownColumnError(sentence, column, Cells.__annotations__)
    values = cell if isinstance(cell, tuple) else (cell,)
    if not values:
        raise ValueError(f"{column}=(): no value would do; leave the column out, or name values")
    return COLUMNS[column].among(*values)


_SHOWN = ("mid", "inst", "state")


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A rule as a row of a printed table.

    `place`: `check 1` and so on in the order of the checks, or `row`.  `cells`: a text for each
    heading but the last, "" where every value will do; `then`: what the rule does, step by step.
    """

    rule: Rule
    place: str
    cells: tuple[str, ...]
    then: tuple[str, ...]


def print_rows(table: Table) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    """A table's headings and rows, as the KIP prints its table.

    Member id, instance id and state have a column each where a rule of the table asks for them;
    what else a rule asks for is in the column `more`.  Without any of the three there is one
    column, `when`.
    """
    asked = {f.name for rule in table.rules() for f in features_of(rule.guard)}
    shown = tuple(f for name in _SHOWN for f in table.features if f.name == name and name in asked)
    places = (
        *((f"check {number}", rule) for number, rule in enumerate(table.checks, start=1)),
        *(("row", rule) for rule in table.rows),
    )
    rows = []
    for place, rule in places:
        cells, rest = read_cells(rule.guard, shown)
        more = rest if rest or any(cells) else "always"
        rows.append(Row(rule, place, (*cells, more), rule.steps()))
    headings = (*(feature.name for feature in shown), "more" if shown else "when", "then")
    return headings, tuple(rows)


def read_cells(guard: Expr, columns: Sequence[Feature]) -> tuple[tuple[str, ...], str]:
    """A guard as a row: the words in these columns ("" where all values will do), and the rest.

    Shape: one text for each column, then the conditions that belong to none of them.
    """
    allowed = {id(column): set(column.domain) for column in columns}
    rest = []
    for part in _parts(guard):
        match part:
            case In(feature, values) if id(feature) in allowed:
                allowed[id(feature)] &= values
            case Negation(In(feature, values)) if id(feature) in allowed:
                allowed[id(feature)] -= values
            case _:
                rest.append(part)
    cells = tuple(_words(column, allowed[id(column)]) for column in columns)
    return cells, text(all_of(*rest)) if rest else ""


def _parts(guard: Expr) -> Iterator[Expr]:
    """What must hold at once, one by one."""
    if isinstance(guard, Conjunction):
        for part in guard.parts:
            yield from _parts(part)
    else:
        yield guard


def _words(column: Feature, values: set[Hashable]) -> str:
    """The values of a cell, or what is left out where that is shorter."""
    left_out = [word(v) for v in column.domain if v not in values]
    if not left_out:
        return ""
    if len(left_out) < len(values) and len(left_out) <= 2:
        return f"not {' or '.join(left_out)}"
    return " or ".join(word(v) for v in column.domain if v in values)
