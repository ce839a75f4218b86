"""Define guards as expressions: data, not `if`s.

From one expression come a fast closure, the text of the printed table, and (in the proofs) a
formula for Z3.  The only atom is "this feature has one of these values".  Every feature has a
finite domain, so all points can be enumerated.  Truth value and equality of an expression raise, so
that none is used as a live value by mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NoReturn


class Expr:
    """A condition over features.  Build with `Feature.among`, `all_of`, `any_of`, `negate`."""

    __slots__ = ()

    def __bool__(self) -> NoReturn:
        raise TypeError(f"an expression has no truth value; compile it first: {self}")

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError(f"expressions aren't compared; use Feature.among: {self}")

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return text(self)


@dataclass(frozen=True, slots=True, eq=False)
class Feature:
    """A question about a request in a state, with finitely many answers.

    `name` as the protocol says it; `domain` all answers; `about` one sentence; `says_all`: the
    words of a value are a whole sentence, such as `the timer expired`.
    """

    name: str
    domain: tuple[Hashable, ...]
    about: str
    says_all: bool = field(default=False, kw_only=True)

    def among(self, *values: Hashable) -> Expr:
        """Make the condition that this feature has one of these values.

        Raises ValueError for a value that the feature never has.
        """
        if unknown := [v for v in values if v not in self.domain]:
            known = ", ".join(map(_written, self.domain))
            raise ValueError(f"{self.name} is never {_written(unknown[0])}; it is one of {known}")
        return In(self, frozenset(values))

    def at_least(self, value: int) -> Expr:
        """Make the condition that this feature, a number, is this much or more."""
        return self.among(*(v for v in self.domain if isinstance(v, int) and v >= value))

    def below(self, value: int) -> Expr:
        """Make the condition that this feature, a number, is less."""
        return self.among(*(v for v in self.domain if isinstance(v, int) and v < value))


@dataclass(frozen=True, slots=True, eq=False)
class Column(Feature):
    """A column of your own, which a table has as soon as one of its rules uses it.

    `name`: its name in the table.  `domain`: all its values.  `about`: its meaning.  `of`: function
    that returns the value for a group (None: absent), and the member id and the instance id that
    the event names (None: no instance).  `says_all`: True if the words of a value are a whole
    sentence.

    It is for requests about one member: JoinGroup, SyncGroup, Heartbeat, OffsetCommit,
    TxnOffsetCommit, and a row of LeaveGroup.  Each value needs a rule wherever it can occur, so
    narrow the old rule: `all_of(old.guard, MINE.among(False))`.  The function must not depend on
    the spelling of ids or the number of a generation: worlds rename ids, and without a failover
    their generation is always 1.  `check` names the values that occur in none of its worlds.  In
    proofs the column may have any value.
    """

    of: Callable[[Any, str, str | None], Hashable]

    def value(self, group: Any, member_id: str, group_instance_id: str | None) -> Hashable:
        """Return the value.  Raises ValueError for one that isn't in the domain."""
        value = self.of(group, member_id, group_instance_id)
        if value not in self.domain:
            known = ", ".join(map(_written, self.domain))
            raise ValueError(f"{self.name} is {_written(value)}; it is one of {known}")
        return value


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class In(Expr):
    """`feature` has one of `values`."""

    feature: Feature
    values: frozenset[Hashable]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Conjunction(Expr):
    """Every part holds; with no parts, true."""

    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Disjunction(Expr):
    """Some part holds; with no parts, false."""

    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Negation(Expr):
    """The part does not hold."""

    part: Expr


def all_of(*parts: Expr) -> Expr:
    """Make the condition that every part holds."""
    return parts[0] if len(parts) == 1 else Conjunction(parts)


def any_of(*parts: Expr) -> Expr:
    """Make the condition that some part holds."""
    return parts[0] if len(parts) == 1 else Disjunction(parts)


def negate(part: Expr) -> Expr:
    """Make the condition that the part does not hold."""
    return Negation(part)


ALWAYS = all_of()

Point = tuple[Hashable, ...]
Closure = Callable[[Point], bool]


def features_of(expr: Expr) -> Iterator[Feature]:
    """Yield the features of an expression, as often as they occur."""
    return (atom.feature for atom in atoms(expr))


