"""The history properties: what must hold of answers alone, whoever gave them.

They need no table and no revision, so they also apply to a coordinator that nobody has a model of.

    >>> from fencepost.properties.claims.answer_properties import broken_properties
    >>> broken_properties([])
    {}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fencepost.model.history.events import Event
from fencepost.properties.claims.answers_bounds import BOUND_PROPERTIES
from fencepost.properties.claims.answers_generations import GENERATION_PROPERTIES
from fencepost.properties.claims.answers_ids import ID_PROPERTIES
from fencepost.properties.claims.answers_quiet import QUIET_PROPERTIES
from fencepost.properties.claims.history_index import read
from fencepost.properties.logic.property import Property

HISTORY_PROPERTIES: tuple[Property, ...] = (
    *ID_PROPERTIES,
    *GENERATION_PROPERTIES,
    *QUIET_PROPERTIES,
    *BOUND_PROPERTIES,
)


def broken_properties(
    history: Sequence[Event], properties: Iterable[Property] = HISTORY_PROPERTIES
) -> Mapping[str, str]:
    """Return the properties that a history breaks: id → what is wrong, in one sentence."""
    reading = read(history)
    said = ((one.id, one.holds(reading)) for one in properties if one.holds is not None)
    return {name: sentence for name, sentence in said if sentence is not None}


def reached_properties(
    history: Sequence[Event], properties: Iterable[Property] = HISTORY_PROPERTIES
) -> frozenset[str]:
    """Return the ids of the properties whose premise a history reaches; it tests no others."""
    reading = read(history)
    return frozenset(one.id for one in properties if callable(one.premise) and one.premise(reading))
