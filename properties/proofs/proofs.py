"""Prove every obligation of a revision with Z3, with no bound on members and instances.

The obligations: each table is total and unambiguous; each state property holds of a group that
doesn't exist and is kept by every step; each step property holds of every step that begins where
the state properties hold; every rule can be reached but those marked defensive; every property's
premise is reached by some step.  An obligation that Z3 can't decide has failed.

A property that fails on purpose in a revision must fail there, by exactly the rules that are named.

The tables are proved alone: each point that can occur is decided by exactly one rule.  The points
are not a list, but all that the invariants allow.  So the list of feasible points
(`fencepost.model.classic.vocabulary.feasible`) is proved, too.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

import z3

from fencepost.model.revision import Revision
from fencepost.model.revisions.revisions import is_shipped, shipped_base
from fencepost.model.table.table import OwnStep, Table
from fencepost.properties.claims.property_registry import (
    adapted,
    expected_in,
    formulas_of,
    inherited_rules,
)
from fencepost.properties.logic.logic import Property, PropertyKind
from fencepost.properties.proofs.counterexamples import Ask, smallest
from fencepost.properties.proofs.paths import (
    Encoded,
    Scene,
    Z,
    after,
    assumed,
    before,
    domains,
    encode,
    event_scene,
    is_untouched,
    premise,
    translate,
)
from fencepost.properties.proofs.proof_results import Obligation, Proof, Result
from fencepost.properties.proofs.theories import theory_of
from fencepost.properties.proofs.theory import Effects, Lookup, Path, Theory, features_in


def prove_tables(
    revision: Revision,
    theory: Theory,
    invariants: Collection[Property],
    solver: Callable[[], Z],
    ask: Ask,
) -> Iterator[Obligation]:
    """Prove that every table is total and unambiguous, and rules out no point that can occur."""
    for table in revision.tables.values():
        for lookup in theory.lookups(table):
            yield from _prove(table, lookup, theory, invariants, solver, ask)


def _prove(
    table: Table,
    lookup: Lookup,
    theory: Theory,
    invariants: Collection[Property],
    solver: Callable[[], Z],
    ask: Ask,
) -> Iterator[Obligation]:
    name, answers, is_assumed = lookup
    guards = theory.guards
    scene = event_scene(theory, dict(answers), table=table.name)
    known = [translate(axiom, scene) for axiom in theory.axioms]
    if is_assumed:
        known += [before(invariant, scene, theory, batch=False) for invariant in invariants]
        if table.name in theory.runs:
            known.append(translate(theory.runs[table.name], scene))
    possible = translate(guards.feasible(table.features), scene)
    checks = [translate(guards.formula(rule.guard), scene) for rule in table.checks]
    rows = [translate(guards.formula(rule.guard), scene) for rule in table.rows]
    base = solver()
    base.add(*known, domains(replace(scene)))

    def claim(kind: str, claim: Z, detail: str, *assumed: Z) -> Obligation:
        base.push()
        base.add(*assumed, claim)
        answer = ask(base)
        points = _points(base, scene) if answer == "sat" else ""
        base.pop()
        if answer == "unsat":
            return Obligation("table", name, kind, Result.PROVED)
        if answer == "sat":
            return Obligation("table", name, kind, Result.FAILED, f"{detail}: {points}")
        return Obligation("table", name, kind, Result.UNKNOWN)

    yield claim("total", z3.Not(z3.Or(*checks, *rows)), "no rule decides", possible)
    unchecked = z3.Not(z3.Or(*checks))
    overlap = z3.AtLeast(*rows, 2) if len(rows) > 1 else z3.BoolVal(False)
    yield claim("unambiguous", overlap, "several rules decide", possible, unchecked)
    columns = frozenset(table.features)
    for condition in guards.conditions:
        features = features_in(condition)
        if features <= columns and guards.is_meant(features):
            held = translate(guards.formula(condition), scene)
            yield claim(f"feasible: {condition}", z3.Not(held), "it can occur")


def _points(solver: Z, scene: Scene) -> str:
    """Return the point of Z3's model, as far as it has states and free features."""
    model = solver.model()
    parts = [
        f"{feature.name} {model.eval(state, model_completion=True)}"
        for feature, state in list(scene.now.states.items())[:1]
    ]
    for name, (variable, feature) in scene.used.items():
        number = model.eval(variable, model_completion=True).as_long()
        if 0 <= number < len(feature.domain):
            parts.append(f"{name.rpartition(' (')[0]} {feature.domain[number]}")
    return ", ".join(parts)


