"""Write guards as the cells of a table: for each column the values that its feature may have.

Nearly every guard lists the values that some features must have: a row of cells, as in the KIP's
own table.  `Columns` holds the columns of a protocol, builds the expression of a row, and
enumerates the points that can occur.  `print_rows` turns a guard back into cells, to print the
table.  Other guards are written with `fencepost.model.table.expr`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, product
from typing import Any, TypeAlias, TypeVar

from fencepost.model.table.expr import (
    Conjunction,
    Expr,
    Feature,
    In,
    Negation,
    Point,
    all_of,
    features_of,
    text,
    word,
)
from fencepost.model.table.table import Rule, Table, UnknownNameError

_Value = TypeVar("_Value")
Cell: TypeAlias = _Value | tuple[_Value, ...]
"""A value, or several, any of which will do."""

VERSION = "version"
"""The column whose feature is each table's own: see `version_feature`."""


class UnknownColumnError(UnknownNameError, ValueError):
    """Raised for an unknown column."""


def column_features(cells: type, *homes: Mapping[str, Any]) -> dict[str, Feature]:
    """Return column → its feature: the constant of that name in the first home that has it.

    `cells`: the columns, as a TypedDict.  `homes`: the variables of modules.
    """
    names = {name: name.upper() for name in cells.__annotations__ if name != VERSION}
    return {
        name: next(home[constant] for home in homes if constant in home)
        for name, constant in names.items()
    }


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The features of a protocol's rules, as columns of its tables.

    `features`: column → its feature.  `related`: the features whose values don't go together
    freely.  `feasible`: returns True if values of these (by feature identity) can occur together.
    `headings`: the names of the features that have a column of their own in a printed table, in
    order.  `member_tables`: the tables that may have a `Column`.
    """

    features: Mapping[str, Feature]
    related: tuple[Feature, ...]
    feasible: Callable[[dict[int, Hashable]], bool]
    headings: tuple[str, ...]
    member_tables: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, as a guard takes them."""
        return (VERSION, *self.features)

    def name(self, feature: Feature) -> str | None:
        """Return the column of a feature; None if it has none."""
        return next((name for name, own in self.features.items() if own is feature), None)

    def guard(self, cells: Mapping[str, object], *conditions: Expr) -> Expr:
        """Make the guard that holds where each column has the value, or one of the values.

        `conditions`: further ones, which must hold, too.  `version` takes a condition on the
        table's own version: `version=VERSION.at_least(4)`.  Raises ValueError that names the column
        and the remedy: for a column that doesn't exist, a value that the column's feature never
        has, and a cell without values.
        """
        guard = all_of(*(self._condition(column, cell) for column, cell in cells.items()))
        return all_of(*conditions, guard) if conditions else guard

    def _condition(self, column: str, cell: object) -> Expr:
        if column == VERSION:
            if isinstance(cell, In) and cell.feature.name == column:
                return cell
            raise ValueError(f"version={cell!r}: give a condition, as in VERSION.at_least(4)")
        if column not in self.features:
            known = ", ".join(self.names)
            here = next((own for own, f in self.features.items() if f.name == column), None)
            meant = "" if here is None else f" ({column} is a heading, and its name is {here})"
            sentence = f"there is no column {column!r}{meant}; the columns are {known}"
            raise UnknownColumnError(sentence, column, self.names)
        values = cell if isinstance(cell, tuple) else (cell,)
        if not values:
            raise ValueError(
                f"{column}=(): no value would do; leave the column out, or name values"
            )
        return self.features[column].among(*values)

    def points(
        self, features: Sequence[Feature], domains: Sequence[Sequence[Hashable]] | None = None
    ) -> Iterator[Point]:
        """Yield every point of these features that can occur, in the order of their domains.

        `domains`: the values to take of each feature, in place of its domain.
        """
        if domains is None:
            domains = [feature.domain for feature in features]
        related = [feature in self.related for feature in features]
        used = [id(feature) for feature in compress(features, related)]
        begun = {
            values[:length]
            for values in product(*compress(domains, related))
            if self.feasible(dict(zip(used, values, strict=True)))
            for length in range(len(values) + 1)
        }

        def continued(point: Point, values: Point) -> Iterator[Point]:
            place = len(point)
            if place == len(features):
                yield point
                return
            for value in domains[place]:
                further = (*values, value) if related[place] else values
                if further in begun:
                    yield from continued((*point, value), further)

        return continued((), ())


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A rule as a row of a printed table.

    `place`: `check 1` and so on in the order of the checks, or `row`.  `cells`: a text for each
    heading but the last, "" where every value will do; `then`: the rule's steps in words.
    """

    rule: Rule
    place: str
    cells: tuple[str, ...]
    then: tuple[str, ...]


def print_rows(table: Table, names: Sequence[str]) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    """Return a table's headings and rows, as the KIP prints its table.

    `names`: the features that have a column each where a rule of the table uses
    them (`Columns.headings`); other features of a rule are in the column `more`.  Without any of
    these there is one column, `when`.
    """
    used = {f.name for rule in table.rules() for f in features_of(rule.guard)}
    columns = tuple(f for name in names for f in table.features if f.name == name and name in used)
    places = (
        *((f"check {number}", rule) for number, rule in enumerate(table.checks, start=1)),
        *(("row", rule) for rule in table.rows),
    )
    rows = []
    for place, rule in places:
        cells, rest = read_cells(rule.guard, columns)
        more = rest if rest or any(cells) else "always"
        rows.append(Row(rule, place, (*cells, more), rule.steps()))
    headings = (*(feature.name for feature in columns), "more" if columns else "when", "then")
    return headings, tuple(rows)


def read_cells(guard: Expr, columns: Sequence[Feature]) -> tuple[tuple[str, ...], str]:
    """Split a guard into the words in these columns ("" where all values will do), and the rest.

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
    """Yield the conditions that must all hold."""
    if isinstance(guard, Conjunction):
        for part in guard.parts:
            yield from _parts(part)
    else:
        yield guard


def _words(column: Feature, values: set[Hashable]) -> str:
    """Return the values of a cell in words, or the values left out where that is shorter."""
    left_out = [word(v) for v in column.domain if v not in values]
    if not left_out:
        return ""
    if len(left_out) < len(values) and len(left_out) <= 2:
        return f"not {' or '.join(left_out)}"
    return " or ".join(word(v) for v in column.domain if v in values)
