"""Find mutants, and measure the cost: with the engines that need no more than the model.

There are two ways to kill a mutant.  By properties, an engine finds a step, a world or a history in
which a property does not hold, without knowing the right answer.  By comparison, it finds an answer
that differs from the right model's, which is worth less.  Both ways are used by exploration and by
Hypothesis, in small scopes (`SearchSpace`), so that lengths can be compared.

All searches are bounded by states and examples, never by time, and are the same each time.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from fencepost.model.revision import Revision
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.revisions.consumer_releases import CONSUMER_4_4
from fencepost.properties.checking.checking import (
    MACHINE_STOPS,
    excused,
    promises_of,
    stops_of,
    with_stops,
)
from fencepost.properties.checking.evaluator import EXCUSED, Evaluator, is_quiet
from fencepost.properties.checking.liveness import find_broken_promises
from fencepost.properties.checking.row_properties import DEEP, LASTING_STATES, STATES
from fencepost.properties.claims.property_registry import ALL_PROPERTIES, properties_of
from fencepost.properties.diff.common_versions import spoken
from fencepost.properties.diff.product import Lockstep, Parted, SharedAct, State
from fencepost.properties.explorer.exploration import Check, Exploration
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.explorer.lasso import Lasso
from fencepost.properties.logic.logic import Engine, Property, PropertyKind
from fencepost.properties.mutants.abstract_mutants import abstract_twists
from fencepost.properties.mutants.mutant import Mutant
from fencepost.properties.stateful.machines import FalsifyingWalk, find_violation
from fencepost.properties.worlds.concretise import Run, unfold
from fencepost.properties.worlds.consumer_worlds import CONSUMER_WORLDS
from fencepost.properties.worlds.scope import (
    COMPARED_SCOPES,
    ENDING_SCOPES,
    MUTANT_SCOPES,
    NamedScope,
    Scope,
)
from fencepost.properties.worlds.world import Act, World, Worlds

PAIRS = 200
"""Greatest number of pairs of worlds, side by side, to visit in one scope."""

EXPLORE = "explore"
SEARCH = "hypothesis"
COMPARE = "explore-diff"
DIFFER = "hypothesis-diff"
PROVE = "proofs"
BY_PROPERTIES = (EXPLORE, SEARCH)
BY_COMPARISON = (COMPARE, DIFFER)

_PARTED = "the answers differ"
_READ = 5
"""The number of scopes in which whole histories are checked, which takes long."""
_SHORT = 4
"""Greatest number of acts of a walk for which no shorter walk is searched in other scopes."""

_AGAIN = 2
"""The factor by which fewer walks are tried in other scopes."""


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """The scopes in which engines look for the mutants of a protocol.

    `base`: the right model, from which the mutants are made.  `scopes`: of exploration.
    `walk_scopes`: of Hypothesis.  `diff_scopes`: those in which answers are compared.
    `promise_scopes`: of promises.  `examples`: the most walks for Hypothesis in each scope.
    """

    base: Revision
    scopes: tuple[NamedScope, ...]
    walk_scopes: tuple[Scope, ...]
    diff_scopes: tuple[Scope, ...]
    promise_scopes: tuple[NamedScope, ...]
    examples: int

    @property
    def properties(self) -> tuple[Property, ...]:
        """Return the properties of the protocol."""
        return tuple(properties_of(self.base).values())


SEARCH_SPACES: Mapping[str, SearchSpace] = {
    "classic": SearchSpace(
        KAFKA_4,
        MUTANT_SCOPES,
        tuple(named.scope for named in MUTANT_SCOPES),
        COMPARED_SCOPES,
        ENDING_SCOPES,
        examples=20,
    ),
    "consumer": SearchSpace(
        CONSUMER_4_4,
        CONSUMER_WORLDS.check_scopes,
        CONSUMER_WORLDS.drawing.scopes,
        (*(s.scope for s in CONSUMER_WORLDS.diff_scopes), *CONSUMER_WORLDS.drawing.scopes),
        CONSUMER_WORLDS.promise_scopes,
        examples=60,
    ),
}
"""Name of a protocol → its search space."""


def search_space_of(revision: Revision) -> SearchSpace:
    """Return the search space of a revision's protocol."""
    return SEARCH_SPACES[revision.protocol.name]


@dataclass(frozen=True, slots=True)
class Evidence:
    """A run that shows a kill, and the worlds from which it is unfolded."""

    worlds: Worlds
    run: Run


@dataclass(frozen=True, slots=True)
class EngineResult:
    """The result of one engine for a mutant."""

    engine: str
    killed: bool | None
    length: int = 0
    cost: int = 0
    by: str = ""
    note: str = ""
    lines: tuple[str, ...] = ()
    evidence: Evidence | None = None


# By properties alone.


