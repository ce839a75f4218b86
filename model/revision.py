"""Define a revision of the protocol: tables, API versions, and differences to another revision.

One machine runs all revisions.  Each is made from another one by a list of rules that it sets or
drops, each with the passage of a text that asks for it; no code is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from fencepost.model.messages.shapes import Message
from fencepost.model.protocol import Protocol
from fencepost.model.table.columns import Columns
from fencepost.model.table.expr import Column, Expr, features_of
from fencepost.model.table.table import Basis, Level, Rule, Table, TableError, UnknownNameError
from fencepost.model.work import Effect

Versions = Mapping[str, tuple[int, int]]
Release = tuple[int, ...]
Twist = Callable[[Effect], Effect]
Distortion = Callable[[Message], Message]


@dataclass(frozen=True, slots=True, eq=False)
class SetRule:
    """Add a rule to a table, or replace the rule with the same id.

    `table`: name of the table, as `fencepost table` prints it.  `rule`: a new `Rule`, or a changed
    one, `KAFKA_4.rule(ID).but(…)`.  `passage`: source of the difference.

    Two rules must not apply in one situation: to add a rule, exclude its situations from the guard
    of the old rule, `OLD.but(guard=all_of(OLD.guard, negate(NEW.guard)))`.  A rule with another
    effect needs another `because`.
    """

    table: str
    rule: Rule
    passage: str

    @property
    def rule_id(self) -> str:
        """Return the id of the rule."""
        return self.rule.id


@dataclass(frozen=True, slots=True)
class DropRule:
    """Remove a rule from a table.

    `table`: name of the table.  `rule_id`: id of the rule.  `passage`: source of the difference.
    """

    table: str
    rule_id: str
    passage: str


Difference = SetRule | DropRule


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """A behaviour that came with a release, and the differences that hold before that release.

    `lacking`: later releases without it, of which another patch has it.
    """

    since: Release
    about: str
    before: tuple[Difference, ...]
    lacking: frozenset[Release] = frozenset()

    def is_ahead(self, version: Release) -> bool:
        """Return True if a release, with its patch number, doesn't have it yet."""
        return version < self.since or version in self.lacking


@dataclass(frozen=True, slots=True, eq=False)
class Revision:
    """A named set of tables.

    `protocol`: whose tables these are.  `apis`: name → (lowest, highest version).  `ancestors`: the
    names of the revisions that it is made from, the nearest first.  `binding`: the id of a rule →
    the basis of its MUST.  `empty_instance_is_none`: an instance id of "" means none, as early
    drafts have it.

    `target_size`: the number of members that a group is meant to have, 1 or more; only experiments
    use it, and None means that every change is one to rebalance for.

    `parts`: revisions of other protocols, whose tables decide what its own don't.

    The last five are for mutants (models that are broken on purpose) and departures, where no table
    can express the error.  `twists`: steps that are performed otherwise, each made from the model's
    own step.  `distort`: changes an answer before it is sent.  `answer_versions`: (API, version of
    the request) → the version in whose shape the answer's body is written.  `restart_needs_room`: a
    join by instance alone needs a free place, as if it added a member.  `unchecked`: rules of joins
    and timers after which the machine doesn't check whether the join phase is over.
    """

    name: str
    about: str
    protocol: Protocol[Any, Any]
    tables: Mapping[str, Table]
    apis: Versions
    ancestors: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()
    binding: Mapping[str, tuple[Basis, ...]] = field(default_factory=dict)
    empty_instance_is_none: bool = False
    target_size: int | None = None
    parts: tuple[Revision, ...] = ()
    twists: Mapping[Enum, Twist] = field(default_factory=dict)
    distort: Distortion | None = None
    answer_versions: Mapping[tuple[str, int], int] = field(default_factory=dict)
    restart_needs_room: bool = False
    unchecked: frozenset[str] = frozenset()

    @property
    def base(self) -> str | None:
        """Name of the revision that it is made from, if there is one."""
        return self.ancestors[0] if self.ancestors else None

    def rules(self) -> Iterator[tuple[Table, Rule]]:
        """Yield every rule with its table, those of the parts last."""
        yield from self.own_rules()
        for part in self.parts:
            yield from part.rules()

    def own_rules(self) -> Iterator[tuple[Table, Rule]]:
        """Yield every rule of its own tables, without those of the parts, with its table."""
        for table in self.tables.values():
            for rule in table.rules():
                yield table, rule

    def table(self, name: str) -> Table:
        """Return the table of this name, its own or that of a part.  Raises KeyError."""
        owners = (revision for revision in (self, *self.parts) if name in revision.tables)
        return next(owners, self).tables[name]

    def rule(self, rule_id: str) -> Rule:
        """Return the rule of this id.  Raises UnknownNameError, which is a KeyError."""
        for _, rule in self.rules():
            if rule.id == rule_id:
                return rule
        known = [rule.id for _, rule in self.rules()]
        raise UnknownNameError(f"{self.name} has no rule {rule_id}", rule_id, known)

    def basis_of(self, rule: Rule) -> tuple[Basis, ...]:
        """Return the basis of a MUST; an empty tuple for a rule that is less."""
        if rule.level is not Level.MUST:
            return ()
        bases = (self.binding, *(part.binding for part in self.parts))
        return next((basis[rule.id] for basis in bases if rule.id in basis), ())


