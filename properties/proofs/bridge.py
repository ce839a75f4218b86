"""Check that a concrete step of the model is an abstract step: the bridge to the proofs.

Three things have to agree: the guards of the used rules, as far as they speak of the abstract
group; the group afterwards, in every relation; and the answer.  A difference is described in one
sentence.  So the proofs about abstract steps hold of each step that passed here.

The abstract effects are performed on a finite group.  It evaluates the same data as Z3.  Where a
choice is open, every outcome is returned.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum
from itertools import product
from types import SimpleNamespace
from typing import Any

from fencepost.model.classic.effects import Do
from fencepost.model.classic.group import JOIN, SESSION, SYNC
from fencepost.model.classic.vocabulary import STATE, TRIGGER, GroupState, Trigger
from fencepost.model.table.expr import Expr, Feature
from fencepost.model.table.table import Rule
from fencepost.model.work import Incoming, Timer
from fencepost.properties.logic.classic_signature import (
    CLASSIC_SIGNATURE,
    DELETE_OFFSETS,
    FETCH_OFFSETS,
    LEAVE_ROW,
)
from fencepost.properties.logic.formula_closure import SetClosure, compile_set, everything, slot
from fencepost.properties.logic.logic import TRUE, Formula, is_now
from fencepost.properties.proofs.abstract_effects import (
    CATCH_UP,
    DEFER,
    EFFECTS,
    JOIN_TIMER_FIRES,
    SESSION_FIRES,
    SYNC_TIMER_FIRES,
    AbstractEffect,
    Becomes,
    Counts,
    Moves,
)
from fencepost.properties.proofs.abstract_guards import MEANINGS, features_of, partly
from fencepost.properties.proofs.abstract_steps import SETTLING, answer_of, changed_by
from fencepost.properties.worlds.abstraction import (
    AbstractEvent,
    AbstractGroup,
    abstract_event,
    abstract_group,
    compiled,
    sent_pairs,
)
from fencepost.properties.worlds.views import StepView

_SETS: dict[int, tuple[Becomes, SetClosure]] = {}
_OTHER = "?"
"""An id that no member has: the other case of a choice."""


@dataclass(frozen=True, slots=True)
class Universe:
    """The ids and instances that a step may speak of."""

    ids: frozenset[str]
    instances: frozenset[str]


def universe(group: AbstractGroup, event: AbstractEvent) -> Universe:
    """Return all ids and instances that occur in the group and in the event."""
    return Universe(
        everything(CLASSIC_SIGNATURE, 0, group, group, event) | event.named,
        everything(CLASSIC_SIGNATURE, 1, group, group, event),
    )


def performed(
    effect: AbstractEffect, group: AbstractGroup, event: AbstractEvent, world: Universe
) -> Iterator[AbstractGroup]:
    """Yield every group that the effect may lead to."""
    scratch = SimpleNamespace(
        **{thing.name: getattr(event, thing.name) for thing in fields(event)},
        mid_given=event.mid_given,
        inst_given=event.inst_given,
    )
    if effect.condition is not TRUE and not compiled(effect.condition)(group, group, scratch):
        yield group
        return
    options = sorted(world.ids | {_OTHER, event.the_fresh_id})
    for picked in product(options, repeat=len(effect.choices)):
        for choice, thing in zip(effect.choices, picked, strict=True):
            setattr(scratch, slot(choice.term.name), thing)
        if all(compiled(c.such_that)(group, group, scratch) for c in effect.choices):
            yield _changed_world(effect, group, scratch, world)


def _changed_world(
    effect: AbstractEffect, group: AbstractGroup, event: Any, world: Universe
) -> AbstractGroup:
    changes: dict[str, Any] = {}
    for change in effect.changes:
        match change:
            case Becomes(relation, _, _):
                closure = _set_of(change)
                changes[relation.name] = closure(group, group, event, world.ids, world.instances)
            case Counts(number, source, plus):
                base = 0 if source is None else getattr(group, slot(source.name))
                changes[slot(number.name)] = base + plus
            case Moves(feature, cases):
                for value, formula in cases:
                    if compiled(formula)(group, group, event):
                        changes[slot(feature.name)] = value
                        break
    return replace(group, **changes)


def _set_of(change: Becomes) -> SetClosure:
    kept = _SETS.get(id(change))
    if kept is None:
        kept = _SETS[id(change)] = (
            change,
            compile_set(change.terms, change.formula, CLASSIC_SIGNATURE),
        )
    return kept[1]


Effects = Mapping[Enum, AbstractEffect]
_FIRES = {SESSION: SESSION_FIRES, JOIN: JOIN_TIMER_FIRES, SYNC: SYNC_TIMER_FIRES}
_OWN_ANSWERS = frozenset(
    {
        "OffsetCommit",
        "TxnOffsetCommit",
        "OffsetFetch",
        "OffsetDelete",
        "DescribeGroups",
        "ListGroups",
        "DeleteGroups",
    }
)
_CHANGES: dict[tuple[Enum, ...], Formula] = {}
_ABSTRACT_STATE: Mapping[Hashable, Formula] = {state: is_now(STATE, state) for state in GroupState}


def abstract_step_of(view: StepView, effects: Effects = EFFECTS) -> str | None:
    """Check that a step is an abstract step: None, or the difference in a sentence.

    `effects`: the abstract effect of each effect; a mutant's may differ.
    """
    before = abstract_group(view.before)
    after = abstract_group(view.after)
    event = abstract_event(view)
    rows = sent_pairs(view.event) if isinstance(view.event, Incoming) else None
    rules = tuple(rule for rule in view.rules if not _hands_on(rule))
    if not rules:
        return _compared([before], after, view)
    if event.event == FETCH_OFFSETS:
        rules = rules[:1]  # the others keep the offsets that are read, and do nothing
    if rows is not None and rules[0].effect and Do.ANSWER_ROWS_UNKNOWN in rules[0].effect:
        return _compared([before], after, view)
    if rows is not None:
        return _of_leave(view, before, after, event, rows, rules, effects)
    start = before
    if isinstance(view.event, Timer):
        caller = frozenset([view.event.subject]) if view.event.subject else frozenset()
        start = replace(before, caller=caller)
    elif event.the_id_sent:
        start = replace(before, caller=frozenset([event.the_id_sent]))
    timer = view.event.kind if isinstance(view.event, Timer) else ""
    fires = (_FIRES[timer],) if timer in _FIRES else ()
    trigger = Trigger.EXPIRY if isinstance(view.event, Timer) else None
    if event.event == DELETE_OFFSETS:
        return _of_topics(view, start, after, event, rules, effects)
    first, *settles = rules
    if (wrong := _guard_fails(first, start, event, trigger)) is not None:
        return wrong
    groups = _all_performed((*fires, *_of(first, effects)), [start], event)
    looked_at = event.event in SETTLING and (bool(fires) or _changed(first, start, event))
    groups, wrong = _settled(groups, settles[:1], event, effects, looked_at=looked_at)
    if wrong is not None:
        return wrong
    return _compared(groups, after, view) or _answer_differs(first, settles, event)


def _hands_on(rule: Rule) -> bool:
    """Return True if a leave's rule only passes the rows on."""
    return Do.ANSWER_ROWS in rule.effect or rule.id == "LEAVE-BATCH"


