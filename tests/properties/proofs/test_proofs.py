from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

pytest.importorskip("z3")

from fencepost.model.classic.effects import Do
from fencepost.model.classic.vocabulary import MID, STATE, GroupState, Mid
from fencepost.model.revision import DropRule, Revision, SetRule, derive
from fencepost.model.revisions import revisions
from fencepost.model.revisions.base import KAFKA_4, RULES
from fencepost.model.table.expr import all_of
from fencepost.properties.claims.property_registry import FORMULAS, expected_in, find_formula
from fencepost.properties.logic.classic_signature import HOLDS
from fencepost.properties.logic.logic import FALSE, PropertyKind, negate
from fencepost.properties.proofs.abstract_effects import EFFECTS
from fencepost.properties.proofs.proof_results import Obligation, Proof, Result
from fencepost.properties.proofs.proofs import ask, invariants_of, prove
from fencepost.properties.worlds.abstraction import evaluate


@cache
def whole(name: str) -> Proof:
    return prove(revisions.find(name))


def without(rule_id: str, *verbs: Do, table: str = "JoinGroup") -> Revision:
    rule = RULES[rule_id]
    effect = tuple(do for do in rule.effect if do not in verbs)
    return derive(
        KAFKA_4, "broken", "an effect dropped", (SetRule(table, rule.but(effect=effect), "test"),)
    )


def test_everything_is_proved() -> None:
    """`big_proofs.py` proves the accepted text."""
    proof = whole("kafka-4")
    assert [one.about for one in proof.failures] == []
    assert proof.uncovered == ()
    assert len(proof.obligations) > 5000
    kinds = {one.kind for one in proof.obligations}
    assert kinds == {"table", "state", "step", "premise", "reachable", "defensive"}


def test_expected_violations_are_exactly_those_that_are_said() -> None:
    found: dict[str, set[str]] = {}
    for one in whole("kafka-4").expected:
        found.setdefault(one.about, set()).add(one.rule)
    said = {
        p.id: set(p.expected_rules["kafka-4"]) for p in FORMULAS if "kafka-4" in p.expected_rules
    }
    assert found == said


def test_every_rule_and_every_table_has_its_obligations() -> None:
    proof = whole("kafka-4")
    ruled = {one.about for one in proof.obligations if one.kind in {"reachable", "defensive"}}
    assert ruled == {rule.id for _, rule in KAFKA_4.rules()}
    tables = {one.about for one in proof.obligations if one.kind == "table"}
    assert {name.split(" (")[0] for name in tables} == set(KAFKA_4.tables)


def test_counterexamples_are_read_alike_by_both_engines() -> None:
    """What Z3 gives as a counterexample violates the same formula where it is evaluated."""
    shown = [one for one in whole("kafka-4").expected if one.counterexample is not None]
    assert len(shown) >= 6
    for one in shown:
        formula = find_formula(one.about).formula
        assert formula is not None
        assert one.counterexample is not None
        assert not evaluate(formula, one.counterexample.step), one
        for invariant in invariants_of(FORMULAS):
            assert invariant.formula is not None
            assert evaluate(invariant.formula, one.counterexample.step.before), invariant.id


def test_counterexamples_are_small() -> None:
    for one in whole("kafka-4").expected:
        if one.counterexample is not None:
            before = one.counterexample.step.before
            assert len(before.member | before.pending) <= 2
            assert len({instance for instance, _ in before.holds}) <= 1


def test_a_proof_says_the_same_twice_and_as_json() -> None:
    one = prove(KAFKA_4, ["rebalance-has-a-cause"], rules=["JOIN-FOLLOWER-STABLE-CHANGED"])
    again = prove(KAFKA_4, ["rebalance-has-a-cause"], rules=["JOIN-FOLLOWER-STABLE-CHANGED"])
    assert one.to_json() == again.to_json()
    notable = json.loads(json.dumps(one.to_json()))["notable"]
    assert notable[0]["counterexample"]["event"]["event"] == "JoinGroup"