def derive(
    base: Revision,
    name: str,
    about: str,
    differences: tuple[Difference, ...],
    apis: Versions | None = None,
    *,
    empty_instance_is_none: bool = False,
) -> Revision:
    """Make a revision that differs from another one in some rules.

    `base`: such as `KAFKA_4`.  `name`, `about`: of the new revision.  `differences`: each a
    `SetRule` or a `DropRule`, at most one for a rule.  `apis`: API → (lowest, highest version), by
    default those of the base.  `empty_instance_is_none`: True if an instance id of "" means none.

    The tables are checked when a command loads the revision, not here.

    Raises UnknownNameError for a table, or a rule to drop, that isn't there, and TableError for a
    value that is no revision, difference, rule or guard, and for two differences about one rule.
    """
    _check_arguments(base, name, differences)
    _check_once(name, differences)
    tables = dict(base.tables)
    for changed in dict.fromkeys(difference.table for difference in differences):
        if changed not in tables:
            sentence = f"there is no table {changed!r}; there are {', '.join(tables)}"
            raise UnknownNameError(sentence, changed, tables)
        here = tuple(d for d in differences if d.table == changed)
        tables[changed] = _applied(tables[changed], here, base.protocol.columns)
    return replace(
        base,
        name=name,
        about=about,
        tables=tables,
        apis=apis if apis is not None else base.apis,
        ancestors=(base.name, *base.ancestors),
        differences=differences,
        empty_instance_is_none=empty_instance_is_none,
    )


def _check_arguments(base: Any, name: Any, differences: Any) -> None:
    """Check the arguments of `derive`, which may come from an untyped file; raises TableError."""
    if not isinstance(base, Revision):
        remedy = f"find_revision({base!r})" if isinstance(base, str) else "KAFKA_4"
        raise TableError(f"derive({base!r}, …): give a revision to begin with, as in {remedy}")
    if not isinstance(name, str):
        raise TableError(f"derive({base.name}, {name!r}, …): give a name, a text")
    if not isinstance(differences, tuple | list):
        raise TableError(
            f"the differences of {name} are a {type(differences).__name__}; give a tuple, also of "
            "one: (SetRule(…),)"
        )
    for difference in differences:
        if not isinstance(difference, Difference):
            raise TableError(
                f"the differences of {name} hold {difference!r}; each is a SetRule or a DropRule"
            )
        if isinstance(difference, DropRule):
            continue
        if not isinstance(difference.rule, Rule):
            raise TableError(
                f"SetRule({difference.table!r}, {difference.rule!r}, …): give a Rule, such as "
                "KAFKA_4.rule(ID).but(…)"
            )
        if not isinstance(difference.rule.guard, Expr):
            raise TableError(
                f"{difference.rule.id}: its guard is {difference.rule.guard!r}; write "
                "when(mid=Mid.MEMBER, …)"
            )


def _check_once(name: str, differences: Iterable[Difference]) -> None:
    """Check that no two differences are about one rule: one would be lost; raises TableError."""
    visited: set[tuple[str, str]] = set()
    for difference in differences:
        rule_id = difference.rule_id
        if (difference.table, rule_id) in visited:
            raise TableError(
                f"two differences of {name} are about {rule_id} in table {difference.table}, "
                "and the first would be lost: leave one out, or give its rule an id of its own"
            )
        visited.add((difference.table, rule_id))


def _check_columns(table: Table, rule: Rule, columns: Columns) -> None:
    """Check that the table has, or may have, the columns of a rule's guard; raises TableError."""
    there = {id(feature) for feature in table.features}
    for feature in features_of(rule.guard):
        if isinstance(feature, Column):
            if table.name not in columns.member_tables:
                raise TableError(
                    f"{rule.id}: table {table.name} is not of requests about one member, so it has "
                    f"no column {feature.name}; {', '.join(columns.member_tables)} may have it"
                )
        elif id(feature) not in there:
            there_are = ", ".join(columns.name(known) or known.name for known in table.features)
            raise TableError(
                f"{rule.id}: table {table.name} has no column "
                f"{columns.name(feature) or feature.name}; it has {there_are}"
            )


def _applied(table: Table, differences: Iterable[Difference], columns: Columns) -> Table:
    checks, rows = table.checks, table.rows
    for difference in differences:
        dropped = isinstance(difference, DropRule)
        rule_id = difference.rule_id
        new = () if isinstance(difference, DropRule) else (difference.rule,)
        for rule in new:
            _check_columns(table, rule, columns)
        if all(rule.id != rule_id for rule in (*checks, *rows)):
            if dropped:
                known = [rule.id for rule in (*checks, *rows)]
                sentence = f"table {table.name} has no rule {rule_id} to drop"
                raise UnknownNameError(sentence, rule_id, known)
            rows = (*rows, *new)
            continue
        checks, rows = (
            tuple(r for old in rules for r in (new if old.id == rule_id else (old,)))
            for rules in (checks, rows)
        )
    features = (feature for rule in (*checks, *rows) for feature in features_of(rule.guard))
    added = {id(f): f for f in features if isinstance(f, Column)}
    fixed = tuple(f for f in table.features if not isinstance(f, Column))
    return Table(table.name, (*fixed, *added.values()), checks, rows)
