"""Prove the tables alone: each point that can occur is decided by exactly one rule.

The points are not a list, but all that the invariants allow.  So the list of feasible points
(`fencepost.model.classic.vocabulary.feasible`) is proved, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

import z3

from fencepost.model.classic.vocabulary import STATE, TRIGGER, Trigger
from fencepost.model.revision import Revision
from fencepost.model.table.table import Table
from fencepost.properties.logic import classic_signature as sig
from fencepost.properties.logic.logic import Property
from fencepost.properties.proofs.abstract_guards import (
    FEASIBLE,
    MEANINGS,
    as_formula,
    feasible,
    features_of,
)
from fencepost.properties.proofs.abstract_steps import RUNS
from fencepost.properties.proofs.counterexamples import Ask
from fencepost.properties.proofs.paths import (
    Scene,
    Z,
    before,
    domains,
    event_scene,
    first_group,
    translate,
)
from fencepost.properties.proofs.proof_results import Obligation, Result


def prove_tables(
    revision: Revision, invariants: Collection[Property], solver: Callable[[], Z], ask: Ask
) -> Iterator[Obligation]:
    """Prove that every table is total and unambiguous, and rules out no point that can occur."""
    for table in revision.tables.values():
        triggers = (Trigger.CHECK, Trigger.EXPIRY) if TRIGGER in table.features else (None,)
        for trigger in triggers:
            yield from _prove(table, trigger, invariants, solver, ask)


def _prove(
    table: Table,
    trigger: Trigger | None,
    invariants: Collection[Property],
    solver: Callable[[], Z],
    ask: Ask,
) -> Iterator[Obligation]:
    answers = {} if trigger is None else {TRIGGER: trigger}
    scene = event_scene(first_group(), dict(answers), of_session=table.name == sig.SESSION_END)
    known = []
    if trigger is not Trigger.CHECK:  # a look after a step: nothing is assumed of the group
        known += [before(invariant, scene, batch=False) for invariant in invariants]
    if table.name in RUNS and trigger is not Trigger.CHECK:
        known.append(translate(RUNS[table.name], scene))
    possible = translate(feasible(table.features), scene)
    checks = [translate(as_formula(rule.guard), scene) for rule in table.checks]
    rows = [translate(as_formula(rule.guard), scene) for rule in table.rows]
    base = solver()
    base.add(*known, domains(replace(scene)))
    name = table.name if trigger is None else f"{table.name} ({trigger.value})"

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
    for condition in FEASIBLE:
        features = features_of(condition)
        if features <= columns and features <= MEANINGS.keys() | {STATE}:
            held = translate(as_formula(condition), scene)
            yield claim(f"feasible: {condition}", z3.Not(held), "it can occur")


def _points(solver: Z, scene: Scene) -> str:
    """Return the point of Z3's model, as far as it has states and free features."""
    model = solver.model()
    state = model.eval(scene.now.states[STATE], model_completion=True)
    parts = [f"state {state}"]
    for name, (variable, feature) in scene.used.items():
        number = model.eval(variable, model_completion=True).as_long()
        if 0 <= number < len(feature.domain):
            parts.append(f"{name.rpartition(' (')[0]} {feature.domain[number]}")
    return ", ".join(parts)