def _of(rule: Rule, effects: Effects) -> tuple[AbstractEffect, ...]:
    return tuple(effects[do] for do in rule.effect)


def _of_topics(
    view: StepView,
    before: AbstractGroup,
    after: AbstractGroup,
    event: AbstractEvent,
    rules: tuple[Rule, ...],
    effects: Effects,
) -> str | None:
    """Check topic by topic: a rule decides on each, by the group as the request met it."""
    groups = [before]
    for rule in rules:
        if (wrong := _guard_fails(rule, before, event, None)) is not None:
            return wrong
        groups = _all_performed(_of(rule, effects), groups, event)
    return _compared(groups, after, view)


def _of_leave(
    view: StepView,
    before: AbstractGroup,
    after: AbstractGroup,
    event: AbstractEvent,
    rows: tuple[tuple[str, str | None], ...],
    rules: tuple[Rule, ...],
    effects: Effects,
) -> str | None:
    """Check row by row, each settled at once, or all settled at the end."""
    own = [rule for rule in rules if TRIGGER not in features_of(rule.guard)]
    if len(own) != len(rows):  # refused as a whole
        return _compared([before], after, view)
    tries = [
        _rows(
            before,
            event,
            list(zip(rows, own, strict=True)),
            rules,
            effects,
            at_the_end=at_the_end,
        )
        for at_the_end in ((False, True) if len(rows) > 1 else (False,))
    ]
    differences = []
    for groups, wrong in tries:
        difference = wrong or _compared(groups, after, view)
        if difference is None:
            return None
        differences.append(difference)
    return differences[0]