TIMEOUT_MS = 10_000
"""Limit of Z3 for one query, ms; beyond it the obligation is undecided."""

_AGAIN_S = 0.05
"""Seconds after which Ctrl-C is looked for, and a query that still runs is interrupted again."""

_SEED = 345


def ask(solver: z3.Solver) -> str:
    """Query if the solver's constraints have a model: "sat", "unsat" or "unknown"."""
    return str(solver.check())


@contextmanager
def interruptible() -> Iterator[Ask]:
    """Yield an `ask` that Ctrl-C ends at once, with KeyboardInterrupt; for the main thread.

    Z3's own handler would answer "unknown" for the query that is cut short, so it is switched off
    (`_ProofSearch.solver`).  A query runs in a thread, since Python handles no signal during it.
    An interrupt that is raised in a destructor of Z3's wrappers is lost: the next query raises it.
    """
    interrupted = is_busy = is_deferred = False
    handler = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted, is_deferred
        interrupted = True
        if is_busy:  # an exception now could leave Z3 running, beside the next query
            is_deferred = True
        elif callable(handler):
            handler(number, frame)

    def ask_aside(solver: z3.Solver) -> str:
        nonlocal is_busy, is_deferred
        is_busy = True
        query = queries.submit(ask, solver)
        try:
            while not query.done() and not interrupted:
                wait([query], timeout=_AGAIN_S)
        finally:
            while not query.done():  # an interrupt before Z3 begins is forgotten
                z3.main_ctx().interrupt()
                wait([query], timeout=_AGAIN_S)
            is_busy = False
        if is_deferred and callable(handler):
            is_deferred = False
            handler(signal.SIGINT, None)
        if interrupted:
            raise KeyboardInterrupt
        return query.result()

    if handler is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, note)
    try:
        with ThreadPoolExecutor(1, thread_name_prefix="z3") as queries:
            yield ask_aside
    finally:
        signal.signal(signal.SIGINT, handler)


def invariants_of(properties: Collection[Property]) -> tuple[Property, ...]:
    """Return the state properties, and the steps' invariants, which are assumed before each step.

    Also a state property that fails in a revision: then the proofs name the rules that break it
    first, and cover the other properties only up to there.
    """
    return tuple(
        claim
        for claim in properties
        if claim.formula is not None
        and (claim.kind is PropertyKind.STATE or claim.invariant is not None)
    )


def prove(
    revision: Revision,
    only: Collection[str] = (),
    *,
    properties: Collection[Property] | None = None,
    assume: Collection[Property] | None = None,
    rules: Collection[str] = (),
    overrides: Effects | None = None,
    timeout_ms: int = TIMEOUT_MS,
    ask: Ask = ask,
    with_traces: bool = True,
) -> Proof:
    """Prove all obligations of a revision.

    `only`: ids of properties to prove (then tables and rules are not proved).  `properties`: all
    that there are, by default those of the protocol.  `assume`: those that are assumed before each
    step, by default all that speak of groups.  `rules`: ids of the only rules
    whose steps are proved (then premises and reachability are not). `overrides`: the abstract
    effects that the revision performs differently.  `with_traces`: with counterexamples.
    """
    search = _ProofSearch(
        revision,
        theory_of(revision),
        formulas_of(revision) if properties is None else properties,
        assume,
        frozenset(only),
        frozenset(rules),
        overrides or {},
        timeout_ms,
        ask,
        with_traces,
    )
    return Proof(revision.name, tuple(search.obligations()), revision.protocol.name)


