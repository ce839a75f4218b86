"""Make properties from functions: of steps and worlds (`run_property`), of histories.

A function can't be proved, so these are checked by exploration, by Hypothesis, or on the answers of
any coordinator.  A history knows no states, so exploration doesn't check history properties: its
worlds are folded, and a path is not yet a history.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from fencepost.model.history.events import Event
from fencepost.properties.claims import waivers
from fencepost.properties.claims.history_index import Reading, read
from fencepost.properties.claims.property_classes import class_of, harm_of
from fencepost.properties.logic.logic import Engine, Property, PropertyKind
from fencepost.properties.worlds.views import StepView, WorldView

View = TypeVar("View", StepView, WorldView)
_ENGINES = frozenset({Engine.EXPLORATION, Engine.HYPOTHESIS})
_SISTER = (
    "the sister property in fencepost.properties.claims.answer_properties checks answers alone"
)


def run_property(
    kind: PropertyKind,
    name: str,
    meaning: str,
    source: str,
    scope: str,
    holds: Callable[[View], str | None],
    premise: Callable[[View], bool],
    *,
    proof: str,
    answers: str = _SISTER,
    expected: Mapping[str, str] | None = None,
    api: str = "",
    version: int = 0,
) -> Property:
    """Make a property of this kind.  `proof`, `answers`: why these engines don't check it.

    `expected`: revisions in which it fails, beside the waivers, which name the rules.  `api`,
    `version`: the request without which nothing is said, and its lowest version.
    """
    return Property(
        id=name,
        meaning=meaning,
        source=source,
        kind=kind,
        scope=scope,
        engines=_ENGINES,
        holds=holds,
        premise=premise,
        premise_guards=kind is PropertyKind.STEP,
        not_by={Engine.PROOF: proof, Engine.ANSWERS: answers},
        expected={**waivers.reasons(name), **(expected or {})},
        expected_rules=waivers.rules(name),
        property_class=class_of(name),
        api=api,
        version=version,
        harm=harm_of(name),
    )


_NOT_BY_HISTORY = {
    Engine.EXPLORATION: "worlds are folded, so a path is no history until it is unfolded",
    Engine.PROOF: "a proof is about one step of the coordinator, and this about a whole history",
}


def history_property(
    name: str,
    meaning: str,
    source: str,
    scope: str,
    holds: Callable[[Reading], str | None],
    premise: Callable[[Reading], bool],
    *,
    expected: Mapping[str, str] | None = None,
) -> Property:
    """Make a property of answers alone; both functions take the history's index."""

    def judged(history: Sequence[Event]) -> str | None:
        return holds(read(history))

    def reached(history: Sequence[Event]) -> bool:
        return premise(read(history))

    return Property(
        id=name,
        meaning=meaning,
        source=source,
        kind=PropertyKind.HISTORY,
        scope=scope,
        engines=frozenset({Engine.ANSWERS, Engine.HYPOTHESIS}),
        holds=judged,
        premise=reached,
        not_by=_NOT_BY_HISTORY,
        expected=expected or {},
        property_class=class_of(name),
        harm=harm_of(name),
    )
