"""Revisions: one machine, each revision a small difference in data, never a fork.

Decides what a revision is: the tables it rules by, the API versions it knows, and the list of its
differences to the revision it is made from, each with the passage that asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from fencepost.model.messages.shapes import Message
from fencepost.model.state.work import Effect
from fencepost.model.table.effects import Do
from fencepost.model.table.table import Rule, Table, TableError

Versions = Mapping[str, tuple[int, int]]
Release = tuple[int, ...]
Twist = Callable[[Effect], Effect]
Distortion = Callable[[Message], Message]


@dataclass(frozen=True, slots=True, eq=False)
class SetRule:
    """A rule in a table is replaced (same id) or added, because of a passage."""

    table: str
    rule: Rule
    passage: str


@dataclass(frozen=True, slots=True)
class DropRule:
    """A rule of a table no longer applies, because of a passage."""

    table: str
    rule_id: str
    passage: str


Difference = SetRule | DropRule


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """A behaviour that came with a release: before it, these differences hold."""

    since: Release
    about: str
    before: tuple[Difference, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Revision:
    """A named set of tables.

    `apis`: name → (lowest, highest version).  `empty_instance_is_none`: an instance id of "" means
    none, as early drafts have it.

    The last three are for broken models, which test the testers; a table alone can't say what these
    get wrong.  `twists`: steps performed otherwise, each made from the model's own.  `distort`:
    what becomes of an answer as it is given.  `answer_versions`: (API, version asked) → the version
    in whose shape the answer's body is written.
    """

    name: str
    about: str
    tables: Mapping[str, Table]
    apis: Versions
    base: str | None = None
    differences: tuple[Difference, ...] = ()
    empty_instance_is_none: bool = False
    twists: Mapping[Do, Twist] = field(default_factory=dict)
    distort: Distortion | None = None
    answer_versions: Mapping[tuple[str, int], int] = field(default_factory=dict)

    def rules(self) -> Iterator[tuple[Table, Rule]]:
        """Every rule with its table."""
        for table in self.tables.values():
            for rule in table.rules():
                yield table, rule

    def rule(self, rule_id: str) -> Rule:
        """The rule of this id.  Raises KeyError that names the id and the revision."""
        for _, rule in self.rules():
            if rule.id == rule_id:
                return rule
        raise KeyError(f"{self.name} has no rule {rule_id}")


def derive(
    base: Revision,
    name: str,
    about: str,
    differences: tuple[Difference, ...],
    apis: Versions | None = None,
    *,
    empty_instance_is_none: bool = False,
) -> Revision:
    """A revision that differs from another in these rules.  Raises TableError if one is unknown."""
    tables = dict(base.tables)
    for changed in dict.fromkeys(difference.table for difference in differences):
        here = tuple(d for d in differences if d.table == changed)
        tables[changed] = _applied(tables[changed], here)
    return replace(
        base,
        name=name,
        about=about,
        tables=tables,
        apis=apis if apis is not None else base.apis,
        base=base.name,
        differences=differences,
        empty_instance_is_none=empty_instance_is_none,
    )


def _applied(table: Table, differences: Iterable[Difference]) -> Table:
    checks, rows = table.checks, table.rows
    for difference in differences:
        dropped = isinstance(difference, DropRule)
        rule_id = difference.rule_id if isinstance(difference, DropRule) else difference.rule.id
        new = () if isinstance(difference, DropRule) else (difference.rule,)
        if all(rule.id != rule_id for rule in (*checks, *rows)):
            if dropped:
                raise TableError(f"table {table.name} has no rule {rule_id} to drop")
            rows = (*rows, *new)
            continue
        checks, rows = (
            tuple(r for old in rules for r in (new if old.id == rule_id else (old,)))
            for rules in (checks, rows)
        )
    return Table(table.name, table.features, checks, rows)
