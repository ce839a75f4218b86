"""Properties of runs: what is seen when a group is driven, by exploration or by Hypothesis.

Decides what such properties have in common: they are functions, and a proof doesn't reach them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from fencepost.properties.logic.property import Engine, Kind, Property
from fencepost.properties.worlds.views import StepView, WorldView

View = TypeVar("View", StepView, WorldView)
_ENGINES = frozenset({Engine.EXPLORATION, Engine.HYPOTHESIS})
_SISTER = "answers alone are held to the sister property in fencepost.properties.claims.answers"


def run_property(
    kind: Kind,
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
) -> Property:
    """A property of this kind.  `proof`, `answers`: why these engines don't check it."""
    return Property(
        id=name,
        meaning=meaning,
        source=source,
        kind=kind,
        scope=scope,
        engines=_ENGINES,
        holds=holds,
        premise=premise,
        not_by={Engine.PROOF: proof, Engine.ANSWERS: answers},
        expected=expected or {},
    )