def _first(proof: Proof, about: str) -> Obligation:
    return next(
        one for one in proof.failures if one.about == about and one.counterexample is not None
    )


def test_a_replacement_that_forgets_the_map_fails_readably() -> None:
    forgetful = EFFECTS[Do.REPLACE_HOLDER].without(HOLDS.name)
    twisted = replace(
        KAFKA_4, name="broken", ancestors=("kafka-4",), twists={Do.REPLACE_HOLDER: lambda e: e}
    )
    proof = prove(
        twisted, rules=["JOIN-STATIC-EMPTY-STABLE"], overrides={Do.REPLACE_HOLDER: forgetful}
    )
    found = _first(proof, "static-member-is-mapped")
    assert found.counterexample is not None
    assert found.counterexample.words == (
        (
            "before: Stable, generation 0; m1 carries A, leads; A is mapped to m1; "
            "stored: Stable with m1"
        ),
        (
            'then: JoinGroup with member id "" and instance A (the fresh id is m2) answered NONE, '
            "by JOIN-STATIC-EMPTY-STABLE"
        ),
        (
            "after: Stable, generation 0; m2 carries A, leads; A is mapped to m1; "
            "stored: Stable with m2"
        ),
    )


def test_a_step_that_is_performed_otherwise_is_not_covered_unless_said() -> None:
    twisted = replace(
        KAFKA_4, name="broken", ancestors=("kafka-4",), twists={Do.REPLACE_HOLDER: lambda e: e}
    )
    proof = prove(twisted, rules=["JOIN-STATIC-EMPTY-STABLE"])
    assert {one.result for one in proof.obligations if one.step} == {
        Result.PROVED,  # at first
        Result.UNCOVERED,
    }
    assert "REPLACE_HOLDER" in proof.uncovered[0].detail
    assert proof.failures == ()


@pytest.mark.parametrize(
    ("revision", "rule", "about"),
    [
        (without("JOIN-DYNAMIC-EMPTY-LEGACY", Do.REBALANCE), None, "parked-only-while-preparing"),
        (
            without("SYNC-COMPLETING-LEADER", Do.ASSIGN, table="SyncGroup"),
            None,
            "stored-is-consistent",
        ),
        (
            without("SESSION-EXPIRED", Do.REBALANCE, table="session timeout"),
            None,
            "settled-has-members",
        ),
        (
            without("JOIN-STATIC-EMPTY-COMPLETING", Do.REBALANCE),
            None,
            "parked-only-while-preparing",
        ),
        (
            derive(
                KAFKA_4,
                "broken",
                "a zombie may join",
                (
                    SetRule(
                        "JoinGroup",
                        RULES["JOIN-INSTANCE-FENCED"].but(effect=(Do.REPLACE_HOLDER_AS_SENT,)),
                        "test",
                    ),
                ),
            ),
            "JOIN-INSTANCE-FENCED",
            "zombie-changes-nothing",
        ),
    ],
)
def test_a_broken_rule_fails_the_right_obligation(
    revision: Revision, rule: str | None, about: str
) -> None:
    difference = revision.differences[0]
    assert isinstance(difference, SetRule)
    changed = rule or difference.rule.id
    proof = prove(revision, rules=[changed])
    found = _first(proof, about)
    assert found.rule == changed
    assert found.counterexample is not None
    formula = find_formula(about).formula
    assert formula is not None
    step = found.counterexample.step
    assert not evaluate(
        formula, step.after if find_formula(about).kind is PropertyKind.STATE else step
    )


