"""Compare two revisions: the shortest way to distinguish them, or that no client can.

The comparison (`product.py`) finds, for each pair of rules that decide, one on each side, the
shortest sequence whose answers differ there: a path through the worlds of either revision, up to
the step in which they part.  Beyond it nothing is compared: clients with different answers act
differently.  Within the bounds the rest is proved: where everything was explored without a
difference, no client can distinguish the two.
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
from fencepost.properties.diff.product import (
    Cut,
    Lockstep,
    Pair,
    Parted,
    Response,
    SharedAct,
    State,
)
from fencepost.properties.explorer.explorer import Check, Exploration, explore
from fencepost.properties.worlds.scope import NamedScope, Scope
from fencepost.properties.worlds.world import Act, World, Worlds
from fencepost.properties.worlds.worlds_by_protocol import worlds_of

Path = tuple[tuple[Act | None, World], ...]

_SEQUEL = 3
"""Steps to look ahead for the sequel of a difference."""


@dataclass(frozen=True, slots=True, eq=False)
class DifferenceSide:
    """The way of one revision to a difference.

    `path`: from the initial world to the step in which the answers part; `rules`: used in that
    step; `sequel`: the further acts of the client that acted last until two clients have joined
    under one member id, if that is near; () where the other revision may get there as well.
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

    `decided`: the rule that decided on each side, "" without an event; `rules`: those of them that
    differ between the tables; `after`: if it isn't one rule that differs, the differing rules that
    had made the groups differ before; `scope`: its scope; both sides have the same length.
    """

    decided: tuple[str, str]
    rules: tuple[str, ...]
    after: tuple[str, ...]
    scope: Scope
    first: DifferenceSide
    other: DifferenceSide

    @property
    def steps(self) -> int:
        """Number of steps to it."""
        return len(self.first.path) - 1

    @property
    def direct(self) -> bool:
        """True if a rule that decided differs, and not just the group before it."""
        return not self.after


@dataclass(frozen=True, slots=True)
class Explored:
    """The exploration of a scope: pairs of sets of worlds, and the depth.

    `complete`: all of it; `cut`: the states after some steps were not compared (see `product.Cut`).
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
    `alike`: differing rules without a difference in answers; `unsaid`: requests that only one can
    express.
    """

    first: Revision
    other: Revision
    differing: tuple[str, ...]
    differences: tuple[Difference, ...]
    unsaid: tuple[Unsaid, ...]
    explored: tuple[Explored, ...]

    @property
    def alike(self) -> tuple[str, ...]:
        """Rules that differ without a difference in answers within the bounds."""
        with_difference = {rule for d in self.differences for rule in (*d.rules, *d.after)}
        return tuple(rule for rule in self.differing if rule not in with_difference)

    @property
    def complete(self) -> bool:
        """True if every scope was explored to its end."""
        return all(e.complete and not e.cut for e in self.explored)

    @property
    def same(self) -> bool:
        """True if there is no difference within the bounds."""
        return not self.differences and not self.unsaid


@dataclass(frozen=True, slots=True, eq=False)
class _Parting:
    """A place where the answers part in a scope, and the trace to it."""

    parted: Parted
    lockstep: Lockstep
    trace: tuple[tuple[SharedAct | None, State], ...]

    @property
    def rank(self) -> tuple[bool, int]:
        """The order between two with the same rules: plain causes first, then shorter traces."""
        return bool(self.parted.suspects), len(self.trace)


def compare_revisions(
    first: Revision,
    other: Revision,
    bounds: Sequence[NamedScope] | None = None,
    *,
    max_states: int | None = None,
) -> Comparison:
    """Compare two revisions within each of the bounds.

    Finds the shortest difference for each pair of rules that decide, one on each side.  `bounds`:
    by default those of their protocol.  Raises ValueError if they are of two protocols.
    `max_states`: the most pairs for each of the bounds (see `explore`).
    """
    if first.protocol is not other.protocol:
        raise ValueError(
            f"{first.name} is of the {first.protocol.name} protocol and {other.name} of the "
            f"{other.protocol.name} protocol; compare two of one protocol"
        )
    bounds = worlds_of(first).diff_scopes if bounds is None else bounds
    differing = differing_rules(first, other)
    speaking = spoken(first, other)
    best: dict[tuple[str, str], _Parting] = {}
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
        for parting in _partings(lockstep, result):
            before = best.get(parting.parted.decided)
            if before is None or parting.rank < before.rank:
                best[parting.parted.decided] = parting
        explored.append(_explored(bound.scope, result))
    differences = [_difference(parting) for parting in best.values()]
    differences.sort(key=lambda d: (d.steps, not d.direct, d.decided))
    return Comparison(
        first,
        other,
        tuple(sorted(differing)),
        tuple(differences),
        merged(losses),
        tuple(explored),
    )


def _partings(lockstep: Lockstep, result: Exploration[State, SharedAct]) -> Iterator[_Parting]:
    """Yield each way in which the answers part in a scope, each with a shortest trace."""
    graph = result.graph
    assert graph is not None
    came: dict[int, tuple[int, SharedAct]] = {}
    for source, shared, target in graph.edges:
        if target >= graph.initial:
            came.setdefault(target, (source, shared))  # edges are in the order of the search
    for number, state in enumerate(graph.states):
        if isinstance(state, Parted):
            yield _Parting(
                state, lockstep, tuple(reversed([*_way_back(graph.states, came, number)]))
            )


def _way_back(
    states: Sequence[State], came: Mapping[int, tuple[int, SharedAct]], number: int
) -> Iterator[tuple[SharedAct | None, State]]:
    """Yield a trace from its end to its beginning."""
    while number in came:
        source, shared = came[number]
        yield shared, states[number]
        number = source
    yield None, states[number]


def _explored(scope: Scope, result: Exploration[State, SharedAct]) -> Explored:
    return Explored(
        scope,
        result.states,
        result.transitions,
        len(result.levels) - 1,
        result.complete,
        any(isinstance(state, Cut) for state in (result.graph.states if result.graph else ())),
    )


def _difference(parting: _Parting) -> Difference:
    lockstep, decided = parting.lockstep, parting.parted.decided
    ways = lockstep.followed(parting.trace)
    sides = []
    for model, moves in zip(lockstep.models, ways, strict=True):
        path = _path(model, moves)
        sides.append(DifferenceSide(model, path, moves[-1].rules, _sequel(model, path)))
    first, other = sides
    if first.sequel and other.sequel:
        first, other = (DifferenceSide(t.worlds, t.path, t.rules) for t in sides)
    rules = tuple(dict.fromkeys(rule for rule in decided if rule in lockstep.differing))
    same = bool(rules) and decided[0] == decided[1]  # then it is that rule, whatever came before
    after = _suspects(parting, ways) if parting.parted.suspects and not same else ()
    return Difference(decided, rules, after, lockstep.scope, first, other)


def _suspects(
    parting: _Parting, ways: tuple[Sequence[Response], Sequence[Response]]
) -> tuple[str, ...]:
    """Return the differing rules that were used since the worlds were last equal."""
    pairs = [state for _, state in parting.trace[:-1]]
    same = max(i for i, pair in enumerate(pairs) if isinstance(pair, Pair) and not pair.suspects)
    between = list(zip(*ways, strict=True))[same:-1]
    rules = (rule for moves in between for move in moves for rule in move.rules)
    return tuple(dict.fromkeys(rule for rule in rules if rule in parting.lockstep.differing))


def _path(model: Worlds, moves: Sequence[Response]) -> Path:
    (start,) = model.initial()
    return ((None, start), *((move.act, move.after) for move in moves))


def _sequel(model: Worlds, path: Path) -> Path:
    """Return the shortest way on until the client that acted last uses an id of another.

    () if there is none near, or if two did so before.
    """
    act, world = path[-1]
    assert act is not None
    if _one_id_for_two(model, world):
        return ()
    check: Check[World, Act] = Check("two", lambda w: "" if _one_id_for_two(model, w) else None)
    onwards = _Onwards(model, world, act.client)
    result = explore(onwards, [check], max_depth=_SEQUEL, stop_at_first=True)
    return next((v.trace[1:] for v in result.violations.values()), ())


def _one_id_for_two(model: Worlds, world: World) -> bool:
    number = model.protocol.number
    held = [c.member_id for c in world.clients if c.member_id and number(c) >= 0]
    return len(set(held)) < len(held)


@dataclass(frozen=True, slots=True)
class _Onwards:
    """The acts of a client in one revision from a world on."""

    model: Worlds
    start: World
    client: int

    def initial(self) -> tuple[World, ...]:
        return (self.start,)

    def successors(self, world: World) -> Iterator[tuple[Act, World]]:
        for act, after in self.model.successors(world):
            if act.client == self.client:
                yield act, after
