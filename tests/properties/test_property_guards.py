"""The properties are tested, too: each catches a liar, and each notices that it has no case.

Every definition is broken in turn: a premise that is never met, a statement that is always true.
Each time a guard must fail that passes for the definition as it stands.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest

from fencepost.model import revisions
from fencepost.model.errors import Error
from fencepost.model.rules import join
from fencepost.model.vocabulary import Change, GroupState, Trigger
from fencepost.properties.abstract_event import AbstractEvent
from fencepost.properties.abstraction import AbstractGroup, AbstractStep, evaluate
from fencepost.properties.checking import (
    QUESTIONS,
    Finding,
    check_revision,
    find_question,
)
from fencepost.properties.explorer import explore
from fencepost.properties.judging import Judging, is_quiet
from fencepost.properties.logic import FALSE, TRUE, Formula
from fencepost.properties.mutants import find_revision
from fencepost.properties.property import Engine, Kind, Property
from fencepost.properties.registry import PROPERTIES
from fencepost.properties.signature import (
    FAILOVER,
    JOIN_PHASE,
    LEAVE_ROW,
    SESSION_END,
    SYNC_PHASE,
)
from fencepost.properties.worlds import Worlds

EXPLORED = [p for p in PROPERTIES.values() if Engine.EXPLORATION in p.engines]
FORMULAS = [p for p in PROPERTIES.values() if p.formula is not None]
FUNCTIONS = [p for p in EXPLORED if p.holds is not None and p.kind is not Kind.HISTORY]
IDS = ("x", "y", "z")
INSTANCES = ("A", "B")
EVENTS = (
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "LeaveGroup",
    "OffsetCommit",
    FAILOVER,
    JOIN_PHASE,
    LEAVE_ROW,
    SESSION_END,
    SYNC_PHASE,
)
RULES = ("", *(rule.id for rule in join.ROWS), "JOIN-PHASE-EXPIRED", "SESSION-EXPIRED")
STRUCTURES = 4000


def without_premise(one: Property) -> Property:
    never: Any = FALSE if isinstance(one.premise, Formula) else lambda _: False
    return replace(one, premise=never)


def always_true(one: Property) -> Property:
    if one.formula is not None:
        return replace(one, formula=TRUE)
    return replace(one, holds=lambda _: None)


# A property must have had a case.


def test_every_property_has_a_case_in_some_world() -> None:
    result = check_revision(revisions.find("kafka-4"))

    assert [r.property.id for r in result.results if r.finding is Finding.UNTESTED] == []
    assert result.holds


def test_a_premise_that_is_never_met_is_noticed() -> None:
    blind = [without_premise(one) for one in EXPLORED]

    result = check_revision(revisions.find("kip-345"), blind, questions=QUESTIONS[:2])

    held = {r.property.id for r in result.results if r.finding is Finding.HOLDS}
    assert held == set()


# A formula must exclude something: groups and steps made by chance, not by any model.


def some(chance: random.Random, values: tuple[Any, ...]) -> frozenset[Any]:
    return frozenset(value for value in values if chance.random() < 0.4)


def a_group(chance: random.Random) -> AbstractGroup:
    pairs = tuple((x, i) for x in IDS for i in INSTANCES)
    turned = tuple((i, x) for x, i in pairs)
    make: dict[str, Callable[[], Any]] = {
        "GroupState": lambda: chance.choice(tuple(GroupState)),
        "int": lambda: chance.randrange(3),
        "Ids": lambda: some(chance, IDS),
        "bool": lambda: chance.random() < 0.5,
    }
    values: dict[str, Any] = {}
    for one in fields(AbstractGroup):
        if one.type == "Pairs":
            values[one.name] = some(chance, turned if one.name.endswith("holds") else pairs)
        else:
            values[one.name] = make[str(one.type)]()
    return AbstractGroup(**values)


def a_step(chance: random.Random) -> AbstractStep:
    before = a_group(chance)
    after = before if chance.random() < 0.3 else a_group(chance)
    event = AbstractEvent(
        chance.choice(EVENTS),
        chance.choice(RULES),
        chance.choice((None, *Error)),
        chance.choice(("", *IDS)),
        chance.choice((None, *INSTANCES)),
        chance.choice(IDS),
        chance.choice(("", *IDS)),
        some(chance, IDS),
        chance.choice(tuple(Change)),
        chance.choice(tuple(Change)),
        chance.choice((None, *Trigger)),
    )
    return AbstractStep(before, event, after)


def excludes_something(one: Property) -> bool:
    assert one.formula is not None
    chance = random.Random(0)
    make = a_group if one.kind is Kind.STATE else a_step
    return any(not evaluate(one.formula, make(chance)) for _ in range(STRUCTURES))


@pytest.mark.parametrize("one", FORMULAS, ids=lambda one: one.id)
def test_a_formula_excludes_something(one: Property) -> None:
    assert excludes_something(one)


@pytest.mark.parametrize("one", FORMULAS, ids=lambda one: one.id)
def test_a_formula_that_excludes_nothing_is_noticed(one: Property) -> None:
    assert not excludes_something(always_true(one))

