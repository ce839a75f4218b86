"""Make a mutant of the consumer protocol: `consumer-4.4` with one difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from msgspec.structs import replace

from fencepost.model.consumer.cells import (
    when,
)
from fencepost.model.consumer.consumer_work import ConsumerWork
from fencepost.model.consumer.effects import Do
from fencepost.model.messages.errors import Error
from fencepost.model.revision import Difference, DropRule, SetRule, Twist
from fencepost.model.revisions.consumer_releases import CONSUMER_4_4
from fencepost.model.table.expr import any_of
from fencepost.model.work import Effect
from fencepost.properties.mutants.mutant import (
    Mutant,
)

RULES = {rule.id: rule for _, rule in CONSUMER_4_4.rules()}
_TABLES = {rule.id: table.name for table, rule in CONSUMER_4_4.rules()}
_WRONG = "broken on purpose"
PAST = "a bug of an earlier release"


def consumer_mutant(
    name: str,
    about: str,
    source: str,
    *differences: Difference,
    twists: Mapping[Enum, Twist] | None = None,
    visible: bool = True,
) -> Mutant:
    """Return a mutant of `consumer-4.4` with these differences; `visible`: as of a mutant."""
    return Mutant(
        f"cg-{name}",
        about,
        source,
        visible=visible,
        differences=differences,
        twists=twists or {},
        base=CONSUMER_4_4,
    )


def but(rule_id: str, **changes: object) -> SetRule:
    """Return a rule of the base, with these of its fields changed."""
    return SetRule(_TABLES[rule_id], RULES[rule_id].but(**changes), _WRONG)


def without(rule_id: str, *steps: Do) -> SetRule:
    """Return a rule of the base without these effects."""
    return but(rule_id, effect=tuple(do for do in RULES[rule_id].effect if do not in steps))


def with_step(rule_id: str, step: Do, before: Do) -> SetRule:
    """Return a rule with a step more, before another one."""
    effect: list[Enum] = []
    for do in RULES[rule_id].effect:
        effect += [step, do] if do is before else [do]
    return but(rule_id, effect=tuple(effect))


def refused(rule_id: str, answer: Error) -> SetRule:
    """Return a rule of the base that refuses with this error."""
    return but(rule_id, effect=(), answer=answer)


def dropped(rule_id: str) -> DropRule:
    """Leave out a check of the base."""
    return DropRule(_TABLES[rule_id], rule_id, _WRONG)


def also(rule_id: str, **cells: object) -> SetRule:
    """Return a rule that holds where these cells do, too."""
    return but(rule_id, guard=any_of(RULES[rule_id].guard, when(**cells)))  # type: ignore[arg-type]


def afterwards(change: Callable[[ConsumerWork], None]) -> Twist:
    """Make the twist that changes the work after a step, in each of its outcomes."""

    def twist(effect: Effect) -> Effect:
        def twisted(work: ConsumerWork) -> list[ConsumerWork] | None:
            works = effect(work)
            for done in [work] if works is None else works:
                change(done)
            return works

        return twisted

    return twist


def of_caller(**fields: object) -> Twist:
    """Make the twist that sets fields of the caller after a step."""

    def change(work: ConsumerWork) -> None:
        member = work.group.member(work.caller)
        if member is not None:
            work.group = work.group.with_member(replace(member, **fields))

    return afterwards(change)
