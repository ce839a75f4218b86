"""Define rules and tables of rules, and find the one rule for a point.

A table has *checks*, which are tried in order: the first whose guard holds answers, and clients
observe this order.  Then it has *rows*, in no order: where no check holds, exactly one row applies
to every point that can occur.  `Table.applicable` returns all rules that apply, so that a test can
find an overlap or a gap; `Table.decide` returns the one, and raises where there isn't exactly one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum, unique
from typing import Any, NamedTuple

from fencepost.model.messages.errors import Error
from fencepost.model.table.expr import (
    Closure,
    ClosureSource,
    Expr,
    Feature,
    Point,
    closure_source,
    text,
    word,
)


class Level(Enum):
    """The level of obligation of a rule.

    MUST: the KIP says it, or a safety property follows from it.  SHOULD: client libraries rely on
    it.  MAY: Kafka happens to do so; any error that changes nothing passes, and is reported.
    """

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


LEVELS = (Level.MUST, Level.SHOULD, Level.MAY)


class Sentence(NamedTuple):
    """A sentence of a KIP: its section, and its content in our own words."""

    section: str
    says: str

    def __str__(self) -> str:
        """In words."""
        return f"{self.section}: {self.says}"


class Safety(NamedTuple):
    """The id of a property that a coordinator breaks where it breaks the rule."""

    property_id: str

    def __str__(self) -> str:
        """In words."""
        return f"property {self.property_id}"


Basis = Sentence | Safety
"""The basis of a MUST."""


@unique
class Echo(Enum):
    """The member id that an error answer to a join carries."""

    SENT = "the one sent"
    NEW = "the new one"
    EMPTY = '""'


class TableError(Exception):
    """Raised where a table has no rule for a point, or several: the table is wrong."""


class UnknownNameError(TableError, KeyError):
    """Raised for a table, rule or field that isn't there.

    `str()` is one sentence; `name`: the unknown name; `known`: the existing names.
    """

    def __init__(self, sentence: str, name: str, known: Iterable[str]) -> None:
        super().__init__(sentence)
        self.name = name
        self.known = tuple(known)

    def __str__(self) -> str:
        """Return the sentence; KeyError alone would quote it."""
        return str(self.args[0])


@dataclass(frozen=True, slots=True, eq=False)
class OwnStep:
    """A step of your own, in addition to those of the protocol.

    `name`: a constant, such as `HALVE_SESSION`.  `value`: its words in the table.  `perform`:
    function that changes the group of a work; it returns None, or several works if there is a
    choice.  `answers`: True if the step answers the request or parks it.

    In `perform`, `work.caller` is the id of the member.  Change `work.group` by `with_member`,
    `without_member`, `with_mapping`, `with_timer`, `without_timer`, or
    `msgspec.structs.replace(work.group, …)`.  `work.set_timer("session", id, ms)` starts a timer,
    and `work.emit(request_id, message)` answers a request.  Proofs don't cover a rule with a step
    of your own.
    """

    name: str
    value: str
    perform: Callable[[Any], list[Any] | None]
    answers: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One line of the decision table.

    `id`: request, kind of member and outcome, such as `JOIN-STATIC-EMPTY-STABLE`.  `guard`: the
    condition, made by `when`.  `level`: MUST, SHOULD or MAY.

    `effect`: a tuple of the changes of the group, in order: steps of its protocol, or of your own;
    by default none.
    `answer`: the error (or NONE) that is answered at once; None where the effect answers or the
    request stays parked.  `echo`: the member id in a join's error answer.  `because`: the reason,
    in one sentence.  `source`: KIP section or Kafka behaviour.  `defensive`: the reason why no
    request can reach the rule, if there is one.
    """

    id: str
    guard: Expr
    effect: tuple[Any, ...] = ()
    answer: Error | None = None
    level: Level = Level.MUST
    source: str = ""
    because: str = ""
    echo: Echo = Echo.SENT
    defensive: str | None = None

    def steps(self) -> tuple[str, ...]:
        """Return the steps of the rule in words, in order; at the end the immediate answer."""
        steps = [do.value for do in self.effect]
        if self.answer is not None:
            echo = f", with {self.echo.value} as id" if self.echo is not Echo.SENT else ""
            steps.append(f"answer {self.answer.name}{echo}")
        return tuple(steps) or ("nothing changes",)

    def but(self, **changes: object) -> Rule:
        """Return this rule with some fields changed.  Raises UnknownNameError for another name."""
        there = [own.name for own in fields(self)]
        for name in changes:
            if name not in there:
                sentence = f"a rule has no field {name!r}; its fields are {', '.join(there)}"
                sentence += "; where it applies: but(guard=when(…))" if name == "when" else ""
                raise UnknownNameError(sentence, name, there)
        return replace(self, **changes)  # type: ignore[arg-type]