@pytest.mark.slow
def test_gaps_overlaps_idle_rules_and_empty_premises_are_seen() -> None:
    overlap = RULES["HEARTBEAT-STABLE"].but(
        guard=STATE.among(GroupState.STABLE, GroupState.COMPLETING)
    )
    idle = RULES["SYNC-STABLE"].but(
        id="SYNC-NEVER", guard=all_of(RULES["SYNC-STABLE"].guard, MID.among(Mid.PENDING))
    )
    broken = derive(
        KAFKA_4,
        "broken",
        "its tables are wrong",
        (
            SetRule("Heartbeat", overlap, "test"),
            SetRule("SyncGroup", idle, "test"),
            SetRule("SyncGroup", RULES["SYNC-PREPARING"].but(defensive="a lie"), "test"),
            DropRule("LeaveGroup member", "LEAVE-MEMBER-PENDING", "test"),
            DropRule("JoinGroup", "JOIN-GROUP-FULL", "test"),
        ),
    )
    empty = replace(find_formula("only-the-invited-come"), premise=FALSE)
    chosen = (*invariants_of(FORMULAS), find_formula("zombie-changes-nothing"), empty)
    proof = prove(broken, properties=chosen, with_traces=False)
    assert {(one.kind, one.about, one.step) for one in proof.failures} == {
        ("table", "Heartbeat", "unambiguous"),
        ("table", "LeaveGroup member", "total"),
        ("reachable", "SYNC-NEVER", ""),
        ("defensive", "SYNC-PREPARING", "SYNC-PREPARING"),
        ("premise", "only-the-invited-come", ""),
    }
    assert [(one.about, one.result, one.detail) for one in proof.kept] == [
        (
            "zombie-changes-nothing",
            Result.KEPT,
            "kafka-4 breaks it by JOIN-GROUP-FULL, which this revision does not have",
        )
    ]


@pytest.mark.slow
def test_a_violation_that_is_listed_of_a_shipped_revision_must_show() -> None:
    known = find_formula("seats-stay")
    stale = replace(
        known,
        expected={"kafka-4": "made up"},
        expected_rules={"kafka-4": frozenset({"HEARTBEAT-STABLE"})},
    )
    proof = prove(KAFKA_4, properties=[stale], assume=FORMULAS, with_traces=False)
    assert [one.result for one in proof.failures if one.about == known.id] == [Result.STALE]


def test_no_property_is_so_weak_that_its_opposite_is_proved_as_well() -> None:
    opposites = tuple(
        replace(
            one,
            id=f"not {one.id}",
            formula=negate(one.formula),
            expected={"kafka-4": "it is negated"},
            expected_rules={},
        )
        for one in FORMULAS
        if one.formula is not None
    )
    proof = prove(
        KAFKA_4,
        properties=opposites,
        assume=FORMULAS,
        rules=["JOIN-STATIC-EMPTY-NEW"],
        with_traces=False,
    )
    failing = {one.about for one in proof.expected}
    assert failing == {one.id for one in opposites}
    assert len(failing) == len(FORMULAS)


def test_what_z3_cant_decide_has_failed() -> None:
    def tired(solver: Any) -> str:
        return "unknown" if ask(solver) == "unsat" else "sat"

    proof = prove(KAFKA_4, ["seats-stay"], rules=["LEAVE-MEMBER"], ask=tired)
    undecided = [one for one in proof.failures if one.result is Result.UNKNOWN]
    assert undecided
    assert "can't decide" in undecided[0].detail


def test_a_release_fails_where_its_base_does_and_the_strict_text_where_it_says() -> None:
    one = find_formula("static-goes-only-by-session-leave-replacement")
    assert expected_in(one, KAFKA_4) == expected_in(one, revisions.find("kafka-3.9"))
    assert expected_in(one, revisions.find("kip-345")) is None
    assert expected_in(one, without("JOIN-DYNAMIC-EMPTY", Do.PERSIST)) is not None


def test_before_the_wait_for_syncs_its_rule_is_proved_unreachable() -> None:
    old = revisions.find("kafka-2.4")
    proof = prove(old, rules=["SYNC-PHASE-EXPIRED", "JOIN-PHASE-EXPIRED"])
    assert not [one for one in proof.obligations if one.rule == "SYNC-PHASE-EXPIRED"]
    assert [one for one in proof.obligations if one.about == "nobody-waits-for-syncs"]
    assert proof.failures == ()


def test_every_verb_has_an_abstract_effect() -> None:
    assert EFFECTS.keys() == set(Do)
