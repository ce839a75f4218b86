"""Evaluates properties on steps and worlds, and makes checks for the explorer of them.

Step properties, and state properties that are formulas about the group, are evaluated once for each
step that a group can take (many worlds share it) and written down as notes on the act.  State
properties that need the clients are evaluated in each world.

Counts which rules of a table a search has used, and lists those that it never used.

A rule counts as never used if it can be reached, and no example used it.  A search that doesn't
report those claims more than it tested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from fencepost.model.classic.group import Group
from fencepost.model.revision import Revision
from fencepost.model.revisions.revisions import lineage
from fencepost.properties.explorer.exploration import Check
from fencepost.properties.logic.formula_closure import Closure
from fencepost.properties.logic.logic import Engine, Formula, Property, PropertyKind
from fencepost.properties.worlds.abstraction import (
    AbstractStep,
    abstract_group,
    abstract_step,
    compiled,
    evaluate,
)
from fencepost.properties.worlds.views import StepView, WorldView
from fencepost.properties.worlds.world import Act, World, Worlds

T = TypeVar("T")
EXCUSED = "~"
_SAYS = ": "
Notes = tuple[str, ...]


class Evaluator:
    """Evaluates properties on steps and worlds.  Takes those that exploration checks.

    A violation that the revision (or the one that it is made from) expects by the rule of that step
    is noted as excused, so that it hides no other.
    """

    def __init__(self, properties: Iterable[Property], revision: Revision) -> None:
        mine = [p for p in properties if Engine.EXPLORATION in p.engines]
        self.of_steps = [p for p in mine if p.kind is PropertyKind.STEP]
        self.of_groups = [p for p in mine if p.kind is PropertyKind.STATE and p.formula is not None]
        self.of_worlds = [p for p in mine if p.kind is PropertyKind.STATE and p.formula is None]
        self._steps = [(p, *_closures(p)) for p in self.of_steps if p.formula is not None]
        self._functions = [p for p in self.of_steps if p.formula is None]
        self._states = [(p, *_closures(p)) for p in self.of_groups]
        self._excused = {p.id: excused_rules(p, revision) for p in mine}
        self._abstract: dict[tuple[AbstractStep, frozenset[str]], tuple[Notes, Notes]] = {}
        self._groups: dict[Group | None, tuple[Notes, Notes]] = {}

    def judge(self, view: StepView) -> tuple[Notes, Notes]:
        """Return what is wrong with a step ("id: sentence"), and which properties it was about."""
        rules = {rule.id for rule in view.rules}
        step = abstract_step(view)
        key = (step, frozenset(rules))
        noted = self._abstract.get(key)
        if noted is None:  # far fewer than steps: formulas know neither deadlines nor bytes
            noted = self._abstract[key] = self._of_abstract(step, rules)
        faults, about = [*noted[0]], [*noted[1]]
        for one in self._functions:
            if premise_holds(one, view):
                about.append(one.id)
            if sentence := broken(one, view):
                faults.append(self._against(one, rules) + sentence)
        wrong, reached = self._of_group(view.after)
        return (*faults, *wrong), (*about, *reached)

    def _of_abstract(self, step: AbstractStep, rules: set[str]) -> tuple[Notes, Notes]:
        asked = (step.before, step.after, step.event)
        wrong = [
            self._against(one, rules) + denied(one)
            for one, holds, _ in self._steps
            if not holds(*asked)
        ]
        return tuple(wrong), tuple(one.id for one, _, premise in self._steps if premise(*asked))

    def _against(self, one: Property, rules: set[str]) -> str:
        excused = self._excused[one.id]
        mark = EXCUSED if excused is None or excused & rules else ""
        return mark + one.id + _SAYS

    def _of_group(self, group: Group | None) -> tuple[Notes, Notes]:
        found = self._groups.get(group)
        if found is None:
            seen = abstract_group(group)
            wrong = [
                self._against(one, set()) + denied(one)
                for one, holds, _ in self._states
                if not holds(seen, seen, None)
            ]
            reached = [one.id for one, _, premise in self._states if premise(seen, seen, None)]
            found = self._groups[group] = (tuple(wrong), tuple(reached))
        return found

    def checks(self, worlds: Worlds) -> list[Check[World, Act]]:
        """Return checks for the explorer; the excused ones under the id and `EXCUSED`."""
        noted = [*self.of_steps, *self.of_groups]
        checks: list[Check[World, Act]] = [
            Check(
                one.id,
                step=partial(_noted, one.id + _SAYS),
                step_witness=partial(_reached, one.id),
                by_action=True,
            )
            for one in noted
        ]
        checks += [
            Check(EXCUSED + one.id, step=partial(_noted, EXCUSED + one.id + _SAYS), by_action=True)
            for one in noted
            if self._excused[one.id] != frozenset()
        ]
        view = _Views(worlds).view
        for one in self.of_worlds:
            name = one.id if self._excused[one.id] is not None else EXCUSED + one.id
            state = partial(
                _of_world, view, partial(broken, one) if one.holds is None else one.holds
            )
            witness = partial(_of_world, view, partial(premise_holds, one))
            checks.append(Check(name, state=state, witness=witness))
        return checks


def excused_rules(one: Property, revision: Revision) -> frozenset[str] | None:
    """Return the rules by which a property may fail here; None: by any.

    What is expected of a revision is expected of those made from it, by the same rules.
    """
    rules: frozenset[str] = frozenset()
    names = lineage(revision)
    for name in names:
        if name in one.expected:
            if name not in one.expected_rules:
                return None if name == names[0] else rules
            rules |= one.expected_rules[name]
    return rules


def denied(one: Property) -> str:
    """Return what is wrong where a formula does not hold."""
    return f"it does not hold that: {one.meaning}"


def _closures(one: Property) -> tuple[Closure, Closure]:
    assert one.formula is not None
    assert isinstance(one.premise, Formula)
    return compiled(one.formula), compiled(one.premise)


def broken(one: Property, thing: StepView | WorldView | Group | None) -> str | None:
    """Return what is wrong in one sentence, or None; for a formula, its meaning, negated."""
    if one.formula is not None:
        assert not isinstance(thing, WorldView)
        return None if evaluate(one.formula, thing) else denied(one)
    assert one.holds is not None
    return one.holds(thing)


def premise_holds(one: Property, thing: StepView | WorldView | Group | None) -> bool:
    """Return whether the case that the property is about is there."""
    premise = one.premise
    if isinstance(premise, Formula):
        assert not isinstance(thing, WorldView)
        return evaluate(premise, thing)
    assert premise is not None
    return premise(thing)


def is_quiet(act: Act) -> bool:
    """Return whether no property is violated by an act."""
    return not act.faults


def _noted(prefix: str, _before: World, act: Act, _after: World) -> str | None:
    for note in act.faults:
        if note.startswith(prefix):
            return note[len(prefix) :]
    return None


def _reached(name: str, _before: World, act: Act, _after: World) -> bool:
    return name in act.about


class _Views:
    """Worlds as properties see them; many look at the same one."""

    def __init__(self, worlds: Worlds) -> None:
        self._worlds = worlds
        self._world: World | None = None
        self._view: WorldView | None = None

    def view(self, world: World) -> WorldView:
        """Return the view of a world."""
        if self._view is None or world is not self._world:
            self._world = world
            self._view = self._worlds.look(world)
        return self._view


def _of_world(view: Callable[[World], WorldView], say: Callable[[WorldView], T], world: World) -> T:
    return say(view(world))


_NEEDS_A_CLUSTER = ("-COORDINATOR-LOADING", "-COORDINATOR-ELSEWHERE")
_NAMED = 12


@dataclass(slots=True)
class Coverage:
    """Counts how many examples used each rule."""

    examples: int = 0
    fired: Counter[str] = field(default_factory=Counter)

    def add(self, rules: Iterable[str]) -> None:
        """Count one more example, and the rules that it used."""
        self.examples += 1
        self.fired.update(set(rules))

    def unfired(self, revision: Revision) -> tuple[str, ...]:
        """Return the rules that can be reached and never were, in the table's order.

        Rules that are proved unreachable don't count, nor those of a coordinator that is loading or
        elsewhere, which nothing that is sent brings about.
        """
        return tuple(
            rule.id
            for _, rule in revision.rules()
            if rule.defensive is None
            and not rule.id.endswith(_NEEDS_A_CLUSTER)
            and rule.id not in self.fired
        )

    def text(self, revision: Revision) -> str:
        """Return a sentence for the end of a run."""
        missing = self.unfired(revision)
        known = {rule.id for _, rule in revision.rules()}
        used = len(known & set(self.fired))
        said = f"{self.examples} examples used {used} rules of {revision.name}"
        if not missing:
            return f"{said}, all that can be reached."
        more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        return f"{said}; never: {', '.join(missing[:_NAMED])}{more}."
