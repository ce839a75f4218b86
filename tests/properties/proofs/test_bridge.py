from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import msgspec
import pytest
from support.stepping import SETTINGS, Walk

from fencepost.model.classic.classic_work import ClassicWork, Effect
from fencepost.model.classic.effects import Do
from fencepost.model.classic.group import Group
from fencepost.model.revisions import revisions
from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.claims.property_registry import FORMULAS
from fencepost.properties.logic.logic import PropertyKind
from fencepost.properties.mutants import abstract_mutants
from fencepost.properties.mutants.abstract_mutants import abstract_twists
from fencepost.properties.mutants.mutants import find_mutant
from fencepost.properties.proofs.abstract_effects import EFFECTS
from fencepost.properties.proofs.bridge import abstract_step_of
from fencepost.properties.worlds.abstraction import evaluate
from fencepost.properties.worlds.views import StepView


@pytest.mark.parametrize(
    "name",
    [
        "kafka-4",
        "kip-345",
        "comment-table-1",
        "comment-table-2",
        "experiment-preregistered",
        "experiment-target-size",
    ],
)
def test_every_concrete_step_is_an_abstract_one(name: str) -> None:
    used = set()
    for seed in range(5):
        for view in Walk(revisions.find(name), seed).views(200):
            assert abstract_step_of(view) is None, view
            used |= {rule.id for rule in view.rules}
    assert len(used) > 50


def test_the_initial_delay_is_spoken_of_too() -> None:
    delayed = {**SETTINGS, "group.initial.rebalance.delay.ms": 3000}
    used = set()
    for seed in range(6):
        for view in Walk(KAFKA_4, seed, delayed).views(150):
            assert abstract_step_of(view) is None, view
            used |= {rule.id for rule in view.rules}
    assert {"JOIN-PHASE-DELAY-OVER", "JOIN-PHASE-DELAY-EXTENDED"} <= used


Spoil = Callable[[Group], Group]


def _unmapped(group: Group) -> Group:
    return msgspec.structs.replace(group, static=())


def _nobody_leads(group: Group) -> Group:
    return msgspec.structs.replace(group, leader=None)


def _counts_twice(group: Group) -> Group:
    return msgspec.structs.replace(group, generation_id=group.generation_id + 1)


def _unwatched(group: Group) -> Group:
    return msgspec.structs.replace(group, timers=())


def _said_of_a_liar(do: Do, spoil: Spoil, seeds: int = 12) -> list[str]:
    def twist(own: Effect) -> Effect:
        def effect(work: ClassicWork) -> list[ClassicWork]:
            works = own(work) or [work]
            for one in works:
                one.group = spoil(one.group)
            return works

        return effect

    liar = replace(KAFKA_4, name="liar", twists={do: twist})
    said = []
    for seed in range(seeds):
        try:
            for view in Walk(liar, seed).views(120):
                sentence = abstract_step_of(view)
                if sentence is not None:
                    said.append(sentence)
                    break
        except AssertionError:  # a model that is broken far enough trips over itself
            continue
    return said


@pytest.mark.parametrize(
    ("do", "spoil", "word"),
    [
        (Do.ADD_STATIC, _unmapped, "holds should be"),
        (Do.REPLACE_HOLDER, _unmapped, "holds should be"),
        (Do.REMOVE_MEMBER, _nobody_leads, "leads should be"),
        (Do.COMPLETE_JOIN, _counts_twice, "the_generation should be"),
        (Do.REBALANCE, _unwatched, "join_timer should be"),
    ],
)
def test_a_liar_is_seen(do: Do, spoil: Spoil, word: str) -> None:
    said = _said_of_a_liar(do, spoil)
    assert said
    assert any(word in sentence for sentence in said), said


def test_a_holder_that_is_removed_and_stays_mapped_is_seen() -> None:
    """The effect forgets to unmap."""

    def twist(own: Effect) -> Effect:
        def effect(work: ClassicWork) -> list[ClassicWork]:
            before = work.group.static
            works = own(work) or [work]
            for one in works:
                one.group = msgspec.structs.replace(one.group, static=before)
            return works

        return effect

    liar = replace(KAFKA_4, name="liar", twists={Do.REMOVE_MEMBER: twist})
    views = (view for seed in range(20) for view in Walk(liar, seed).views(40))
    said = next(filter(None, map(abstract_step_of, views)))
    assert said.startswith("after ")
    assert "holds should be" in said


def test_a_rule_that_decides_where_its_guard_fails_is_seen() -> None:
    view = next(
        view
        for seed in range(20)
        for view in Walk(KAFKA_4, seed).views(100)
        if view.rules[0].id == "HEARTBEAT-STABLE"
    )
    wrong = replace(view, rules=(KAFKA_4.rule("HEARTBEAT-PREPARING"),))
    said = abstract_step_of(wrong)
    assert said is not None
    assert "its guard does not hold: state is PreparingRebalance" in said


def test_another_answer_is_seen() -> None:
    view = next(
        view
        for seed in range(20)
        for view in Walk(KAFKA_4, seed).views(100)
        if view.rules[0].id == "HEARTBEAT-STABLE"
    )
    said = abstract_step_of(replace(view, emissions=()))
    assert said == "HEARTBEAT-STABLE should answer NONE and answered nothing"


def test_a_join_phase_that_nobody_looked_at_is_seen() -> None:
    view = next(
        view
        for seed in range(20)
        for view in Walk(KAFKA_4, seed).views(100)
        if [rule.id for rule in view.rules] == ["JOIN-MEMBER-PREPARING", "JOIN-PHASE-WAIT"]
    )
    said = abstract_step_of(replace(view, rules=view.rules[:1]))
    assert said == "the join phase was not checked"


def _from_good_groups(walk: Walk, steps: int) -> Iterator[StepView]:
    """The steps until the invariants break, or the broken model trips over itself."""
    invariants = [
        p.formula for p in FORMULAS if p.kind is PropertyKind.STATE and p.formula is not None
    ]
    try:
        for view in walk.views(steps):
            if not all(evaluate(formula, view.before) for formula in invariants):
                return
            yield view
    except AssertionError:
        return


@pytest.mark.parametrize("name", sorted(abstract_mutants.KNOWN))
def test_what_is_said_of_a_mutants_steps_is_what_it_does(name: str) -> None:
    """From groups in which the invariants hold: the proofs speak of no others."""
    broken = find_mutant(name).revision
    overrides = abstract_twists(broken)
    assert set(broken.twists) == set(overrides)
    checked = 0
    for seed, delay in product(range(5), (0, 3000)):
        settings = {**SETTINGS, "group.initial.rebalance.delay.ms": delay}
        for view in _from_good_groups(Walk(broken, seed, settings), 40):
            assert abstract_step_of(view, {**EFFECTS, **overrides}) is None, view
            checked += 1
    assert checked > 50
