"""Every property, once, and which engine checks it.

Decides what there is to hold.  A property says itself who checks it and why nobody else does; the
matrix of both is made from that.
"""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.properties.claims.answers import HISTORY_PROPERTIES
from fencepost.properties.claims.invariants import BOOKS, PROMISED
from fencepost.properties.claims.step_properties import STEP_PROPERTIES
from fencepost.properties.claims.steps_together import STEPS
from fencepost.properties.claims.world_properties import WORLD_PROPERTIES
from fencepost.properties.logic.property import Property


def _by_id(*groups: tuple[Property, ...]) -> dict[str, Property]:
    found: dict[str, Property] = {}
    for one in (one for group in groups for one in group):
        if one.id in found:
            raise ValueError(f"two properties are called {one.id}; rename one")
        found[one.id] = one
    return found


PROPERTIES: Mapping[str, Property] = _by_id(
    PROMISED, STEPS, WORLD_PROPERTIES, STEP_PROPERTIES, HISTORY_PROPERTIES, BOOKS
)


def find_property(property_id: str) -> Property:
    """The property of this id.  Raises KeyError that names the value and what there is."""
    try:
        return PROPERTIES[property_id]
    except KeyError:
        known = ", ".join(sorted(PROPERTIES))
        raise KeyError(f"no property {property_id!r}; there are {known}") from None
