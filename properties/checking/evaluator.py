"""Evaluate properties on steps and worlds, make checks for the explorer, and count used rules.

Step properties, and state properties that are formulas about the group, are evaluated once for each
step that a group can take (many worlds share it) and written down as notes on the act.  State
properties that need the clients are evaluated in each world.

A rule counts as never used if it can be reached, and no example used it.  A search that doesn't
report those claims more than it tested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from fencepost.model.history.words import first_names
from fencepost.model.revision import Revision
from fencepost.properties.claims.invariants import STORED
from fencepost.properties.claims.property_registry import (
    inherited_rules,
    known_of_releases,
    listed_under,
)
from fencepost.properties.claims.world_properties import DECIDED
from fencepost.properties.explorer.exploration import Check
from fencepost.properties.logic.formula_closure import Closure
from fencepost.properties.logic.logic import Engine, Formula, Property, PropertyKind
from fencepost.properties.logic.structures import Abstraction, AbstractStep, answered_about
from fencepost.properties.worlds.views import StepView, WorldView
from fencepost.properties.worlds.world import Act, World, Worlds
from fencepost.properties.worlds.worlds_by_protocol import worlds_of

T = TypeVar("T")
EXCUSED = "~"
_OF_STORED = frozenset(claim.id for claim in STORED)
_SAYS = ": "
Notes = tuple[str, ...]


class Evaluator:
    """Evaluates properties on steps and worlds.  Takes those that exploration checks.

    Properties of the stored record are evaluated in worlds that keep it.

    A violation that the revision (or the one that it is made from) expects by the rule of that step
    is noted as excused, so that it hides no other.
    """

    def __init__(self, properties: Iterable[Property], revision: Revision) -> None:
        self._abstraction = worlds_of(revision).abstraction
        mine = [p for p in properties if Engine.EXPLORATION in p.engines]
        self.of_steps = [p for p in mine if p.kind is PropertyKind.STEP]
        self.of_groups = [p for p in mine if p.kind is PropertyKind.STATE and p.formula is not None]
        self.of_worlds = [p for p in mine if p.kind is PropertyKind.STATE and p.formula is None]
        self._steps = [
            (p, *self._closures(p))
            for p in self.of_steps
            if p.formula is not None and p.invariant is None
        ]
        self._kept = [(p, *self._closures(p)) for p in self.of_steps if p.invariant is not None]
        self._functions = [
            (p.id, p.holds, p.premise, p.premise_guards)
            for p in self.of_steps
            if p.holds is not None and callable(p.premise)
        ]
        self._states = [(p, *self._closures(p)) for p in self.of_groups]
        self._unstored = [row for row in self._states if row[0].id not in _OF_STORED]
        self._excused = {p.id: excused_rules(p, revision) for p in mine}
        self._abstract: dict[tuple[object, ...], tuple[Notes, Notes]] = {}
        self._interned: dict[Any, tuple[int, Any]] = {}
        self._abstractions: dict[Any, tuple[int, Any]] = {}
        self._groups: dict[tuple[int, bool], tuple[Notes, Notes]] = {}
        self._invariants: dict[int, tuple[frozenset[str], Notes]] = {}
        self.used: set[str] = set()
        """The rules of all steps that were judged."""

    def all(self) -> list[Property]:
        """Return all that it evaluates."""
        return [*self.of_steps, *self.of_groups, *self.of_worlds]

    def judge(self, view: StepView) -> tuple[Notes, Notes]:
        """Return the faults of a step ("id: sentence"), and the properties that it was about."""
        rules = frozenset([rule.id for rule in view.rules])
        self.used |= rules
        if not self._steps and not self._states and not self._kept:
            return self._of_functions(view, rules)
        number, before = self._abstracted(view.before)
        number_after, after = self._abstracted(view.after)
        event, caller = self._abstraction.event(view), self._abstraction.answered(view)
        key = (number, number_after, caller, event, rules)
        noted = self._abstract.get(key)
        if noted is None:  # far fewer than steps: formulas know neither deadlines nor bytes
            then = answered_about(after, caller)
            noted = self._abstract[key] = self._of_abstract(
                AbstractStep(before, event, then), rules
            )
        wrong, reached = self._of_group(number_after, after, stored=view.keeps_stored)
        broken, kept = self._of_invariants((number, before), (number_after, after), rules)
        faults, about = self._of_functions(view, rules, *noted)
        return (*faults, *broken, *wrong), (*about, *kept, *reached)

    def _of_invariants(
        self, before: tuple[int, Any], after: tuple[int, Any], rules: frozenset[str]
    ) -> tuple[Notes, Notes]:
        """Return the notes of the properties that an invariant is kept."""
        (was, _), (now, about) = self._broken_in(*before), self._broken_in(*after)
        new = now - was  # an earlier step broke the others
        if not new:
            return (), about
        wrong = [
            self._against(claim.id, rules) + self._denied(claim, after[1], after[1], None)
            for claim, *_ in self._kept
            if claim.id in new
        ]
        return tuple(wrong), about

    def _broken_in(self, number: int, group: Any) -> tuple[frozenset[str], Notes]:
        """Return the invariants that don't hold of a group, and those that it is about."""
        noted = self._invariants.get(number)
        if noted is None:
            wrong = [claim.id for claim, holds, _ in self._kept if not holds(group, group, None)]
            about = [claim.id for claim, _, premise in self._kept if premise(group, group, None)]
            noted = self._invariants[number] = (frozenset(wrong), tuple(about))
        return noted

    def _of_functions(
        self, view: StepView, rules: frozenset[str], faults: Notes = (), about: Notes = ()
    ) -> tuple[Notes, Notes]:
        """Return the notes with those of the properties that are functions."""
        wrong, reached = [*faults], [*about]
        for name, holds, premise, guards in self._functions:
            if premise(view):
                reached.append(name)
            elif guards:
                continue
            if sentence := holds(view):
                wrong.append(self._against(name, rules) + sentence)
        return tuple(wrong), tuple(reached)

    def _closures(self, claim: Property) -> tuple[Closure, Closure]:
        compiled = self._abstraction.compiled
        assert isinstance(claim.premise, Formula)
        return compiled(claim.statement), compiled(claim.premise)

    def _abstracted(self, group: Any) -> tuple[int, Any]:
        """Return a group as formulas see it, with its number: equal ones have one number."""
        known = self._abstractions.get(group)
        if known is None:
            abstract = self._abstraction.group(group)
            known = self._interned.setdefault(abstract, (len(self._interned), abstract))
            self._abstractions[group] = known
        return known

    def _of_abstract(self, step: AbstractStep, rules: frozenset[str]) -> tuple[Notes, Notes]:
        point = (step.before, step.after, step.event)
        wrong = [
            self._against(claim.id, rules) + self._denied(claim, *point)
            for claim, holds, _ in self._steps
            if not holds(*point)
        ]
        return tuple(wrong), tuple(claim.id for claim, _, premise in self._steps if premise(*point))

    def _denied(self, claim: Property, now: Any, then: Any, event: Any) -> str:
        return denied(claim, self._abstraction.counterexample(claim.statement, now, then, event))

    def _against(self, name: str, rules: frozenset[str]) -> str:
        excused = self._excused[name]
        mark = EXCUSED if excused is None or excused & rules else ""
        return mark + name + _SAYS

    def _of_group(self, number: int, group: Any, *, stored: bool) -> tuple[Notes, Notes]:
        notes = self._groups.get((number, stored))
        if notes is None:
            states = self._states if stored else self._unstored
            wrong = [
                self._against(claim.id, frozenset()) + self._denied(claim, group, group, None)
                for claim, holds, _ in states
                if not holds(group, group, None)
            ]
            reached = [claim.id for claim, _, premise in states if premise(group, group, None)]
            notes = self._groups[number, stored] = (tuple(wrong), tuple(reached))
        return notes

    def checks(self, worlds: Worlds) -> list[Check[World, Act]]:
        """Return checks for the explorer; the excused ones under the id and `EXCUSED`."""
        noted = [*self.of_steps, *self.of_groups]
        checks: list[Check[World, Act]] = [
            Check(
                claim.id,
                step=partial(_noted, claim.id + _SAYS),
                step_witness=partial(_reached, claim.id),
                by_action=True,
            )
            for claim in noted
        ]
        checks += [
            Check(
                EXCUSED + claim.id, step=partial(_noted, EXCUSED + claim.id + _SAYS), by_action=True
            )
            for claim in noted
            if self._excused[claim.id] != frozenset()
        ]
        view = _Views(worlds).view
        for claim in self.of_worlds:
            if claim is DECIDED:
                checks.append(Check(claim.id, witness=_always, stops=True))
                continue
            name = claim.id if self._excused[claim.id] is not None else EXCUSED + claim.id
            assert claim.holds is not None
            assert callable(claim.premise)
            state = partial(_of_world, view, claim.holds)
            witness = partial(_of_world, view, claim.premise)
            checks.append(Check(name, state=state, witness=witness))
        return checks


