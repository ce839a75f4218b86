"""Build the abstract steps of a revision: one for each way to carry out a rule.

A step is the rule that decides, its effects in order, and, where that leaves the group in
PreparingRebalance, the rule of the join phase that then checks it.  The rows of a leave are steps
of their own; where a batch rebalances once, at its end, its rows put that off.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import Enum

from fencepost.model.classic.effects import Do
from fencepost.model.classic.vocabulary import MID, STATE, TRIGGER, GroupState, Trigger
from fencepost.model.messages.errors import Error
from fencepost.model.revision import Revision
from fencepost.model.table.expr import ALWAYS
from fencepost.model.table.shared_features import INST
from fencepost.model.table.table import OwnStep, Rule, Table
from fencepost.properties.logic import classic_signature as sig
from fencepost.properties.logic.classic_signature import X
from fencepost.properties.logic.logic import (
    FALSE,
    TRUE,
    Formula,
    all_of,
    any_of,
    exists,
    is_now,
    negate,
)
from fencepost.properties.proofs.abstract_effects import (
    CATCH_UP,
    DEFER,
    EFFECTS,
    JOIN_TIMER_FIRES,
    SESSION_FIRES,
    SYNC_TIMER_FIRES,
)
from fencepost.properties.proofs.abstract_guards import GUARDS, can_trigger
from fencepost.properties.proofs.theory import (
    AbstractEffect,
    Effects,
    Path,
    Stage,
    effects_of,
)

_PREPARING = is_now(STATE, GroupState.PREPARING)
_FIRES = {
    sig.SESSION_END: SESSION_FIRES,
    sig.JOIN_PHASE: JOIN_TIMER_FIRES,
    sig.SYNC_PHASE: SYNC_TIMER_FIRES,
}
RUNS = {
    sig.SESSION_END: sig.SESSION.now(sig.SUBJECT),
    sig.JOIN_PHASE: sig.JOIN_TIMER.now(),
    sig.SYNC_PHASE: sig.SYNC_TIMER.now(),
    sig.CLEANUP: all_of(is_now(STATE, GroupState.EMPTY), negate(sig.OFFSETS.now())),
    sig.RETENTION: sig.OFFSETS.now(),
}
SETTLING = frozenset({sig.JOIN_GROUP, sig.LEAVE_ROW, *_FIRES})
_KEEPS_GROUP = frozenset(
    do for do, effect in EFFECTS.items() if effect.touched() <= {sig.CALLER.name}
) - {Do.UPDATE_MEMBER}
_MAY_CHANGE: dict[Enum, Formula] = {
    Do.REMOVE_CALLER: exists(X, all_of(sig.CALLER.now(X), sig.MEMBER.now(X))),
    Do.CREATE_GROUP: is_now(STATE, GroupState.ABSENT),
}
_ANSWERS = frozenset(
    {Do.ANSWER_CURRENT, Do.ANSWER_RESTARTED, Do.ANSWER_SYNCS, Do.ANSWER_ASSIGNMENT}
)


def paths(revision: Revision, overrides: Effects | None = None) -> tuple[Path, ...]:
    """Return every abstract step of a revision.  `overrides`: effects that it changes."""
    return tuple(_Builder(revision, overrides or {}).build())


def may_name(table: Table) -> bool:
    """Return True if the events of the table may name a member id or an instance."""
    return bool({MID, INST} & set(table.features))


class _Builder:
    def __init__(self, revision: Revision, overrides: Effects) -> None:
        self._revision = revision
        self._effects = {**EFFECTS, **overrides}
        self._unknown = frozenset(revision.twists) - overrides.keys()

    def build(self) -> Iterator[Path]:
        for table in self._revision.tables.values():
            for rule in table.rules():
                for path in self._of_rule(table, rule):
                    yield replace(path, naming=may_name(table))
        if sig.LEAVE_ROW in self._revision.tables:
            yield from self._batch(self._revision.tables[sig.LEAVE_ROW])

    def _of(self, rule: Rule) -> tuple[tuple[AbstractEffect, ...], tuple[Enum | OwnStep, ...]]:
        """Return the effects of a rule, and its steps without one."""
        return effects_of(rule, self._effects, self._unknown)

    def _of_rule(self, table: Table, rule: Rule) -> Iterator[Path]:
        conditions = [GUARDS.decides(table, rule), GUARDS.feasible(table.features)]
        if table.name in RUNS:
            conditions.append(RUNS[table.name])
        fires = (_FIRES[table.name],) if table.name in _FIRES else ()
        effects, unknown = self._of(rule)
        stage = Stage(
            tuple(conditions),
            (*fires, *effects),
            {TRIGGER: Trigger.EXPIRY} if table.name == sig.JOIN_PHASE else {},
        )
        if table.name == sig.JOIN_PHASE and not can_trigger(rule.guard, Trigger.EXPIRY):
            return
        changes = TRUE if fires else changed_by(rule.effect)
        if table.name not in SETTLING or changes is FALSE:
            yield Path(table.name, rule, None, (stage,), answer_of(rule, None), unknown=unknown)
            return
        unchanged = negate(changes)
        begin = Stage((*stage.conditions, changes), stage.effects, stage.answers)
        if changes is not TRUE:
            still = Stage((*stage.conditions, unchanged), stage.effects, stage.answers)
            yield Path(table.name, rule, None, (still,), answer_of(rule, None), unknown=unknown)
        yield from self._settled(table.name, rule, begin, unknown)

    def _settled(
        self,
        table: str,
        rule: Rule,
        stage: Stage,
        unknown: tuple[Enum | OwnStep, ...],
        *,
        at_the_end: bool = False,
    ) -> Iterator[Path]:
        elsewhere = Stage((negate(_PREPARING),))
        answer = answer_of(rule, None)
        yield Path(
            table, rule, None, (stage, elsewhere), answer, at_the_end=at_the_end, unknown=unknown
        )
        join_phase = self._revision.tables[sig.JOIN_PHASE]
        for settle in join_phase.rules():
            if not can_trigger(settle.guard, Trigger.CHECK):
                continue
            effects, unknown_there = self._of(settle)
            decides = GUARDS.decides(join_phase, settle)
            look = Stage(
                (_PREPARING, decides, GUARDS.feasible(join_phase.features)),
                effects,
                {TRIGGER: Trigger.CHECK},
            )
            yield Path(
                table,
                rule,
                settle,
                (stage, look),
                answer_of(rule, settle),
                at_the_end=at_the_end,
                unknown=(*unknown, *unknown_there),
            )

    def _batch(self, table: Table) -> Iterator[Path]:
        for rule in table.rules():
            own, unknown = self._of(rule)
            effects = tuple(
                DEFER if do is Do.REBALANCE else effect
                for do, effect in zip(rule.effect, own, strict=True)
            )
            stage = Stage((GUARDS.decides(table, rule), GUARDS.feasible(table.features)), effects)
            if effects:
                yield Path(
                    table.name,
                    rule,
                    None,
                    (stage,),
                    rule.answer,
                    naming=True,
                    put_off=True,
                    unknown=unknown,
                )
        end = Rule("LEAVE-ROWS", ALWAYS, (Do.REBALANCE,), Error.NONE)
        _, unknown_there = self._of(end)
        catch_up = Stage((sig.DEFERRED.now(),), (self._effects[Do.REBALANCE], CATCH_UP))
        yield from self._settled(table.name, end, catch_up, unknown_there, at_the_end=True)


def changed_by(verbs: tuple[Enum, ...]) -> Formula:
    """Return True if these verbs change the group, so that its join phase is checked."""
    changing = [do for do in verbs if do not in _KEEPS_GROUP]
    if not changing:
        return FALSE
    if all(do in _MAY_CHANGE for do in changing):
        return any_of(*(_MAY_CHANGE[do] for do in changing))
    return TRUE


def answer_of(rule: Rule, settle: Rule | None) -> Error | None:
    """Return the error of the immediate answer; None: the request waits, or there is none."""
    if rule.answer is not None:
        return rule.answer
    if _ANSWERS & set(rule.effect):
        return Error.NONE
    if Do.REFUSE_SYNCS in rule.effect:
        return Error.UNKNOWN_SERVER_ERROR
    completes = settle is not None and Do.COMPLETE_JOIN in settle.effect
    return Error.NONE if completes and Do.PARK_JOIN in rule.effect else None
