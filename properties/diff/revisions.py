"""Compares two revisions: the shortest way to tell them apart, or that no client can.

The comparison (`product.py`) finds, for each rule that differs between the tables, the shortest
sequence whose answers differ there: a path through the worlds of either revision, up to the step in
which they part.  Within the bounds the rest is proved: where everything was explored, no client can
tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fencepost.model.revision import Revision
from fencepost.properties.diff.product import Lockstep
from fencepost.properties.diff.product_state import Cut, Doing, Parted, Response, State
from fencepost.properties.diff.versions import Unsaid, differing_rules, merged, spoken, unsaid
from fencepost.properties.explorer.explorer import Check, Exploration, explore
from fencepost.properties.worlds.scope import Scope
from fencepost.properties.worlds.scopes import DIFF_SCOPES, NamedScope
from fencepost.properties.worlds.world import Act, World, Worlds

Path = tuple[tuple[Act | None, World], ...]

_NO_RULE = "no rule"
_CUT = "cut"
_RANKS: dict[str, Callable[[Parted, str], bool]] = {
    "there": lambda parted, rule: parted.direct and rule in parted.causes,
    "for that alone": lambda parted, rule: parted.causes == {rule},
    "among others": lambda parted, rule: rule in parted.causes,
}
"""How sure it is that a rule makes the difference, the surest first."""
_SEQUEL = 3
"""How many steps are looked ahead for what a difference leads to."""


@dataclass(frozen=True, slots=True, eq=False)
class DifferenceSide:
    """How one revision gets to a difference.

    `path`: from the initial world to the step in which the answers part; `rules`: used in that
    step; `sequel`: how the client that acted last may go on until two clients have joined under one
    member id, if that is near; () where the other revision may get there as well.
    """

    worlds: Worlds
    path: Path
    rules: tuple[str, ...]
    sequel: Path = ()

    @property
    def whole(self) -> Path:
        """The path with its sequel."""
        return (*self.path, *self.sequel)


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """A difference between the answers of two revisions.

    `rules`: the differing rules that it shows; `direct`: they were used in the last step, not
    before; `scope`: where it was found; both sides have the same length.
    """

    rules: tuple[str, ...]
    direct: bool
    scope: Scope
    one: DifferenceSide
    other: DifferenceSide

    @property
    def steps(self) -> int:
        """How many steps it takes."""
        return len(self.one.path) - 1


@dataclass(frozen=True, slots=True)
class Explored:
    """What was explored of a scope: pairs of sets of worlds, and how deep.

    `complete`: all of it; `cut`: what comes after some steps was not compared (see
    `product_state.Cut`).
    """

    scope: Scope
    pairs: int
    transitions: int
    depth: int
    complete: bool
    cut: bool


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """All differences between two revisions.

    `differing`: the ids of the rules that differ between the tables; `differences`: shortest first;
    `alike`: differing rules for which none was found; `unsaid`: what can't be asked of both.
    """

    one: Revision
    other: Revision
    differing: tuple[str, ...]
    differences: tuple[Difference, ...]
    unsaid: tuple[Unsaid, ...]
    explored: tuple[Explored, ...]

    @property
    def alike(self) -> tuple[str, ...]:
        """Rules that differ and that nothing shows within the bounds."""
        shown = {rule for difference in self.differences for rule in difference.rules}
        return tuple(rule for rule in self.differing if rule not in shown)

    @property
    def complete(self) -> bool:
        """Whether every scope was explored to its end."""
        return all(e.complete and not e.cut for e in self.explored)

    @property
    def same(self) -> bool:
        """Whether nothing that was explored tells them apart."""
        return not self.differences and not self.unsaid


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """A difference as the explorer found it."""

    rank: int
    scope: int
    trace: tuple[tuple[Doing | None, State], ...]


def compare_revisions(
    one: Revision,
    other: Revision,
    bounds: Sequence[NamedScope] = DIFF_SCOPES,
    *,
    max_states: int | None = None,
) -> Comparison:
    """Compare two revisions within each of the bounds; find the shortest difference for each rule.

    `max_states`: how many pairs are looked at for each of the bounds (see `explore`).
    """
    differing = differing_rules(one, other)
    speaking = spoken(one, other)
    best: dict[str, _Found] = {}
    locksteps = []
    explored = []
    losses: list[Unsaid] = []
    for number, bound in enumerate(bounds):
        scope = bound.scope
        missing = unsaid(*speaking, scope)
        losses += missing
        lost = frozenset(act for loss in missing for act in loss.lost)
        lockstep = Lockstep(*speaking, scope, lost)
        locksteps.append(lockstep)
        result = explore(
            lockstep, _checks(sorted(differing)), max_depth=bound.max_depth, max_states=max_states
        )
        _keep_best(best, number, result)
        explored.append(_explored(scope, result))
    found: dict[tuple[object, ...], tuple[_Found, list[str]]] = {}
    for rule, shown in sorted(best.items()):
        *before, (doing, _) = shown.trace
        assert doing is not None
        key = (shown.scope, tuple(before), doing.kind, doing.client)
        found.setdefault(key, (shown, []))[1].append(rule)
    differences = [
        _difference(locksteps[shown.scope], shown, [r for r in rules if r != _NO_RULE])
        for shown, rules in found.values()
    ]
    differences.sort(key=lambda d: (d.steps, not d.direct, d.rules))
    return Comparison(
        one,
        other,
        tuple(sorted(differing)),
        tuple(differences),
        merged(losses),
        tuple(explored),
    )


def _checks(rules: Sequence[str]) -> list[Check[State, Doing]]:
    checks: list[Check[State, Doing]] = [
        Check(f"{rule} {rank}", _shows(rule, test))
        for rule in rules
        for rank, test in _RANKS.items()
    ]
    return [
        *checks,
        Check(_NO_RULE, lambda s: "" if isinstance(s, Parted) and not s.causes else None),
        Check(_CUT, lambda s: "" if isinstance(s, Cut) else None),
    ]


def _shows(rule: str, test: Callable[[Parted, str], bool]) -> Callable[[State], str | None]:
    return lambda state: "" if isinstance(state, Parted) and test(state, rule) else None


def _keep_best(best: dict[str, _Found], scope: int, result: Exploration[State, Doing]) -> None:
    for name, violation in result.violations.items():
        rule, _, rank = name.partition(" ")
        if name == _CUT:
            continue
        place = 0
        if name == _NO_RULE:
            rule = _NO_RULE
        else:
            place = list(_RANKS).index(rank)
        found = _Found(place, scope, violation.trace)
        before = best.get(rule)
        if before is None or (found.rank, len(found.trace)) < (before.rank, len(before.trace)):
            best[rule] = found


def _explored(scope: Scope, result: Exploration[State, Doing]) -> Explored:
    return Explored(
        scope,
        result.states,
        result.transitions,
        len(result.levels) - 1,
        result.complete,
        _CUT in result.violations,
    )


def _difference(lockstep: Lockstep, found: _Found, rules: list[str]) -> Difference:
    parted = found.trace[-1][1]
    assert isinstance(parted, Parted)
    tellings = []
    for model, moves in zip(lockstep.models, lockstep.followed(found.trace), strict=True):
        path = _path(model, moves)
        tellings.append(DifferenceSide(model, path, moves[-1].rules, _sequel(model, path)))
    one, other = tellings
    if one.sequel and other.sequel:
        one, other = (DifferenceSide(t.worlds, t.path, t.rules) for t in tellings)
    return Difference(tuple(rules), parted.direct, lockstep.scope, one, other)


def _path(model: Worlds, moves: Sequence[Response]) -> Path:
    (start,) = model.initial()
    return ((None, start), *((move.act, move.after) for move in moves))


def _sequel(model: Worlds, path: Path) -> Path:
    """The shortest way on until the client that acted last uses an id that another one uses.

    () if there is none near, or if two did so before.
    """
    act, world = path[-1]
    assert act is not None
    if _one_id_for_two(world):
        return ()
    check: Check[World, Act] = Check("two", lambda w: "" if _one_id_for_two(w) else None)
    onwards = _Onwards(model, world, act.client)
    result = explore(onwards, [check], max_depth=_SEQUEL, stop_at_first=True)
    return next((v.trace[1:] for v in result.violations.values()), ())


def _one_id_for_two(world: World) -> bool:
    held = [c.member_id for c in world.clients if c.member_id and c.generation >= 0]
    return len(set(held)) < len(held)


@dataclass(frozen=True, slots=True)
class _Onwards:
    """What a client may do to one revision from a world on."""

    model: Worlds
    start: World
    client: int

    def initial(self) -> tuple[World, ...]:
        return (self.start,)

    def successors(self, world: World) -> Iterator[tuple[Act, World]]:
        for act, after in self.model.successors(world):
            if act.client == self.client:
                yield act, after
