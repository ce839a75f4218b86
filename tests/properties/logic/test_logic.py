from __future__ import annotations

import itertools

import pytest

from fencepost.model.classic.vocabulary import STATE, GroupState
from fencepost.properties.logic.classic_signature import (
    CLASSIC_SIGNATURE,
    FRESH,
    GENERATION,
    HOLDS,
    INST,
    LEADS,
    MEMBER,
    MID,
    NAMED,
    PENDING,
    SEAT,
    I,
    J,
    X,
    Y,
    is_mid,
)
from fencepost.properties.logic.formula_closure import compile_closure
from fencepost.properties.logic.logic import (
    FALSE,
    TRUE,
    AtMost,
    Formula,
    When,
    all_of,
    an_id,
    any_of,
    exists,
    for_all,
    iff,
    implies,
    is_now,
    is_then,
    negate,
    same,
    text,
)
from fencepost.properties.logic.structures import AbstractStep
from fencepost.properties.worlds.abstraction import (
    AbstractEvent,
    AbstractGroup,
    evaluate,
)

NONE = frozenset[str]()
TWO = AbstractGroup(
    state=GroupState.STABLE,
    the_generation=3,
    member=frozenset({"m1", "m2"}),
    leads=frozenset({"m1"}),
    seat=frozenset({("m1", "A")}),
    holds=frozenset({("A", "m1")}),
)


def test_a_formula_is_no_live_value() -> None:
    with pytest.raises(TypeError, match="no truth value"):
        bool(MEMBER.now(X))
    with pytest.raises(TypeError, match="use `same`"):
        _ = MEMBER.now(X) == MEMBER.now(X)


def test_a_relation_is_said_of_its_sorts() -> None:
    with pytest.raises(ValueError, match=r"member is about \(id\)"):
        MEMBER.now(I)


def test_a_quantifier_takes_variables() -> None:
    with pytest.raises(TypeError, match="variables"):
        for_all(MID, MEMBER.now(MID))
    with pytest.raises(TypeError, match="variables"):
        exists(X)


def test_what_is_no_formula_is_refused() -> None:
    with pytest.raises(TypeError, match="no formula of the language: Formula"):
        text(Formula())
    with pytest.raises(TypeError, match="no formula of the language: Formula"):
        compile_closure(Formula(), CLASSIC_SIGNATURE)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        (
            for_all(X, implies(LEADS.now(X), MEMBER.then(X))),
            "for every id x: if x leads, then it follows that then x is a member",
        ),
        (
            exists(X, I, all_of(HOLDS.now(I, X), negate(same(X, Y)))),
            "for some id x and instance i: i is mapped to x and not (x is y)",
        ),
        (is_then(STATE, GroupState.EMPTY, GroupState.STABLE), "then state is Empty or Stable"),
        (
            AtMost(GENERATION, When.NOW, 1, GENERATION, When.THEN),
            "the generation + 1 ≤ then the generation",
        ),
        (any_of(MEMBER.now(MID), FALSE), "the id sent is a member or (never)"),
    ],
)
def test_a_formula_reads_as_a_sentence(formula: Formula, words: str) -> None:
    assert str(formula) == words


@pytest.mark.parametrize(
    ("formula", "holds"),
    [
        (TRUE, True),
        (FALSE, False),
        (exists(X, all_of(LEADS.now(X), MEMBER.now(X))), True),
        (for_all(X, implies(MEMBER.now(X), LEADS.now(X))), False),
        (for_all(X, implies(MEMBER.now(X), exists(I, SEAT.now(X, I)))), False),
        (for_all(X, implies(LEADS.now(X), exists(I, SEAT.now(X, I)))), True),
        (for_all(X, Y, I, implies(all_of(SEAT.now(X, I), SEAT.now(Y, I)), same(X, Y))), True),
        (exists(X, Y, all_of(MEMBER.now(X), MEMBER.now(Y), negate(same(X, Y)))), True),
        (exists(I, negate(exists(X, HOLDS.now(I, X)))), False),
        (exists(X, negate(LEADS.now(X))), True),
        (for_all(I, J, same(I, J)), True),
        (is_now(STATE, GroupState.STABLE), True),
        (AtMost(None, When.NOW, 3, GENERATION, When.NOW), True),
        (AtMost(None, When.NOW, 4, GENERATION, When.NOW), False),
        (iff(exists(X, PENDING.now(X)), FALSE), True),
    ],
)
def test_a_formula_is_evaluated_on_a_group(formula: Formula, holds: bool) -> None:
    assert evaluate(formula, TWO) is holds


def test_an_inner_variable_hides_an_outer_one() -> None:
    inner = exists(X, LEADS.now(X))
    assert evaluate(for_all(X, implies(MEMBER.now(X), inner)), TWO)


def test_a_step_has_terms_and_two_groups() -> None:
    after = AbstractGroup(state=GroupState.STABLE, member=frozenset({"m2", "m3"}))
    event = AbstractEvent(
        "JoinGroup",
        the_id_sent="m1",
        the_instance_sent="A",
        the_fresh_id="m3",
        named=frozenset({"m1"}),
    )
    step = AbstractStep(TWO, event, after)
    assert evaluate(all_of(MEMBER.now(MID), negate(MEMBER.then(MID))), step)
    assert evaluate(all_of(MEMBER.then(FRESH), HOLDS.now(INST, MID)), step)
    goes = all_of(MEMBER.now(X), negate(MEMBER.then(X)))
    assert evaluate(for_all(X, implies(goes, all_of(NAMED.now(X), is_mid(X)))), step)
    assert not evaluate(negate(exists(X, goes)), step)


def test_loops_over_relations_mean_the_same_as_loops_over_everything() -> None:
    """The shortcut that a premise gives must not change what a quantifier says."""
    x = an_id("x")
    premise = all_of(MEMBER.now(x), SEAT.now(x, I))
    quick = for_all(x, I, implies(premise, HOLDS.now(I, x)))
    slow = for_all(x, I, any_of(negate(premise), HOLDS.now(I, x)))
    pairs = [("m1", "A"), ("m2", "A"), ("m2", "B")]
    for size in range(4):
        for seat in itertools.combinations(pairs, size):
            group = AbstractGroup(
                member=frozenset({"m1", "m2"}),
                seat=frozenset(seat),
                holds=frozenset({("A", "m1"), ("B", "m2")}),
            )
            assert evaluate(quick, group) is evaluate(slow, group)
