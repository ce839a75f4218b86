"""Walk at random through the consumer protocol and its mutants; `tox -e mutants`.

The walks complement exhaustive worlds: they have more clients, and all acts.  Each run of the tests
takes the same walks.
"""

from __future__ import annotations

from random import Random

import pytest

from fencepost.model.revisions import revisions
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.properties.checking.evaluator import EXCUSED
from fencepost.properties.checking.random_walk import Walk, WalkContext
from fencepost.properties.claims.property_registry import CONSUMER_PROPERTIES
from fencepost.properties.mutants.consumer_mutants import CONSUMER_BREAKS
from fencepost.properties.oracle.oracle import judge
from fencepost.properties.stateful.machines import find_violation
from fencepost.properties.worlds.consumer_worlds import CONSUMER_WORLDS
from fencepost.properties.worlds.scope import Scope

DRAWING = CONSUMER_WORLDS.drawing
STEPS = 9_000
"""The steps in each of the four scopes."""
_LONG = 60
_SHORT = 25
"""The steps of a walk that the oracle judges: each lost answer multiplies the oracle's states."""
_UNKNOWN = 0.05
"""The greatest share of walks that the oracle may give up, because they have many lost answers."""
_JUDGED = 1_500
"""The steps in each scope that the oracle judges."""
_WAYS = 1 << 12

_OF_4_4 = {"a-join-can-be-sent-again", "a-target-is-taken-over", "an-id-keeps-its-instance"}
_OF_4_3 = _OF_4_4 | {"an-entry-names-its-member", "a-released-instance-is-free"}
_OF_4_0 = _OF_4_3 | {"what-is-to-be-given-up-is-shown"}
EXPECTED = {
    "kip-848": {"an-id-keeps-its-instance"},
    "consumer-4.0": _OF_4_0,
    "consumer-4.1": _OF_4_0,
    "consumer-4.2": _OF_4_0,
    "consumer-4.3": _OF_4_3,
    "consumer-4.3.1": _OF_4_3,
    "consumer-4.4": _OF_4_4,
    "pr-23542": set(),
}
"""The known failures that walks find; the others need a second partition of a topic."""
_RARE = {"a-failover-hurries-nobody", "a-target-is-complete"}
"""Known failures that only some walks find."""
LUCK = 8
"""The most mutants that break a property and that no walk finds."""


def _walks(context: WalkContext, steps: int, length: int) -> list[Walk]:
    chance = Random(1)
    walks = []
    taken = 0
    while taken < steps:
        without = DRAWING.without(chance.getrandbits(len(DRAWING.disturbing)))
        walk = Walk(context)
        for _ in range(length):
            walk.choose(chance.randrange(_WAYS), without)
        walks.append(walk)
        taken += len(walk.choices)
    return walks


@pytest.mark.parametrize("name", revisions.CONSUMER_NAMES)
def test_long_walks_break_nothing_but_what_is_known(name: str) -> None:
    revision = revisions.find(name)
    broken: set[str] = set()
    for scope in DRAWING.scopes:
        context = WalkContext(revision, scope, CONSUMER_PROPERTIES.values())
        for walk in _walks(context, STEPS, _LONG):
            assert walk.finding is None, walk.finding
            broken |= {
                fault.removeprefix(EXCUSED).partition(":")[0]
                for act, _ in walk.path
                for fault in (() if act is None else act.faults)
            }
    assert broken - _RARE == EXPECTED[name]


@pytest.mark.parametrize("scope", DRAWING.scopes, ids=range(len(DRAWING.scopes)))
@pytest.mark.parametrize("name", revisions.CONSUMER_NAMES)
def test_the_oracle_explains_walks(name: str, scope: Scope) -> None:
    revision = revisions.find(name)
    context = WalkContext(revision, scope)
    walks = _walks(context, _JUDGED, _SHORT)
    unknown = 0
    for walk in walks:
        verdict = judge(revision, context.config, list(walk.run().events), lag_ms=0).verdict()
        assert verdict.violation is None
        unknown += verdict.unknown is not None
    assert unknown <= len(walks) * _UNKNOWN


def test_walks_find_nearly_all_mutants_that_break_a_property() -> None:
    missed = [
        name
        for name in CONSUMER_BREAKS
        if find_violation(
            find_revision(f"mutant:{name}"), CONSUMER_PROPERTIES.values(), max_examples=100
        )
        is None
    ]
    assert len(missed) <= LUCK, missed
