"""Guards are data: compiled and read, never used as live values."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from itertools import product
from typing import Any, NamedTuple

import pytest

from fencepost.model.table.expr import (
    ALWAYS,
    Expr,
    Feature,
    all_of,
    any_of,
    compile_closure,
    negate,
    text,
)


class Colour(Enum):
    RED = "red"
    GREEN = "green"
    BLUE = "blue"


COLOUR = Feature("colour", tuple(Colour), "which colour")
SIZE = Feature("size", (0, 1, 2, 3), "how large")
OPEN = Feature("open", (False, True), "whether it is open")
FEATURES = (COLOUR, SIZE, OPEN)


class Place(NamedTuple):
    colour: Any
    size: Any
    open: Any


RED = COLOUR.among(Colour.RED)
LARGE = SIZE.at_least(2)
IS_OPEN = OPEN.among(True)


@pytest.mark.parametrize("expr", [RED, all_of(RED, LARGE), any_of(RED, LARGE), negate(RED), ALWAYS])
def test_truth_value_equality_and_hash_raise(expr: Expr) -> None:
    with pytest.raises(TypeError, match="no truth value"):
        bool(expr)
    with pytest.raises(TypeError, match="aren't compared"):
        assert expr == RED
    with pytest.raises(TypeError, match="aren't compared"):
        assert expr != RED
    with pytest.raises(TypeError, match="unhashable"):
        hash(expr)


def test_values_that_are_sentences_stand_alone() -> None:
    ends = Feature("end", ("it ended", "it goes on", "it began"), "its end", says_all=True)
    assert text(all_of(ends.among("it ended"), IS_OPEN)) == "it ended and open is True"
    either = all_of(ends.among("it ended", "it began"), IS_OPEN)
    assert text(either) == "(it ended or it began) and open is True"


def test_the_connectives_of_python_cant_be_misused() -> None:
    def both(left: Any, right: Any) -> Any:
        return left and right

    with pytest.raises(TypeError, match="no truth value"):
        both(RED, LARGE)
    with pytest.raises(TypeError, match="no truth value"):
        assert not RED


def test_a_value_outside_of_the_domain_is_refused() -> None:
    with pytest.raises(ValueError, match="colour is never 'red'; it is one of"):
        COLOUR.among("red")


@pytest.mark.parametrize(
    ("expr", "holds"),
    [
        (RED, lambda p: p.colour is Colour.RED),
        (LARGE, lambda p: p.size >= 2),
        (SIZE.below(2), lambda p: p.size < 2),
        (all_of(RED, LARGE, IS_OPEN), lambda p: p.colour is Colour.RED and p.size >= 2 and p.open),
        (any_of(RED, LARGE), lambda p: p.colour is Colour.RED or p.size >= 2),
        (negate(any_of(RED, IS_OPEN)), lambda p: not (p.colour is Colour.RED or p.open)),
        (
            all_of(negate(RED), any_of(LARGE, IS_OPEN)),
            lambda p: p.colour is not Colour.RED and (p.size >= 2 or p.open),
        ),
        (ALWAYS, lambda _: True),
        (any_of(), lambda _: False),
        (all_of(ALWAYS, any_of()), lambda _: False),
    ],
    ids=lambda value: str(value) if isinstance(value, Expr) else "holds",
)
def test_a_compiled_guard_says_what_its_parts_say(
    expr: Expr, holds: Callable[[Place], bool]
) -> None:
    closure = compile_closure(expr, FEATURES)
    for point in product(*(f.domain for f in FEATURES)):
        assert closure(point) is bool(holds(Place(*point))), point


def test_a_point_is_read_in_the_order_of_the_features() -> None:
    assert compile_closure(LARGE, (SIZE,))((3,))
    assert compile_closure(LARGE, (OPEN, SIZE))((False, 3))


def test_a_foreign_feature_is_refused_by_name() -> None:
    twin = Feature("size", (0, 1, 2, 3), "another feature of the same name")
    with pytest.raises(ValueError, match="size is no feature of this table"):
        compile_closure(all_of(RED, twin.among(1)), FEATURES)


def test_a_class_of_its_own_is_no_expression() -> None:
    with pytest.raises(TypeError, match="no expression of the vocabulary: Expr"):
        compile_closure(Expr(), FEATURES)
    with pytest.raises(TypeError, match="no expression of the vocabulary: Expr"):
        text(Expr())


@pytest.mark.parametrize(
    ("expr", "words"),
    [
        (RED, "colour is red"),
        (SIZE.among(2), "size is 2"),
        (COLOUR.among(Colour.BLUE, Colour.RED), "colour is red or blue"),
        (LARGE, "size ≥ 2"),
        (SIZE.below(2), "size ≤ 1"),
        (SIZE.among(1, 2), "size in 1-2"),
        (IS_OPEN, "open is True"),
        (negate(RED), "not (colour is red)"),
        (all_of(RED, any_of(LARGE, IS_OPEN)), "colour is red and (size ≥ 2 or open is True)"),
        (ALWAYS, "always"),
        (any_of(), "never"),
    ],
)
def test_a_guard_reads_as_a_sentence(expr: Expr, words: str) -> None:
    assert text(expr) == words == str(expr)


def test_all_but_one_of_many_values_is_said_by_the_one() -> None:
    many = Feature("letter", tuple("abcd"), "a letter")
    assert text(many.among("a", "b", "d")) == "letter is not c"


def test_a_number_with_gaps_is_not_said_as_a_range() -> None:
    assert text(SIZE.among(0, 2)) == "size is 0 or 2"
    assert text(SIZE.among(0, 3)) == "size is 0 or 3"