def excused_rules(claim: Property, revision: Revision) -> frozenset[str] | None:
    """Return the rules by which a property may fail here; None: by any.

    Expected failures of a revision are expected of those made from it, by the same rules; and those
    of a release by a rule that does the same (`known_of_releases`).
    """
    rules = frozenset(known_of_releases(claim, revision))
    names = tuple(listed_under(revision))
    for name in names:
        if name in claim.expected:
            if name not in claim.expected_rules:
                return None if name == names[0] else rules
            rules |= claim.expected_rules[name] & inherited_rules(revision, name)
    return rules


def denied(claim: Property, things: Sequence[str] = ()) -> str:
    """Return the sentence for a formula that does not hold, of these things."""
    of = f"of {', '.join(things)}" if things else "that"
    return f"it does not hold {of}: {claim.meaning}"


def broken(claim: Property, thing: Any, abstraction: Abstraction | None = None) -> str | None:
    """Return the violation in one sentence, or None; for a formula, its meaning, negated.

    `abstraction`: that of the group's protocol, which only formulas need.
    """
    if claim.formula is not None:
        assert abstraction is not None
        return None if abstraction.evaluate(claim.formula, thing) else denied(claim)
    assert claim.holds is not None
    return claim.holds(thing)


def is_quiet(act: Act) -> bool:
    """Return True if no property is violated by an act."""
    return not act.faults


def _noted(prefix: str, _before: World, act: Act, _after: World) -> str | None:
    for note in act.faults:
        if note.startswith(prefix):
            return note[len(prefix) :]
    return None


def _reached(name: str, _before: World, act: Act, _after: World) -> bool:
    return name in act.about


def _always(_: World) -> bool:
    return True


class _Views:
    """Worlds as properties see them; cached, since many properties look at one world."""

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
    """Counts the examples that used each rule."""

    examples: int = 0
    fired: Counter[str] = field(default_factory=Counter)

    def add(self, rules: Iterable[str], *, is_example: bool = True) -> None:
        """Count the rules that were used by one more example, or by something else."""
        self.examples += is_example
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

    def text(self, revision: Revision, beside: str = "") -> str:
        """Return a sentence for the end of a run; `beside`: what used rules beside the examples."""
        missing = self.unfired(revision)
        known = {rule.id for _, rule in revision.rules()}
        used = len(known & set(self.fired))
        begin = f"{self.examples} examples{beside} used {used} rules of {revision.name}"
        if not missing:
            return f"{begin}, all that can be reached."
        return f"{begin}; never: {first_names(missing, _NAMED)}."
