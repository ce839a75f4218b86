"""Proofs of the consumer protocol fail for mutants; none is vacuous; each verb has an effect."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("z3")

import z3

from fencepost.model.consumer.effects import Do
from fencepost.model.revisions import revisions
from fencepost.properties.claims.property_registry import CONSUMER_FORMULAS, find_formula
from fencepost.properties.logic.consumer_signature import ASSIGNED, GROUP_AT, SEAT, E
from fencepost.properties.logic.logic import any_of, negate, same
from fencepost.properties.mutants.abstract_mutants import abstract_twists
from fencepost.properties.mutants.mutants import find_mutant
from fencepost.properties.proofs.consumer_effects import EFFECTS, NEXT
from fencepost.properties.proofs.consumer_theory import CONSUMER_THEORY, paths
from fencepost.properties.proofs.paths import encode
from fencepost.properties.proofs.proof_results import Proof, Result
from fencepost.properties.proofs.proofs import prove
from fencepost.properties.proofs.theory import AbstractEffect, Effects, becomes
from fencepost.properties.worlds.consumer_abstraction import CONSUMER

CONSUMER_4_4 = revisions.find("consumer-4.4")
LIARS = (
    ("cg-join-takes-over", "CG-JOIN-UNRELEASED", "a-join-displaces-no-live-holder"),
    ("cg-release-bumps", "CG-LEAVE-RELEASE", "a-restart-costs-no-epoch"),
    ("cg-old-entry-stays", "CG-JOIN-CHANGE-INSTANCE", "an-entry-names-its-member"),
    ("cg-silent-member-stays", "CG-SESSION-EXPIRED", "a-member-is-watched"),
    ("cg-replace-keeps-the-old", "CG-JOIN-RETURN", "a-partition-has-one-owner"),
    ("cg-stranger-heard", "CG-BEAT-UNKNOWN-MEMBER", "a-stranger-is-never-heard"),
)
"""A mutant, its wrong rule, and a property of which the proof fails there; `big_consumer_proofs.py`
has the others."""


def of_rule(name: str, rule: str, about: str, *, with_traces: bool = False) -> Proof:
    revision = revisions.find(name)
    overrides = abstract_twists(revision)
    return prove(revision, [about], rules=[rule], overrides=overrides, with_traces=with_traces)


@pytest.mark.parametrize(("mutant", "rule", "about"), LIARS)
def test_a_proof_finds_a_liar(mutant: str, rule: str, about: str) -> None:
    found = {(one.about, one.rule) for one in of_rule(f"mutant:{mutant}", rule, about).failures}

    assert found == {(about, rule)}


TWO_EPOCHS = AbstractEffect(
    (becomes(GROUP_AT, E, any_of(GROUP_AT.now(E), same(E, NEXT))),),
    choices=EFFECTS[Do.BUMP_EPOCH].choices,
)
WITHOUT_SEAT: Effects = {
    do: EFFECTS[do].without(SEAT.name) for do in (Do.MAP_CALLER, Do.UPDATE_MEMBER)
}
WRONG_EFFECTS: tuple[tuple[Effects, str, str], ...] = (
    ({Do.BUMP_EPOCH: TWO_EPOCHS}, "CG-LEAVE-FOR-GOOD", "there-is-one-of-each"),
    (
        {Do.REMOVE_MEMBER: EFFECTS[Do.REMOVE_MEMBER].without(ASSIGNED.name)},
        "CG-LEAVE-FOR-GOOD",
        "nothing-is-a-strangers",
    ),
    (WITHOUT_SEAT, "CG-JOIN-BECOME-STATIC", "an-instance-is-its-bringers"),
)
"""Wrong effects for the properties that no mutant breaks."""


@pytest.mark.parametrize(("wrong", "rule", "about"), WRONG_EFFECTS)
def test_a_proof_finds_a_wrong_effect(wrong: Effects, rule: str, about: str) -> None:
    liar = replace(CONSUMER_4_4, name="liar", ancestors=("consumer-4.4",))

    proof = prove(liar, [about], rules=[rule], overrides=wrong, with_traces=False)

    assert [(one.about, one.rule) for one in proof.failures] == [(about, rule)]


def test_what_a_release_breaks_is_a_step_by_that_rule() -> None:
    rule, about = "CG-JOIN-CHANGE-INSTANCE", "an-entry-names-its-member"

    (broken,) = of_rule("consumer-4.3.1", rule, about, with_traces=True).expected

    assert broken.counterexample is not None
    before, then, after = broken.counterexample.words
    assert "m1 has" in before
    assert before.count("is mapped to m1") == 1
    assert then.startswith("then: a join of m1 with instance ")
    assert then.endswith(" answered NONE, by CG-JOIN-CHANGE-INSTANCE")
    assert after.count("is mapped to m1") == 2
    formula = find_formula(about, CONSUMER_FORMULAS).invariant
    assert formula is not None
    assert CONSUMER.evaluate(formula, broken.counterexample.step.before)
    assert not CONSUMER.evaluate(formula, broken.counterexample.step.after)


def test_a_rule_that_only_a_broken_invariant_allows_can_decide() -> None:
    """The other proofs of a release don't assume an invariant that it breaks."""
    rule = "CG-BEAT-INSTANCE-DANGLING"
    reached = {
        name: bool(
            [one for one in prove(revisions.find(name), rules=[rule]).obligations if one.rule]
        )
        for name in ("consumer-4.3", "consumer-4.4")
    }

    assert reached == {"consumer-4.3": True, "consumer-4.4": False}


def test_no_property_is_so_weak_that_its_opposite_is_proved_as_well() -> None:
    rule = "CG-JOIN-RETURN"
    opposites = tuple(
        replace(one, id=f"not {one.id}", formula=negate(one.formula), invariant=None)
        for one in CONSUMER_FORMULAS
        if one.formula is not None
    )

    proof = prove(
        CONSUMER_4_4,
        properties=opposites,
        assume=CONSUMER_FORMULAS,
        rules=[rule],
        with_traces=False,
    )

    failing = {one.about for one in proof.failures if one.result is Result.FAILED}
    assert failing == {one.id for one in opposites}


def test_every_verb_and_every_mutant_has_an_abstract_effect() -> None:
    assert EFFECTS.keys() == set(Do)
    mutant = find_mutant("mutant:cg-takes-what-others-have").revision
    unknown = prove(mutant, ["a-partition-has-one-owner"], rules=["CG-BEAT-ALIVE"])
    assert [one.result for one in unknown.obligations if one.step == "CG-BEAT-ALIVE"] == [
        Result.UNCOVERED
    ]


@pytest.mark.parametrize(
    ("name", "possible"),
    [("consumer-4.0", "unsat"), ("consumer-4.1", "unsat"), ("consumer-4.2", "sat")],
)
def test_a_request_that_no_version_carries_is_no_step(name: str, possible: str) -> None:
    steps = paths(revisions.find(name), {})
    (step,) = (path for path in steps if path.rule.id == "CG-COMMIT-TOPIC-IDS-UNKNOWN")
    solver = z3.Solver()
    solver.add(*encode(step, (), CONSUMER_THEORY).constraints)
    assert str(solver.check()) == possible