def _rows(
    before: AbstractGroup,
    event: AbstractEvent,
    pairs: list[tuple[tuple[str, str | None], Rule]],
    rules: tuple[Rule, ...],
    effects: Effects,
    *,
    at_the_end: bool,
) -> tuple[list[AbstractGroup], str | None]:
    left = list(rules)
    groups = [before]
    changed = False
    for (member_id, instance), rule in pairs:
        row = replace(event, event=LEAVE_ROW, the_id_sent=member_id, the_instance_sent=instance)
        caller = frozenset([member_id]) if member_id else frozenset()
        groups = [replace(group, caller=caller) for group in groups]
        fitting = [g for g in groups if _guard_fails(rule, g, row, None) is None]
        if not fitting:
            return groups, _guard_fails(rule, groups[0], row, None)
        left.remove(rule)
        verbs = [DEFER if do is Do.REBALANCE and at_the_end else effects[do] for do in rule.effect]
        changed = changed or bool(verbs)
        groups = _all_performed(verbs, fitting, row)
        if not at_the_end:
            settles = left[:1] if left and TRIGGER in features_of(left[0].guard) else []
            left = left[len(settles) :]
            groups, wrong = _settled(groups, settles, row, effects, looked_at=bool(verbs))
            if wrong is not None:
                return groups, wrong
    if at_the_end:
        waiting = [g for g in groups if g.deferred]
        groups = [g for g in groups if not g.deferred]
        groups += _all_performed((effects[Do.REBALANCE], CATCH_UP), waiting, event)
        return _settled(groups, left[:1], event, effects, looked_at=changed)
    return groups, None


def _settled(
    groups: list[AbstractGroup],
    settles: list[Rule],
    event: AbstractEvent,
    effects: Effects,
    *,
    looked_at: bool,
) -> tuple[list[AbstractGroup], str | None]:
    """Return the groups after the check of the join phase, and its error."""
    if not settles:
        quiet = [g for g in groups if not looked_at or g.state is not GroupState.PREPARING]
        return quiet or groups, None if quiet else "the join phase was not checked"
    rule = settles[0]
    fitting = [
        g
        for g in groups
        if g.state is GroupState.PREPARING and _guard_fails(rule, g, event, Trigger.CHECK) is None
    ]
    if not fitting:
        return groups, f"{rule.id} checked the join phase, and its guard does not hold"
    return _all_performed(_of(rule, effects), fitting, event), None


def _all_performed(
    effects: Iterable[AbstractEffect], groups: list[AbstractGroup], event: AbstractEvent
) -> list[AbstractGroup]:
    for effect in effects:
        outcomes: dict[AbstractGroup, None] = {}
        for group in groups:
            outcomes.update(dict.fromkeys(performed(effect, group, event, universe(group, event))))
        groups = list(outcomes)
    return groups


def _changed(rule: Rule, group: AbstractGroup, event: AbstractEvent) -> bool:
    changes = _CHANGES.get(rule.effect)
    if changes is None:
        changes = _CHANGES[rule.effect] = changed_by(rule.effect)
    return compiled(changes)(group, group, event)


def _guard_fails(
    rule: Rule, group: AbstractGroup, event: AbstractEvent, trigger: Trigger | None
) -> str | None:
    if _holds(rule.guard, group, event, trigger) is False:
        return f"{rule.id} decided, and its guard does not hold: {rule.guard}"
    return None


def _holds(
    guard: Expr, group: AbstractGroup, event: AbstractEvent, trigger: Trigger | None
) -> bool | None:
    """Return True if a guard holds; None if the abstraction leaves out what decides it."""
    scene = replace(event, trigger=trigger)

    def answer(feature: Feature, values: frozenset[Hashable]) -> bool | None:
        if feature is TRIGGER and trigger is not None:
            return trigger in values
        meanings = _ABSTRACT_STATE if feature is STATE else MEANINGS.get(feature)
        if meanings is None:
            return None
        return any(compiled(meanings[value])(group, group, scene) for value in values)

    return partly(guard, answer)


def _compared(groups: list[AbstractGroup], after: AbstractGroup, view: StepView) -> str | None:
    differences = [group.differences(after) for group in groups]
    if not differences or () in differences:
        return None if differences else "no abstract step follows"
    fewest = min(range(len(groups)), key=lambda i: len(differences[i]))
    names = " then ".join(rule.id for rule in view.rules) or "no rule"
    parts = [
        f"{name} should be {_text_of(getattr(groups[fewest], name))} and is "
        f"{_text_of(getattr(after, name))}"
        for name in differences[fewest]
    ]
    return f"after {names}, {'; '.join(parts)}"


def _text_of(value: object) -> str:
    if isinstance(value, frozenset):
        return "{" + ", ".join(sorted(map(str, value))) + "}"
    return str(getattr(value, "value", value))


def _answer_differs(rule: Rule, settles: list[Rule], event: AbstractEvent) -> str | None:
    if event.event in _OWN_ANSWERS or event.event not in SETTLING | {"SyncGroup", "Heartbeat"}:
        return None
    expected = answer_of(rule, settles[0] if settles else None)
    if event.the_timers_id or expected is event.answer:
        return None
    texts = ["nothing" if error is None else error.name for error in (expected, event.answer)]
    return f"{rule.id} should answer {texts[0]} and answered {texts[1]}"
