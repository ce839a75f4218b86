"""Find the faults of a table: points that no rule decides, or several, and idle rules.

A table can have a million points.  Most features stand alone: their values go with any others, and
rules distinguish few of their values.  Of values that no rule distinguishes one is enough.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from enum import Enum

from fencepost.model.table.columns import Columns
from fencepost.model.table.expr import Feature, Point, atoms, features_of, word
from fencepost.model.table.table import Rule, Table

_MOST = 5
"""The most faults of one kind that are listed."""


def decided(table: Table, columns: Columns) -> dict[Point, tuple[Rule, ...]]:
    """Return the rules that apply to each point; one point for those that no rule distinguishes."""
    return {point: tuple(table.applicable(point)) for point in _points(table, columns)}


def table_faults(
    table: Table, columns: Columns, by_point: dict[Point, tuple[Rule, ...]] | None = None
) -> list[str]:
    """Return the faults of a table, in sentences that name the point; [] if it is sound.

    `by_point`: the result of `decided`, if it is there already.
    """
    by_point = decided(table, columns) if by_point is None else by_point
    wrong: defaultdict[str, list[Point]] = defaultdict(list)
    for point, rules in by_point.items():
        if len(rules) != 1:
            wrong[" and ".join(rule.id for rule in rules)].append(point)
    faults = []
    for rules_named, places in wrong.items():
        in_guards = {id(f) for rule in by_point[places[0]] for f in features_of(rule.guard)}
        where = list(_cells(table, columns, places, by_point, in_guards))
        fault = f"{rules_named} both decide" if rules_named else "no rule decides"
        for cells in where[:_MOST]:
            remedy = "narrow one of them, or drop it" if rules_named else _guard(cells, columns)
            place = ", ".join(f"{f.name} {' or '.join(map(word, vs))}" for f, vs in cells)
            faults.append(f"table {table.name}: {fault}: {place or 'everywhere'}; {remedy}")
        if len(where) > _MOST:
            faults.append(f"table {table.name}: {fault}: {len(where) - _MOST} places more")
    used = {rule.id for rules in by_point.values() for rule in rules}
    faults += [
        f"table {table.name}: nothing reaches {rule.id}; drop it, or say in `defensive` why not"
        for rule in table.rules()
        if rule.id not in used and rule.defensive is None
    ]
    return faults


Cells = list[tuple[Feature, list[Hashable]]]
"""Features, each with the values that it may have."""


def _cells(
    table: Table,
    columns: Columns,
    places: Sequence[Point],
    by_point: dict[Point, tuple[Rule, ...]],
    kept: Collection[int],
) -> Iterator[Cells]:
    """Yield the points as few cells as can be: each lists the values that its points share.

    A feature is left out, and a value is added, where that calls no point wrong that a row decides;
    points that a check decides don't count, since no row is used there.  `kept`: the identities of
    features that are never left out.
    """
    checks, wrong = set(map(id, table.checks)), set(places)
    fine = [
        point
        for point, rules in by_point.items()
        if point not in wrong and not (rules and id(rules[0]) in checks)
    ]
    in_guards = {id(f) for rule in table.rows for f in features_of(rule.guard)}
    names = [feature.name for feature in table.features]
    last = columns.headings[::-1]  # left out last, and named first
    order = sorted(
        range(len(names)),
        key=lambda i: (
            last.index(names[i]) if names[i] in last else -1,
            id(table.features[i]) in in_guards,
        ),
    )
    left = list(places)
    while left:
        cells = {i: {value} for i, value in enumerate(left[0])}
        for place in (i for i in order if id(table.features[i]) not in kept):
            rest = {i: values for i, values in cells.items() if i != place}
            if not any(_within(other, rest) for other in fine):
                cells = rest
        for place in cells:
            for value in dict.fromkeys(other[place] for other in left):
                here = {**cells, place: {value}}
                if any(_within(p, here) for p in left) and not any(_within(p, here) for p in fine):
                    cells = {**cells, place: {*cells[place], value}}
        yield [
            (table.features[i], [value for value in table.features[i].domain if value in cells[i]])
            for i in reversed(order)
            if i in cells
        ]
        left = [other for other in left if not _within(other, cells)]


def _within(point: Point, cells: Mapping[int, set[Hashable]]) -> bool:
    return all(point[i] in values for i, values in cells.items())


def _guard(cells: Cells, columns: Columns) -> str:
    """Return the guard of the missing rule, as `when` takes it, where it takes all of it."""
    if not cells or any(columns.name(feature) is None for feature, _ in cells):
        return "add a rule, or widen one"
    cells_text = ", ".join(f"{columns.name(feature)}={_cell(values)}" for feature, values in cells)
    return f"add a rule, or widen one: when({cells_text})"


def _cell(values: Sequence[Hashable]) -> str:
    named = [str(v) if not isinstance(v, Enum) else f"{type(v).__name__}.{v.name}" for v in values]
    return named[0] if len(named) == 1 else f"({', '.join(named)})"


def _points(table: Table, columns: Columns) -> Iterator[Point]:
    """Yield points that can occur: all values of related features, some of the others."""
    domains = [
        feature.domain if feature in columns.related else _distinct(feature, table)
        for feature in table.features
    ]
    return columns.points(table.features, domains)


def _distinct(feature: Feature, table: Table) -> list[Hashable]:
    """Return one value for each set of values that no guard distinguishes."""
    sets = [
        atom.values
        for rule in table.rules()
        for atom in atoms(rule.guard)
        if atom.feature is feature
    ]
    kinds: dict[tuple[bool, ...], Hashable] = {}
    for value in feature.domain:
        kinds.setdefault(tuple(value in values for values in sets), value)
    return list(kinds.values())