_NOT_KNOWN = {
    False: "performed otherwise, and the proof doesn't model that",
    True: "a step of the user's own, of which proofs know nothing",
}
"""Reason for which a path isn't proved, by whether it has a user's own step."""


@dataclass(slots=True)
class _ProofSearch:
    revision: Revision
    theory: Theory
    properties: Collection[Property]
    assume: Collection[Property] | None
    only: frozenset[str]
    rules: frozenset[str]
    overrides: Effects
    timeout_ms: int
    ask: Ask
    with_traces: bool
    _known: tuple[Property, ...] = ()
    _goals: tuple[Property, ...] = ()
    _assumed: dict[bool, list[Any]] = field(default_factory=dict)
    _reached: set[str] = field(default_factory=set)
    _undecided: set[str] = field(default_factory=set)
    _witnessed: set[str] = field(default_factory=set)
    _with_example: set[tuple[str, str]] = field(default_factory=set)
    _failing: dict[str, set[str]] = field(default_factory=dict)
    _inherited: frozenset[str] = frozenset()

    def obligations(self) -> Iterator[Obligation]:
        claims = {claim.id: adapted(claim, self.revision) for claim in self.properties}
        self._inherited = inherited_rules(self.revision, shipped_base(self.revision).name)
        known = invariants_of(claims.values() if self.assume is None else self.assume)
        self._known = tuple(
            claim
            for claim in known
            if claim.kind is PropertyKind.STATE or expected_in(claim, self.revision) is None
        )
        self._goals = tuple(
            claim
            for name, claim in claims.items()
            if claim.formula is not None and (not self.only or {name, claim.id} & self.only)
        )
        if not self.only and not self.rules:
            yield from prove_tables(self.revision, self.theory, self._known, self.solver, self.ask)
        yield from self._initial()
        for path in self.theory.paths(self.revision, self.overrides):
            if self.rules and path.rule.id not in self.rules:
                continue
            if path.unknown:
                verbs = ", ".join(do.name for do in path.unknown)
                yield Obligation(
                    "step",
                    "every property",
                    path.name,
                    Result.UNCOVERED,
                    f"{verbs}: {_NOT_KNOWN[any(isinstance(d, OwnStep) for d in path.unknown)]}",
                    rule=path.rule.id,
                )
                self._reached |= {path.rule.id, path.settle.id if path.settle else ""}
            else:
                yield from self._of_path(path)
        if not self.rules:
            yield from self._stale()
            yield from self._vacuous()

    def solver(self) -> z3.Solver:
        """Return a solver with the limits of this proof."""
        solver = z3.Solver()
        solver.set("ctrl_c", False)
        solver.set("timeout", self.timeout_ms)
        solver.set("random_seed", _SEED)
        return solver

    def _initial(self) -> Iterator[Obligation]:
        abstraction = self.theory.abstraction
        for claim in invariants_of(self._goals):
            holds = abstraction.evaluate(claim.statement, abstraction.nothing)
            result = Result.PROVED if holds else Result.FAILED
            detail = "" if holds else "it does not hold of a group that doesn't exist"
            yield Obligation(claim.kind.value, claim.id, "at first", result, detail)

    def _of_path(self, path: Path) -> Iterator[Obligation]:
        batch = path.is_of_a_batch
        if batch not in self._assumed:
            self._assumed[batch] = assumed(self._known, self.theory, batch=batch)
        encoded = encode(path, self._assumed[batch], self.theory)
        solver = self.solver()
        solver.add(*encoded.constraints)
        possible = self.ask(solver)
        if possible == "unsat":
            return
        names = {path.rule.id} | ({path.settle.id} if path.settle else set())
        (self._reached if possible == "sat" else self._undecided).update(names)
        if path.rule.defensive and not self.only:
            yield self._not_defensive(path, possible)
        for claim in self._goals:
            self._witness(claim, encoded, solver)
            yield self._goal(claim, path, encoded, solver)

    def _not_defensive(self, path: Path, possible: str) -> Obligation:
        if possible != "sat":
            return Obligation("defensive", path.rule.id, path.name, Result.UNKNOWN)
        return Obligation(
            "defensive",
            path.rule.id,
            path.name,
            Result.FAILED,
            "it is marked as unreachable, and can decide",
            smallest(path, self._known, None, self.theory, self.solver, self.ask),
            path.rule.id,
        )

    def _witness(self, claim: Property, encoded: Encoded, solver: z3.Solver) -> None:
        """Note a property whose premise the step reaches."""
        if claim.id in self._witnessed:
            return
        solver.push()
        solver.add(premise(claim, encoded.scene))
        if self.ask(solver) == "sat":
            self._witnessed.add(claim.id)
        solver.pop()

    def _goal(self, claim: Property, path: Path, encoded: Encoded, solver: z3.Solver) -> Obligation:
        kind = claim.kind.value
        if is_untouched(claim, path) and (claim in self._known or claim.invariant is not None):
            return Obligation(kind, claim.id, path.name, Result.PROVED, rule=path.rule.id)
        expected = expected_in(claim, self.revision)
        solver.push()
        solver.add(z3.Not(after(claim, encoded, path, self.theory)))
        answer = self.ask(solver)
        try:
            if answer == "unsat":
                return Obligation(kind, claim.id, path.name, Result.PROVED, rule=path.rule.id)
            if answer != "sat":
                detail = f"Z3 can't decide it within {self.timeout_ms} ms"
                return Obligation(
                    kind, claim.id, path.name, Result.UNKNOWN, detail, rule=path.rule.id
                )
            self._failing.setdefault(claim.id, set()).add(path.rule.id)
            example = None
            if self.with_traces and (claim.id, path.rule.id) not in self._with_example:
                self._with_example.add((claim.id, path.rule.id))
                example = smallest(path, self._known, claim, self.theory, self.solver, self.ask)
        finally:
            solver.pop()
        is_expected = expected is not None and (expected[1] is None or path.rule.id in expected[1])
        if expected is not None and is_expected and path.rule.id in self._inherited:
            return Obligation(
                kind, claim.id, path.name, Result.EXPECTED, expected[0], example, path.rule.id
            )
        return Obligation(
            kind, claim.id, path.name, Result.FAILED, claim.meaning, example, path.rule.id
        )

    def _stale(self) -> Iterator[Obligation]:
        """Yield expected violations that don't occur: errors in our lists, or inherited ones."""
        result = Result.STALE if is_shipped(self.revision) else Result.KEPT
        there = {rule.id for _, rule in self.revision.rules()}
        for claim in self._goals:
            expected = expected_in(claim, self.revision)
            if expected is None:
                continue
            failing = self._failing.get(claim.id, set())
            missing = (
                ({"some rule"} if not failing else set())
                if expected[1] is None
                else (expected[1] - failing)
            )
            for rule in sorted(missing):
                detail = f"it was expected to fail by {rule}: {expected[0]}"
                if result is Result.KEPT:
                    gone = "" if rule in there else ", which this revision does not have"
                    detail = f"{shipped_base(self.revision).name} breaks it by {rule}{gone}"
                yield Obligation(claim.kind.value, claim.id, rule, result, detail, rule=rule)

    def _vacuous(self) -> Iterator[Obligation]:
        """Yield rules that never decide, and premises that nothing reaches."""
        for claim in self._goals:
            reached = claim.id in self._witnessed
            detail = "" if reached else "no step reaches the case that it is about: it says nothing"
            result = Result.PROVED if reached else Result.FAILED
            yield Obligation("premise", claim.id, "", result, detail)
        if self.only:
            return
        for _, rule in self.revision.rules():
            if rule.id in self._undecided - self._reached:
                yield Obligation("reachable", rule.id, "", Result.UNKNOWN)
            elif rule.defensive is not None:
                if rule.id not in self._reached:
                    yield Obligation("defensive", rule.id, "", Result.PROVED, rule.defensive)
            elif rule.id in self._reached:
                yield Obligation("reachable", rule.id, "", Result.PROVED)
            else:
                detail = "no request or timer reaches it: mark it defensive, or drop it"
                yield Obligation("reachable", rule.id, "", Result.FAILED, detail)