def replace_steps(rule: Rule, steps: Mapping[Any, tuple[Any, ...]]) -> Rule:
    """Return a rule with each of these steps replaced, in its place, by others, or by none."""
    return rule.but(effect=tuple(new for do in rule.effect for new in steps.get(do, (do,))))


Compiled = tuple[tuple[Closure, Rule], ...]
"""Rules, each with its guard as a function of a point."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The rules for one API or one kind of event.  Raises TableError for an id used twice."""

    name: str
    features: tuple[Feature, ...]
    checks: tuple[Rule, ...]
    rows: tuple[Rule, ...]
    _sources: tuple[ClosureSource, ...] = field(init=False, repr=False)
    _compiled: tuple[Compiled, Compiled] | None = field(init=False, repr=False)
    _known: dict[Point, Rule] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        visited: set[str] = set()
        for rule in self.rules():
            if rule.id in visited:
                raise TableError(f"table {self.name} has two rules {rule.id}")
            visited.add(rule.id)
        sources = tuple(closure_source(rule.guard, self.features) for rule in self.rules())
        object.__setattr__(self, "_sources", sources)
        object.__setattr__(self, "_compiled", None)
        object.__setattr__(self, "_known", {})

    def rules(self) -> Iterator[Rule]:
        """Yield all rules, checks first."""
        yield from self.checks
        yield from self.rows

    def applicable(self, point: Point) -> list[Rule]:
        """Return the rules that apply to a point: the first check that does, else every row."""
        checks, rows = self._compiled or self._compile()
        for hits, rule in checks:
            if hits(point):
                return [rule]
        return [rule for hits, rule in rows if hits(point)]

    def _compile(self) -> tuple[Compiled, Compiled]:
        """Compile the guards of checks and rows.  It takes long, and most tables are never used."""
        rules = zip(self._sources, self.rules(), strict=True)
        pairs = tuple((source.compiled(), rule) for source, rule in rules)
        compiled = pairs[: len(self.checks)], pairs[len(self.checks) :]
        object.__setattr__(self, "_compiled", compiled)
        return compiled

    def decide(self, point: Point) -> Rule:
        """Return the rule for a point.  Raises TableError where there isn't exactly one."""
        rule = self._known.get(point)
        if rule is None:
            rules = self.applicable(point)
            if len(rules) != 1:
                names = ", ".join(r.id for r in rules) or "no rule"
                raise TableError(f"{self.name}: {names} for {self.describe(point)}")
            rule = self._known[point] = rules[0]
        return rule

    def decisions(self) -> dict[Point, Rule]:
        """Return the decisions so far: point → rule."""
        return dict(self._known)

    def describe(self, point: Point) -> str:
        """Return a point in words."""
        pairs = zip(self.features, point, strict=True)
        return ", ".join(f"{f.name} {word(value)}" for f, value in pairs)

    def condition(self, rule: Rule) -> str:
        """Return a rule's guard in words."""
        return text(rule.guard)
