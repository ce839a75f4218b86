"""Looks for a run that reaches a counterexample to induction.

Exploration looks for a step by the same rule that breaks the same property.  A proof starts from
any group that its invariants allow, so it may fail on a group that no run reaches; then an
invariant is missing, and the rule is not wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fencepost.model.revision import Revision
from fencepost.properties.checking.evaluator import EXCUSED, Evaluator, is_quiet
from fencepost.properties.explorer.exploration import Check
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.logic.property import Property
from fencepost.properties.worlds.concretise import Run, unfold
from fencepost.properties.worlds.scopes import CHECK_SCOPES, NamedScope
from fencepost.properties.worlds.world import Act, World, Worlds

MAX_STATES = 3_000
"""How many worlds of each scope are looked at, at most."""


@dataclass(frozen=True, slots=True)
class Reached:
    """The run that was found, in which scope; None where no run was found.

    `states`: how many worlds were looked at; `complete`: whether these were all that the scopes
    have.
    """

    states: int
    complete: bool
    question: NamedScope | None = None
    run: Run | None = None
    worlds: Worlds | None = None


def reach(
    revision: Revision,
    one: Property,
    rule_id: str,
    questions: Sequence[NamedScope] = CHECK_SCOPES,
    *,
    max_states: int = MAX_STATES,
) -> Reached:
    """Find the shortest run, in the first scope that has one, to such a step by this rule."""
    judging = Evaluator([one], revision)
    states = 0
    complete = True
    for question in questions:
        worlds = Worlds(revision, question.scope, judging.judge)
        check = Check(one.id, step=_Broken(worlds, rule_id))
        found = explore(worlds, [check], max_states=max_states, stop_at_first=True, quiet=is_quiet)
        states += found.states
        violation = found.violations.get(one.id)
        if violation is not None:
            run = unfold(worlds, violation.trace)
            return Reached(states, complete, question, run, worlds)
        complete = complete and found.complete
    return Reached(states, complete)


@dataclass(frozen=True, slots=True)
class _Broken:
    """A check: a step by the rule that breaks the property."""

    worlds: Worlds
    rule_id: str

    def __call__(self, before: World, act: Act, _after: World) -> str | None:
        done = self.worlds.transitions(before, act.kind, act.client)[act.choice]
        rules = {rule.id for view in done.views for rule in view.rules}
        if self.rule_id not in rules:
            return None
        return next((fault for fault in act.faults if not fault.startswith(EXCUSED)), None)
