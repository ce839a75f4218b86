"""Every property that is a formula: state properties, then step properties."""

from __future__ import annotations

from fencepost.properties.invariants import INVARIANTS
from fencepost.properties.property import Property
from fencepost.properties.steps_together import STEPS

PROPERTIES: tuple[Property, ...] = (*INVARIANTS, *STEPS)
"""In the order in which they are shown."""


def find(name: str) -> Property:
    """The property of this id.  Raises KeyError that names it and what there is."""
    for one in PROPERTIES:
        if one.id == name:
            return one
    raise KeyError(f"no property {name!r}; there are {', '.join(p.id for p in PROPERTIES)}")
