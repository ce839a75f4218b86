"""Every property has a class and a harm, and the headline follows."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.properties.checking.consumer_promises import CONSUMER_PROMISES
from fencepost.properties.checking.liveness import PROMISES
from fencepost.properties.claims import property_classes
from fencepost.properties.claims.property_classes import class_of, harm_of, headline
from fencepost.properties.claims.property_registry import ALL_PROPERTIES, FORMULAS
from fencepost.properties.logic.logic import PropertyClass

SAFETY, PROMISE, COST = PropertyClass


def test_every_property_has_its_class_and_its_harm_and_no_other_has() -> None:
    known: list[Any] = [
        *ALL_PROPERTIES.values(),
        *FORMULAS,
        *PROMISES,
        *CONSUMER_PROMISES,
    ]
    assert all(claim.property_class is class_of(claim.id) for claim in known)
    assert all(claim.harm and claim.harm == harm_of(claim.id) for claim in known)
    assert {claim.id for claim in known} == set(property_classes._CLASSES)


@pytest.mark.parametrize(
    ("violated", "words"),
    [
        ([], "safe"),
        ([("p", PROMISE)], "safe; changes one promise: p"),
        ([("p", PROMISE), ("q", PROMISE)], "safe; changes 2 promises: p, q"),
        ([("c", COST)], "safe; costs rebalances: c"),
        ([("c", COST), ("p", PROMISE)], "safe; changes one promise: p; costs rebalances: c"),
        ([("p", PROMISE), ("s", SAFETY)], "not safe: s; changes one promise: p"),
    ],
)
def test_the_headline_says_safe_unless_safety_is_violated(
    violated: list[tuple[str, PropertyClass]], words: str
) -> None:
    assert headline(violated) == words


def test_the_headline_does_not_say_safe_where_safety_was_not_looked_at() -> None:
    assert headline([("p", PROMISE)], safe="") == "changes one promise: p"