def atoms(expr: Expr) -> Iterator[In]:
    """Yield the atoms of an expression."""
    match expr:
        case In():
            yield expr
        case Conjunction(parts=parts) | Disjunction(parts=parts):
            for part in parts:
                yield from atoms(part)
        case Negation(part=part):
            yield from atoms(part)


@dataclass(frozen=True, slots=True)
class ClosureSource:
    """The Python source of an expression: `body`, about a point `p` and the values `sets`."""

    body: str
    sets: tuple[frozenset[Hashable], ...]

    def compiled(self) -> Closure:
        """Return the function of a point."""
        closure: Closure = eval(f"lambda p, s=s: {self.body}", {"s": self.sets})  # noqa: S307  (our own source)
        return closure


def closure_source(expr: Expr, features: Sequence[Feature]) -> ClosureSource:
    """Write an expression as a function of a point, whose values are those of `features`.

    Raises ValueError for a feature that is none of them.
    """
    places = {id(feature): index for index, feature in enumerate(features)}
    sets: list[frozenset[Hashable]] = []

    def source(node: Expr) -> str:
        match node:
            case In(feature, values):
                if id(feature) not in places:
                    raise ValueError(f"{feature.name} is no feature of this table: {expr}")
                sets.append(values)
                return f"p[{places[id(feature)]}] in s[{len(sets) - 1}]"
            case Conjunction(parts):
                return "(" + (" and ".join(map(source, parts)) or "True") + ")"
            case Disjunction(parts):
                return "(" + (" or ".join(map(source, parts)) or "False") + ")"
            case Negation(part):
                return f"(not {source(part)})"
            case _:
                raise TypeError(f"no expression of the vocabulary: {type(node).__name__}")

    return ClosureSource(source(expr), tuple(sets))


def compile_closure(expr: Expr, features: Sequence[Feature]) -> Closure:
    """Compile an expression to a function of a point, as `closure_source` writes it."""
    return closure_source(expr, features).compiled()


def word(value: Hashable) -> str:
    """Return a feature's value in words."""
    return str(getattr(value, "value", value))


def text(expr: Expr) -> str:
    """Return the expression in words."""
    match expr:
        case In(feature, values):
            ordered = [word(v) for v in feature.domain if v in values]
            left_out = [word(v) for v in feature.domain if v not in values]
            if _are_numbers(feature) and len(ordered) > 1 and _is_run(feature, values):
                return _range_text(feature, ordered)
            if feature.says_all:
                words = " or ".join(ordered)
                return f"({words})" if len(ordered) > 1 else words
            if len(left_out) == 1 and len(ordered) > 2:
                return f"{feature.name} is not {left_out[0]}"
            return f"{feature.name} is {' or '.join(ordered)}"
        case Conjunction(parts):
            return " and ".join(_inner(part) for part in parts) or "always"
        case Disjunction(parts):
            return " or ".join(_inner(part) for part in parts) or "never"
        case Negation(part):
            return f"not ({text(part)})"
        case _:
            raise TypeError(f"no expression of the vocabulary: {type(expr).__name__}")


def _written(value: Hashable) -> str:
    """Return a value as a file writes it."""
    return str(value) if isinstance(value, Enum) else repr(value)


def _inner(part: Expr) -> str:
    return f"({text(part)})" if isinstance(part, Disjunction) else text(part)


def _are_numbers(feature: Feature) -> bool:
    return all(isinstance(v, int) and not isinstance(v, bool) for v in feature.domain)


def _is_run(feature: Feature, values: frozenset[Hashable]) -> bool:
    """Return True if the values stand beside each other in the domain."""
    places = [i for i, v in enumerate(feature.domain) if v in values]
    return places[-1] - places[0] + 1 == len(places)


def _range_text(feature: Feature, ordered: list[str]) -> str:
    if ordered[-1] == word(feature.domain[-1]):
        return f"{feature.name} ≥ {ordered[0]}"
    if ordered[0] == word(feature.domain[0]):
        return f"{feature.name} ≤ {ordered[-1]}"
    return f"{feature.name} in {ordered[0]}-{ordered[-1]}"
