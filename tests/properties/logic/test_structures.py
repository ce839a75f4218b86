"""An abstraction names the things for which a formula doesn't hold."""

from __future__ import annotations

import pytest

from fencepost.model.messages.subscription import TopicPartition
from fencepost.properties.claims.property_registry import CONSUMER_FORMULAS
from fencepost.properties.logic.consumer_signature import EXISTS, MEMBER, SESSION, X
from fencepost.properties.logic.logic import Formula, all_of, for_all, implies, negate
from fencepost.properties.worlds.consumer_abstraction import CONSUMER, AbstractConsumerGroup

PARTS = frozenset({("m1", TopicPartition("t", 0)), ("m2", TopicPartition("t", 0))})
GROUP = AbstractConsumerGroup(
    exists=True,
    member=frozenset({"m1", "m2"}),
    session=frozenset({"m1"}),
    assigned=PARTS,
)
INVARIANTS = {claim.id: claim.invariant for claim in CONSUMER_FORMULAS}
WATCHED = for_all(X, implies(MEMBER.now(X), SESSION.now(X)))


def counterexample(formula: Formula | None) -> tuple[str, ...]:
    assert formula is not None
    assert not CONSUMER.evaluate(formula, GROUP)
    return CONSUMER.counterexample(formula, GROUP, GROUP, None)


@pytest.mark.parametrize(
    ("formula", "things"),
    [
        (WATCHED, ("id m2",)),
        (INVARIANTS["a-partition-has-one-owner"], ("id m1", "id m2", "partition t-0")),
        (all_of(EXISTS.now(), implies(EXISTS.now(), WATCHED)), ("id m2",)),
        (negate(EXISTS.now()), ()),
    ],
)
def test_things_for_which_a_formula_does_not_hold(
    formula: Formula | None, things: tuple[str, ...]
) -> None:
    assert counterexample(formula) == things