def by_exploration(revision: Revision, states: int = STATES) -> EngineResult:
    """Find the shortest run in all scopes that breaks a property, or else a promise."""
    best: tuple[int, str, Worlds, tuple[tuple[Act | None, World], ...]] | None = None
    cost = 0
    space = search_space_of(revision)
    for named in space.scopes:
        if best is not None and best[0] <= 1:
            break
        judging = Evaluator(with_stops(space.properties, revision), revision)
        worlds = Worlds(revision, named.scope, judging.judge)
        result = explore(
            worlds,
            [check for check in judging.checks(worlds) if not check.name.startswith(EXCUSED)],
            max_states=max(states, DEEP.get(named.name, 0)),
            max_depth=None if best is None else best[0] - 1,
            stop_at_first=True,
            quiet=is_quiet,
            stops=stops_of(revision),
        )
        cost += result.states
        for name, violation in result.violations.items():
            if best is None or violation.depth < best[0]:
                best = (violation.depth, name, worlds, violation.trace)
    if best is not None:
        length, name, worlds, path = best
        evidence = Evidence(worlds, unfold(worlds, path))
        return EngineResult(
            EXPLORE, killed=True, length=length, cost=cost, by=name, evidence=evidence
        )
    return _by_promises(revision, LASTING_STATES, cost)


def _by_promises(revision: Revision, states: int, cost: int) -> EngineResult:
    """Find a run that breaks a promise; one that the right model breaks, too, proves nothing."""
    promises = [p for p in promises_of(revision) if not excused(p.expected, revision)]
    for named in search_space_of(revision).promise_scopes if promises else ():
        most = max(states, DEEP.get(named.name, 0))
        kept = find_broken_promises(revision, named.scope, promises, max_states=most)
        cost += kept.exploration.states
        for name, lasso in kept.broken.items():
            path = _path_of(lasso)
            evidence = Evidence(kept.worlds, unfold(kept.worlds, path))
            length = len(path) - 1
            return EngineResult(
                EXPLORE, killed=True, length=length, cost=cost, by=name, evidence=evidence
            )
    return EngineResult(EXPLORE, killed=False, cost=cost)


def _path_of(lasso: Lasso[World, Act]) -> tuple[tuple[Act | None, World], ...]:
    """Return the path to the cycle, and once round it."""
    return (*lasso.stem, *lasso.cycle)


