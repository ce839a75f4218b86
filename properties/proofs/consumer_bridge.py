"""Check that a concrete step of the consumer protocol is an abstract step, as `bridge` does.

Guards have to agree as far as they speak of the abstract group, the group afterwards in every
relation, and the answer.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace

from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.vocabulary import BEAT_TABLE, JOIN_TABLE, LEAVE_TABLE
from fencepost.model.messages.messages import LeaveGroupRequest
from fencepost.model.table.expr import Feature
from fencepost.model.table.table import Rule
from fencepost.model.work import Incoming
from fencepost.properties.proofs.consumer_effects import BEGINS, EFFECTS
from fencepost.properties.proofs.consumer_guards import MEANINGS
from fencepost.properties.proofs.consumer_theory import FIRES, MAY_DO_NOTHING, answer_of
from fencepost.properties.proofs.performing import Performer, compared
from fencepost.properties.proofs.theory import AbstractEffect, Effects, partly
from fencepost.properties.worlds.consumer_abstraction import (
    CONSUMER,
    AbstractConsumerEvent,
    AbstractConsumerGroup,
)
from fencepost.properties.worlds.views import StepView

_PERFORMER = Performer(CONSUMER)
_HEARTBEATS = frozenset({JOIN_TABLE, BEAT_TABLE, LEAVE_TABLE})


def abstract_consumer_step_of(view: StepView, effects: Effects = EFFECTS) -> str | None:
    """Check that a step is an abstract step: None, or the difference in a sentence.

    `effects`: the abstract effect of each verb; a mutant's may differ.
    """
    step = CONSUMER.step(view)
    before, event, after = step.before, step.event, step.after
    turns = list(_turns(view, event))
    groups = _all([before], (BEGINS,), event, after)
    if event.event in FIRES:
        groups = _all(groups, (FIRES[event.event],), event, after)
    for rule, sent in turns:
        if (wrong := _guard_fails(rule, before, sent)) is not None:
            return wrong
        changed = _all(groups, tuple(effects[do] for do in rule.effect), sent, after)
        may_do_nothing = bool(MAY_DO_NOTHING & set(rule.effect))
        goes_on = may_do_nothing or sent is not event  # a row for who an earlier row removed
        groups = [*changed, *groups] if goes_on else changed
    return compared(groups, after, view.rules) or _answer_differs(turns, event)


def _turns(
    view: StepView, event: AbstractConsumerEvent
) -> Iterator[tuple[Rule, AbstractConsumerEvent]]:
    """Yield each rule that decides, with the event as it sees that: of a batch, one row."""
    rules = [rule for rule in view.rules if Do.ANSWER_ROWS not in rule.effect]
    if not isinstance(view.event, Incoming):
        yield from ((rule, event) for rule in rules)
        return
    message = view.event.message
    if not isinstance(message, LeaveGroupRequest) or len(rules) == len(view.rules):
        yield from ((rule, event) for rule in rules)
        return
    rows = message.rows(view.event.version)
    for rule, row in zip(rules, rows, strict=True):
        yield (
            rule,
            replace(
                event,
                the_caller=row.member_id,
                mid_given=bool(row.member_id),
                the_instance_sent=row.group_instance_id,
            ),
        )


def _all(
    groups: list[AbstractConsumerGroup],
    effects: tuple[AbstractEffect, ...],
    event: AbstractConsumerEvent,
    after: AbstractConsumerGroup,
) -> list[AbstractConsumerGroup]:
    for effect in effects:
        outcomes: dict[AbstractConsumerGroup, None] = {}
        for group in groups:
            *others, epochs = _PERFORMER.things(group, after, event)
            passed = {epoch + by for epoch in after.group_at for by in (-1, 1)}  # of a new group
            things = (*others, epochs | passed)
            done = _PERFORMER.performed(effect, group, event, things, after)
            outcomes.update(dict.fromkeys(done))
        groups = list(outcomes)
    return groups


def _guard_fails(
    rule: Rule, group: AbstractConsumerGroup, event: AbstractConsumerEvent
) -> str | None:
    def answer(feature: Feature, values: frozenset[Hashable]) -> bool | None:
        meaning = MEANINGS.get(feature)
        if meaning is None:
            return None
        holds = (CONSUMER.compiled(meaning[value])(group, group, event) for value in values)
        return any(holds)

    if partly(rule.guard, answer) is False:
        return f"{rule.id} decided, and its guard does not hold: {rule.guard}"
    return None


def _answer_differs(
    turns: list[tuple[Rule, AbstractConsumerEvent]], event: AbstractConsumerEvent
) -> str | None:
    if event.event not in _HEARTBEATS or not turns:
        return None
    rule = turns[0][0]
    expected = answer_of(rule)
    if expected is event.answer:
        return None
    texts = ["nothing" if error is None else error.name for error in (expected, event.answer)]
    return f"{rule.id} should answer {texts[0]} and answered {texts[1]}"
