"""Compares two revisions: the shortest way to tell them apart, or that no client can.

The comparison (`product.py`) finds, for each pair of rules that decide, one on each side, the
shortest sequence whose answers differ there: a path through the worlds of either revision, up to
the step in which they part.  Beyond it nothing is compared: clients that were told different things
do different things.  Within the bounds the rest is proved: where everything was explored and
nothing was found, no client can tell the two apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fencepost.model.revision import Revision
from fencepost.properties.diff.common_versions import (
    Unsaid,
    differing_rules,
    merged,
    spoken,
    unsaid,
)
from fencepost.properties.diff.product import Cut, Doing, Lockstep, Pair, Parted, Response, State
from fencepost.properties.explorer.explorer import Check, Exploration, explore
from fencepost.properties.worlds.scope import DIFF_SCOPES, NamedScope, Scope
from fencepost.properties.worlds.world import Act, World, Worlds

Path = tuple[tuple[Act | None, World], ...]

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

    `decided`: the rule that decided on each side, "" where nothing happened; `rules`: which of them
    differ between the tables; `after`: where it isn't one rule that differs, the differing rules
    that had made the groups differ before; `scope`: where it was found; both sides have the same
    length.
    """

    decided: tuple[str, str]
    rules: tuple[str, ...]
    after: tuple[str, ...]
    scope: Scope
    one: DifferenceSide
    other: DifferenceSide

    @property
    def steps(self) -> int:
        """How many steps it takes."""
        return len(self.one.path) - 1

    @property
    def direct(self) -> bool:
        """Whether a rule that decided differs, and not just the group that it found."""
        return not self.after


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
        shown = {rule for d in self.differences for rule in (*d.rules, *d.after)}
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
    """Where the answers part in a scope, and how to get there."""

    parted: Parted
    lockstep: Lockstep
    trace: tuple[tuple[Doing | None, State], ...]

    @property
    def rank(self) -> tuple[bool, int]:
        """What is shown of two with the same rules: the one whose cause is plain, the shortest."""
        return bool(self.parted.suspects), len(self.trace)


def compare_revisions(
    one: Revision,
    other: Revision,
    bounds: Sequence[NamedScope] = DIFF_SCOPES,
    *,
    max_states: int | None = None,
) -> Comparison:
    """Compare two revisions within each of the bounds.

    Finds the shortest difference for each pair of rules that decide, one on each side.
    `max_states`: how many pairs are looked at for each of the bounds (see `explore`).
    """
    differing = differing_rules(one, other)
    speaking = spoken(one, other)
    best: dict[tuple[str, str], _Found] = {}
    explored = []
    losses: list[Unsaid] = []
    for bound in bounds:
        missing = unsaid(*speaking, bound.scope)
        losses += missing
        lost = frozenset(act for loss in missing for act in loss.lost)
        lockstep = Lockstep(*speaking, bound.scope, lost)
        result = explore(
            lockstep, max_depth=bound.max_depth, max_states=max_states, keep_graph=True
        )
        for found in _partings(lockstep, result):
            before = best.get(found.parted.decided)
            if before is None or found.rank < before.rank:
                best[found.parted.decided] = found
        explored.append(_explored(bound.scope, result))
    differences = [_difference(found) for found in best.values()]
    differences.sort(key=lambda d: (d.steps, not d.direct, d.decided))
    return Comparison(
        one,
        other,
        tuple(sorted(differing)),
        tuple(differences),
        merged(losses),
        tuple(explored),
    )


def _partings(lockstep: Lockstep, result: Exploration[State, Doing]) -> Iterator[_Found]:
    """Yield each way in which the answers part in a scope, each with a shortest trace."""
    graph = result.graph
    assert graph is not None
    came: dict[int, tuple[int, Doing]] = {}
    for source, doing, target in graph.edges:
        if target >= graph.initial:
            came.setdefault(target, (source, doing))  # edges are in the order of the search
    for number, state in enumerate(graph.states):
        if isinstance(state, Parted):
            yield _Found(state, lockstep, tuple(reversed([*_way_back(graph.states, came, number)])))


def _way_back(
    states: Sequence[State], came: Mapping[int, tuple[int, Doing]], number: int
) -> Iterator[tuple[Doing | None, State]]:
    """Yield a trace from its end to its beginning."""
    while number in came:
        source, doing = came[number]
        yield doing, states[number]
        number = source
    yield None, states[number]


def _explored(scope: Scope, result: Exploration[State, Doing]) -> Explored:
    return Explored(
        scope,
        result.states,
        result.transitions,
        len(result.levels) - 1,
        result.complete,
        any(isinstance(state, Cut) for state in (result.graph.states if result.graph else ())),
    )


def _difference(found: _Found) -> Difference:
    lockstep, decided = found.lockstep, found.parted.decided
    ways = lockstep.followed(found.trace)
    sides = []
    for model, moves in zip(lockstep.models, ways, strict=True):
        path = _path(model, moves)
        sides.append(DifferenceSide(model, path, moves[-1].rules, _sequel(model, path)))
    one, other = sides
    if one.sequel and other.sequel:
        one, other = (DifferenceSide(t.worlds, t.path, t.rules) for t in sides)
    rules = tuple(dict.fromkeys(rule for rule in decided if rule in lockstep.differing))
    same = bool(rules) and decided[0] == decided[1]  # then it is that rule, whatever came before
    after = _suspects(found, ways) if found.parted.suspects and not same else ()
    return Difference(decided, rules, after, lockstep.scope, one, other)


def _suspects(
    found: _Found, ways: tuple[Sequence[Response], Sequence[Response]]
) -> tuple[str, ...]:
    """The differing rules that were used on the way since the worlds were last the same."""
    pairs = [state for _, state in found.trace[:-1]]
    same = max(i for i, pair in enumerate(pairs) if isinstance(pair, Pair) and not pair.suspects)
    between = list(zip(*ways, strict=True))[same:-1]
    rules = (rule for moves in between for move in moves for rule in move.rules)
    return tuple(dict.fromkeys(rule for rule in rules if rule in found.lockstep.differing))


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