def by_walks(revision: Revision, examples: int | None = None) -> EngineResult:
    """Find a random walk that breaks a property, as short as shrinking makes it."""
    space = search_space_of(revision)
    examples = space.examples if examples is None else examples
    cost = 0
    for properties, scopes in _stages(space):
        walk = find_violation(revision, properties, scopes=scopes, max_examples=examples)
        if walk is not None:
            cost += walk.examples
            walk = _shortest(revision, properties, scopes, walk, examples // _AGAIN)
            evidence = Evidence(Worlds(revision, replace(walk.scope, fold=False)), walk.run)
            name = walk.finding.property_id
            return EngineResult(SEARCH, True, len(walk), cost, name, evidence=evidence)
        cost += examples * len(scopes)
    return EngineResult(SEARCH, killed=False, cost=cost)


def _shortest(
    revision: Revision,
    properties: Iterable[Property],
    scopes: Iterable[Scope],
    first: FalsifyingWalk,
    examples: int,
) -> FalsifyingWalk:
    """Return the first walk, or a shorter walk to a violation in another scope."""
    best = first
    for scope in scopes:
        if len(best) > _SHORT and scope != first.scope:
            other_walk = find_violation(revision, properties, scopes=[scope], max_examples=examples)
            best = best if other_walk is None else min(best, other_walk, key=len)
    return best


def _stages(space: SearchSpace) -> Iterator[tuple[tuple[Property, ...], list[Scope]]]:
    """Yield properties with the scopes to check them in.

    Whole histories last, since they take long.
    """
    failing = [scope for scope in space.walk_scopes if scope.fails_over]
    for some in ([scope for scope in space.walk_scopes if scope not in failing], failing):
        yield tuple(p for p in space.properties if p.kind is not PropertyKind.HISTORY), some
    if histories := tuple(p for p in space.properties if p.kind is PropertyKind.HISTORY):
        yield histories, [*space.walk_scopes[:_READ]]


# By comparison.


def by_lockstep(revision: Revision, states: int = PAIRS) -> EngineResult:
    """Find the shortest sequence in all scopes whose answers differ from the right model's."""
    best: tuple[int, Lockstep, tuple[tuple[SharedAct | None, State], ...]] | None = None
    cost = 0
    space = search_space_of(revision)
    for scope in space.diff_scopes:
        if best is not None and best[0] <= 1:
            break
        lockstep = Lockstep(*spoken(space.base, revision), scope)
        result = _explore_lockstep(lockstep, states, None if best is None else best[0] - 1)
        cost += result.states
        for violation in result.violations.values():
            best = (violation.depth, lockstep, violation.trace)
    if best is None:
        return EngineResult(COMPARE, killed=False, cost=cost)
    length, lockstep, trace = best
    parted = trace[-1][1]
    assert isinstance(parted, Parted)
    _, moves = lockstep.followed(trace)
    worlds = lockstep.models[1]
    (start,) = worlds.initial()
    path = ((None, start), *((move.act, move.after) for move in moves))
    causes = parted.suspects | lockstep.differing.intersection(parted.decided)
    by = ", ".join(sorted(causes or moves[-1].rules))
    evidence = Evidence(worlds, unfold(worlds, path))
    return EngineResult(COMPARE, killed=True, length=length, cost=cost, by=by, evidence=evidence)


def _explore_lockstep(
    lockstep: Lockstep, states: int, depth: int | None
) -> Exploration[State, SharedAct]:
    parted: Check[State, SharedAct] = Check(
        _PARTED, lambda state: _PARTED if isinstance(state, Parted) else None
    )
    return explore(lockstep, [parted], max_states=states, max_depth=depth, stop_at_first=True)


def by_different_walks(revision: Revision, examples: int | None = None) -> EngineResult:
    """Find a random walk whose answers the right model can't give, shrunk."""
    space = search_space_of(revision)
    examples = space.examples if examples is None else examples
    try:
        walk = find_violation(
            revision, reference=space.base, scopes=space.diff_scopes, max_examples=examples
        )
    except MACHINE_STOPS:
        return EngineResult(DIFFER, killed=None, note="the model stopped before it differed")
    if walk is None:
        return EngineResult(DIFFER, killed=False, cost=examples * len(space.diff_scopes))
    evidence = Evidence(Worlds(revision, replace(walk.scope, fold=False)), walk.run)
    violation = walk.finding.violation
    by = ", ".join(violation.decided_by) if violation is not None else ""
    return EngineResult(DIFFER, True, len(walk), walk.examples, by, evidence=evidence)


# By proof.


def by_proof(revision: Revision) -> EngineResult:
    """Count the obligations that the right model meets and the mutant fails.  Needs Z3."""
    if importlib.util.find_spec("z3") is None:
        return EngineResult(PROVE, killed=None, note="Z3 is not installed")
    from fencepost.properties.proofs.proofs import prove  # noqa: PLC0415  (Z3 is an extra)

    rules = _touched(revision)
    if not rules:
        return EngineResult(
            PROVE, killed=None, note="no step that proofs know of is taken otherwise"
        )
    proof = prove(revision, rules=rules, overrides=abstract_twists(revision), with_traces=False)
    failed = sorted(proof.failures, key=lambda obligation: obligation.kind not in {"state", "step"})
    cost = len(proof.obligations)
    if failed:
        return EngineResult(PROVE, killed=True, length=len(failed), cost=cost, by=failed[0].about)
    if proof.uncovered:
        note = "not covered: what a twisted step means to the proofs is not said"
        return EngineResult(PROVE, killed=None, cost=cost, note=note)
    return EngineResult(PROVE, killed=False, cost=cost)


def _touched(revision: Revision) -> frozenset[str]:
    """Return the rules whose steps a mutant changes.

    These are rules with other data or a changed effect; where a check is changed, gone or in
    another place, all rules of its table, since each applies where no earlier check did.
    """
    right = search_space_of(revision).base
    theirs = {rule.id: rule for _, rule in right.rules()}
    touched = {
        rule.id
        for _, rule in revision.rules()
        if theirs.get(rule.id) is not rule or set(rule.effect) & set(revision.twists)
    }
    for name, table in revision.tables.items():
        if table.checks != right.tables[name].checks:
            touched |= {rule.id for rule in table.rules()}
    return frozenset(touched)


MODEL_ENGINES: Mapping[str, Callable[[Revision], EngineResult]] = {
    EXPLORE: by_exploration,
    SEARCH: by_walks,
    COMPARE: by_lockstep,
    DIFFER: by_different_walks,
    PROVE: by_proof,
}


@dataclass(frozen=True, slots=True)
class Row:
    """A mutant, and the result of each engine that ran, by engine."""

    mutant: Mutant
    results: Mapping[str, EngineResult]

    @property
    def survives(self) -> bool:
        """Return True if no engine that ran kills it."""
        return not any(result.killed for result in self.results.values())

    @property
    def missed(self) -> tuple[str, ...]:
        """Return the engines that must kill the mutant, ran, and did not."""
        broken = [
            property_ for property_ in ALL_PROPERTIES.values() if property_.id in self.mutant.breaks
        ]
        return tuple(
            engine
            for engine, claim in _CLAIMS.items()
            if (result := self.results.get(engine)) is not None
            and result.killed is False
            and any(claim in property_.engines for property_ in broken)
        )

    def killed_by(self, *engines: str) -> bool:
        """Return True if one of these engines kills it."""
        return any(e in self.results and self.results[e].killed for e in engines)


_CLAIMS = {EXPLORE: Engine.EXPLORATION, PROVE: Engine.PROOF}
"""Engines that must find each violation of their properties; random walks need not."""
