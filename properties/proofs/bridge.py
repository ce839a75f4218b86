"""Check that a concrete step of the model is an abstract step: the bridge to the proofs.

Three things have to agree: the guards of the used rules, as far as they speak of the abstract
group; the group afterwards, in every relation; and the answer.  A difference is described in one
sentence.  So the proofs about abstract steps hold of each step that passed here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from enum import Enum

from fencepost.model.classic.effects import Do
from fencepost.model.classic.group import JOIN, SESSION, SYNC
from fencepost.model.classic.vocabulary import STATE, TRIGGER, GroupState, Trigger
from fencepost.model.table.expr import Expr, Feature
from fencepost.model.table.table import Rule
from fencepost.model.work import Incoming, Timer
from fencepost.properties.logic.classic_signature import (
    DELETE_OFFSETS,
    FETCH_OFFSETS,
    LEAVE_ROW,
)
from fencepost.properties.logic.logic import Formula, is_now
from fencepost.properties.proofs.abstract_effects import (
    CATCH_UP,
    DEFER,
    EFFECTS,
    JOIN_TIMER_FIRES,
    SESSION_FIRES,
    SYNC_TIMER_FIRES,
)
from fencepost.properties.proofs.abstract_guards import MEANINGS
from fencepost.properties.proofs.abstract_steps import SETTLING, answer_of, changed_by
from fencepost.properties.proofs.performing import Performer, compared
from fencepost.properties.proofs.theory import AbstractEffect, Effects, features_in, partly
from fencepost.properties.worlds.abstraction import (
    CLASSIC,
    AbstractEvent,
    AbstractGroup,
    abstract_event,
    abstract_group,
    compiled,
    sent_pairs,
)
from fencepost.properties.worlds.views import StepView

_PERFORMER = Performer(CLASSIC)
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
        return compared([before], after, view.rules)
    if event.event == FETCH_OFFSETS:
        rules = rules[:1]  # the others keep the offsets that are read, and do nothing
    if rows is not None and rules[0].effect and Do.ANSWER_ROWS_UNKNOWN in rules[0].effect:
        return compared([before], after, view.rules)
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
    return compared(groups, after, view.rules) or _answer_differs(first, settles, event)


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
    return compared(groups, after, view.rules)


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
    own = [rule for rule in rules if TRIGGER not in features_in(rule.guard)]
    if len(own) != len(rows):  # refused as a whole
        return compared([before], after, view.rules)
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
        difference = wrong or compared(groups, after, view.rules)
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
            settles = left[:1] if left and TRIGGER in features_in(left[0].guard) else []
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
            things = _PERFORMER.things(group, group, event)
            outcomes.update(dict.fromkeys(_PERFORMER.performed(effect, group, event, things)))
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


def _answer_differs(rule: Rule, settles: list[Rule], event: AbstractEvent) -> str | None:
    if event.event in _OWN_ANSWERS or event.event not in SETTLING | {"SyncGroup", "Heartbeat"}:
        return None
    expected = answer_of(rule, settles[0] if settles else None)
    if event.the_timers_id or expected is event.answer:
        return None
    texts = ["nothing" if error is None else error.name for error in (expected, event.answer)]
    return f"{rule.id} should answer {texts[0]} and answered {texts[1]}"
