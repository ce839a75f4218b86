"""How a history property is said: a function from what was read to what is wrong.

Decides who checks it: anybody who has a history, of any coordinator.  A history knows no states, so
neither exploration (whose worlds are folded: a path is not yet a history) nor a proof takes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fencepost.model.history import Event
from fencepost.properties.claims.history_index import Reading, read
from fencepost.properties.logic.property import Engine, Kind, Property

_NOT_BY = {
    Engine.EXPLORATION: "worlds are folded, so a path is no history until it is unfolded",
    Engine.PROOF: "a proof speaks of one step of the coordinator, and this of a whole history",
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
    """A property of answers alone; both functions are given the history, read."""

    def judged(history: Sequence[Event]) -> str | None:
        return holds(read(history))

    def reached(history: Sequence[Event]) -> bool:
        return premise(read(history))

    return Property(
        id=name,
        meaning=meaning,
        source=source,
        kind=Kind.HISTORY,
        scope=scope,
        engines=frozenset({Engine.ANSWERS, Engine.HYPOTHESIS}),
        holds=judged,
        premise=reached,
        not_by=_NOT_BY,
        expected=expected or {},
    )
