"""Prove every revision of the consumer protocol, and compare the proofs with `check`.

Proofs and exploration evaluate the same formulas, and agree on the properties that each revision
breaks.  The proofs fail for mutants.  Each step of the worlds is an abstract step.  It takes
minutes.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import cache

import pytest
from support.consumer_mutants import STATES

from fencepost.model.revision import Revision
from fencepost.model.revisions import revisions
from fencepost.properties.checking.checking import PropertyStatus, check_revision
from fencepost.properties.claims.property_registry import CONSUMER_FORMULAS
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.mutants import consumer_abstract_mutants
from fencepost.properties.mutants.abstract_mutants import abstract_twists
from fencepost.properties.mutants.consumer_mutants import CONSUMER_MUTANTS
from fencepost.properties.proofs.consumer_bridge import abstract_consumer_step_of
from fencepost.properties.proofs.consumer_effects import EFFECTS
from fencepost.properties.proofs.proof_results import Proof
from fencepost.properties.proofs.proofs import prove
from fencepost.properties.worlds.consumer_abstraction import CONSUMER
from fencepost.properties.worlds.consumer_scope import CHECK_SCOPES
from fencepost.properties.worlds.views import StepView
from fencepost.properties.worlds.world import Worlds

_INVARIANTS = [claim.invariant for claim in CONSUMER_FORMULAS if claim.invariant is not None]
NOT_PROVED = {
    "cg-return-refused": "its answer is a promise",
    "cg-return-self-refused": "its answer is a promise",
    "cg-join-without-target": "it waits for a heartbeat, which no property forbids",
    "cg-join-stays-behind": "it waits for a heartbeat, which no property forbids",
    "cg-rejoin-bumps": "proofs don't compare subscriptions of live members",
    "cg-rejoin-without-session": "proofs know no deadlines",
    "cg-resume-without-session": "proofs know no deadlines",
    "cg-size-before-instance": "proofs know no sizes",
    "cg-size-unchecked": "proofs know no sizes",
    "cg-dead-instance-free": "its answer is a promise",
    "cg-heartbeat-keeps-nobody-alive": "proofs know no deadlines",
    "cg-heartbeat-never-advances": "nothing is assigned, and nothing is lost",
    "cg-heartbeat-makes-no-target": "proofs don't know that a target is complete",
    "cg-heartbeat-bumps": "proofs don't compare subscriptions of live members",
    "cg-subscription-ignored": "proofs know no subscriptions",
    "cg-subscription-without-epoch": "proofs know no subscriptions",
    "cg-older-epoch-heard": "which epochs pass is a promise",
    "cg-previous-epoch-unchecked": "which epochs pass is a promise",
    "cg-repeated-heartbeat-fenced": "which epochs pass is a promise",
    "cg-newer-epoch-told-unknown": "which epochs pass is a promise",
    "cg-older-epoch-told-stale": "which epochs pass is a promise",
    "cg-member-fenced": "which epochs pass is a promise",
    "cg-bare-release": "its answer is a promise",
    "cg-release-prolongs": "proofs know no deadlines",
    "cg-long-session": "proofs know no deadlines",
    "cg-target-incomplete": "proofs don't know that a target is complete",
    "cg-takes-what-others-have": "its effect has no abstract form",
    "cg-reconciled-at-the-old-epoch": "proofs don't know since when a partition is a member's",
    "cg-assignment-not-told": "proofs know no contents of answers",
    "cg-join-told-nothing": "proofs know no contents of answers",
    "cg-another-epoch-told": "proofs know no contents of answers",
    "cg-replace-loses-target": "proofs don't know that a target is complete",
    "cg-stranger-commits": "proofs know no offsets",
    "cg-commit-forgotten": "proofs know no offsets",
    "cg-commit-refused": "proofs know no offsets",
    "cg-others-partition-committed": "proofs know no offsets",
    "cg-description-hides-revocations": "proofs know no contents of answers",
}
"""Mutants that no proof finds, each with the reason."""


TAKES_OVER = {"CG-BEAT-INSTANCE-FENCED": "CG-BEAT-UNKNOWN-MEMBER"}
"""A check, and the rule that decides where the check no longer does."""


def wrong_rules(revision: Revision, changed: Iterable[str]) -> list[str]:
    """Return rules that a mutant changed, and of each table the first with an effect it changed."""
    rules = list(changed)
    rules += [TAKES_OVER[rule] for rule in rules if rule in TAKES_OVER]
    for table in revision.tables.values():
        with_effect = [r.id for r in table.rules() if revision.twists.keys() & set(r.effect)]
        rules += with_effect[:2]
    return rules


@cache
def proof_of_mutant(name: str) -> Proof:
    mutant = CONSUMER_MUTANTS[name]
    rules = wrong_rules(mutant.revision, (rule for _, rule in mutant.changed_rules()))
    overrides = abstract_twists(mutant.revision)
    return prove(mutant.revision, rules=rules or ["none"], overrides=overrides, with_traces=False)


@pytest.mark.parametrize("name", revisions.CONSUMER_NAMES)
def test_a_revision_is_proved_but_for_what_check_knows(name: str) -> None:
    revision = revisions.find(name)

    proof = prove(revision)
    checked = check_revision(revision, CONSUMER_FORMULAS, jobs=2)

    assert [(one.about, one.step) for one in proof.failures] == []
    assert proof.uncovered == ()
    assert len(proof.obligations) > 4000
    broken = {one.about for one in proof.expected}
    found = {r.property.id for r in checked.results if r.finding is PropertyStatus.EXPECTED}
    held = {r.property.id for r in checked.results if r.finding is PropertyStatus.HOLDS}
    assert broken == found
    assert held == {claim.id for claim in CONSUMER_FORMULAS} - broken


@pytest.mark.parametrize("name", CONSUMER_MUTANTS)
def test_a_proof_finds_a_mutant_or_it_is_said_why_not(name: str) -> None:
    proof = proof_of_mutant(name)

    assert bool(proof.failures) is (name not in NOT_PROVED)
    assert bool(proof.uncovered) is (name == "cg-takes-what-others-have")


def test_every_property_catches_a_mutant_or_a_wrong_effect() -> None:
    """`test_consumer_theory.py` has the wrong effects."""
    by_effect = {"there-is-one-of-each", "nothing-is-a-strangers", "an-instance-is-its-bringers"}

    caught = {one.about for name in CONSUMER_MUTANTS for one in proof_of_mutant(name).failures}

    broken_before = {"a-failover-hurries-nobody"}  # by the revision that the mutants are made of
    assert caught == {claim.id for claim in CONSUMER_FORMULAS} - by_effect - broken_before


class Bridge:
    """Compares steps from groups in which the invariants hold; `wrong`: the differences."""

    def __init__(self, name: str) -> None:
        self.effects = {**EFFECTS, **abstract_twists(revisions.find(name))}
        self.steps = 0
        self.rules: set[str] = set()
        self.wrong: list[str] = []

    def judge(self, view: StepView) -> tuple[Iterable[str], Iterable[str]]:
        before = CONSUMER.group(view.before)
        if all(CONSUMER.evaluate(invariant, before) for invariant in _INVARIANTS):
            self.steps += 1
            self.rules |= {rule.id for rule in view.rules}
            if difference := abstract_consumer_step_of(view, self.effects):
                self.wrong.append(difference)
        return (), ()


def bridged(name: str, states: int) -> Bridge:
    bridge = Bridge(name)
    for named in CHECK_SCOPES:
        worlds = Worlds(revisions.find(name), named.scope, bridge.judge)
        with suppress(AssertionError):  # a mutant that trips over itself
            explore(worlds, max_states=states)
    return bridge


@pytest.mark.parametrize("name", ["consumer-4.0", "consumer-4.3", "consumer-4.4", "pr-23542"])
def test_every_step_of_the_worlds_is_an_abstract_one(name: str) -> None:
    bridge = bridged(name, STATES)

    assert bridge.wrong == []
    assert bridge.steps > 5000
    assert len(bridge.rules) > 30


@pytest.mark.parametrize("name", sorted(consumer_abstract_mutants.KNOWN))
def test_what_is_said_of_a_mutants_steps_is_what_it_does(name: str) -> None:
    bridge = bridged(f"mutant:{name}", 40)

    assert bridge.wrong == []
    assert bridge.steps > 50
