"""Abstracts a group, or a step of it, to the finite structure that formulas speak of.

It also evaluates formulas on such structures.  A formula is compiled once; a group is abstracted
each time, which takes some microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from fencepost.model.classic.group import JOIN, SESSION, SYNC, Group
from fencepost.model.table.vocabulary import GroupState
from fencepost.properties.logic.formula_closure import Closure, compile_closure
from fencepost.properties.logic.logic import Formula
from fencepost.properties.worlds.abstract_event import AbstractEvent, Ids, abstract_event, told
from fencepost.properties.worlds.views import StepView

Pairs = frozenset[tuple[str, str]]
_NOBODY: frozenset[Any] = frozenset()


@dataclass(frozen=True, slots=True)
class AbstractGroup:
    """A group as formulas see it: one field for each relation, number and question."""

    state: GroupState = GroupState.ABSENT
    stored_state: GroupState = GroupState.ABSENT
    the_generation: int = 0
    the_stored_generation: int = 0
    member: Ids = _NOBODY
    pending: Ids = _NOBODY
    seat: Pairs = _NOBODY
    holds: Pairs = _NOBODY
    leads: Ids = _NOBODY
    parked: Ids = _NOBODY
    syncing: Ids = _NOBODY
    new: Ids = _NOBODY
    owes: Ids = _NOBODY
    session: Ids = _NOBODY
    join_timer: bool = False
    sync_timer: bool = False
    delayed: bool = False
    offsets: bool = False
    stored_member: Ids = _NOBODY
    stored_seat: Pairs = _NOBODY
    stored_holds: Pairs = _NOBODY
    stored_leads: Ids = _NOBODY
    caller: Ids = _NOBODY
    deferred: bool = False

    def differences(self, other: AbstractGroup) -> tuple[str, ...]:
        """Return the names of what differs; `caller`, which is part of a step, is left out."""
        names = (one.name for one in fields(self) if one.name != "caller")
        return tuple(name for name in names if getattr(self, name) != getattr(other, name))


@dataclass(frozen=True, slots=True)
class AbstractStep:
    """A step as formulas see it."""

    before: AbstractGroup
    event: AbstractEvent
    after: AbstractGroup


_NO_GROUP = AbstractGroup()


def abstract_group(group: Group | None, caller: Ids = _NOBODY) -> AbstractGroup:
    """Return the group as formulas see it.  `caller`: whom the answer of the step speaks of."""
    if group is None:
        return AbstractGroup(caller=caller) if caller else _NO_GROUP
    members = group.members
    stored = group.stored
    timers = group.timers
    return AbstractGroup(
        group.state,
        GroupState.ABSENT if stored is None else stored.state,
        group.generation_id,
        0 if stored is None else stored.generation_id,
        frozenset([m.member_id for m in members]),
        frozenset(group.pending),
        _seats(group),
        frozenset(group.static),
        _one(group.leader),
        frozenset([m.member_id for m in members if m.joining is not None]),
        frozenset([m.member_id for m in members if m.syncing is not None]),
        frozenset([m.member_id for m in members if m.new]),
        frozenset([m.member_id for m in members if m.owes_sync]),
        frozenset([t.subject for t in timers if t.kind == SESSION]),
        any(t.kind == JOIN for t in timers),
        any(t.kind == SYNC for t in timers),
        group.delay is not None,
        bool(group.offsets),
        _NOBODY if stored is None else frozenset([m.member_id for m in stored.members]),
        _NOBODY if stored is None else _seats(stored),
        _NOBODY if stored is None else frozenset(stored.static),
        _NOBODY if stored is None else _one(stored.leader),
        caller,
    )


def _seats(group: Group) -> Pairs:
    return frozenset(
        [
            (m.member_id, m.group_instance_id)
            for m in group.members
            if m.group_instance_id is not None
        ]
    )


def _one(member_id: str | None) -> Ids:
    return _NOBODY if member_id is None else frozenset([member_id])


def abstract_step(view: StepView) -> AbstractStep:
    """Return the step as formulas see it."""
    return AbstractStep(
        abstract_group(view.before), abstract_event(view), abstract_group(view.after, told(view))
    )


_COMPILED: dict[int, tuple[Formula, Closure]] = {}


def compiled(formula: Formula) -> Closure:
    """Return the formula as a function of (group now, group then, event), compiled once."""
    found = _COMPILED.get(id(formula))
    if found is None:
        found = _COMPILED[id(formula)] = (formula, compile_closure(formula))
    return found[1]


def evaluate(
    formula: Formula, thing: Group | AbstractGroup | StepView | AbstractStep | None
) -> bool:
    """Return whether a formula holds of a group (None: there is none) or of a step."""
    closure = compiled(formula)
    match thing:
        case StepView():
            step = abstract_step(thing)
            return closure(step.before, step.after, step.event)
        case AbstractStep():
            return closure(thing.before, thing.after, thing.event)
        case AbstractGroup():
            return closure(thing, thing, None)
        case _:
            group = abstract_group(thing)
            return closure(group, group, None)
