"""Every property that is a formula: state properties, then step properties; where each holds."""

from __future__ import annotations

from fencepost.model.revision import Revision
from fencepost.model.revisions import revisions
from fencepost.properties.claims.invariants import INVARIANTS
from fencepost.properties.claims.invariants_stored import STORED
from fencepost.properties.claims.steps_together import STEPS
from fencepost.properties.logic.property import Property

PROPERTIES: tuple[Property, ...] = (*INVARIANTS, *STORED, *STEPS)
"""In the order in which they are shown."""


def find(name: str) -> Property:
    """The property of this id.  Raises KeyError that names it and what there is."""
    for one in PROPERTIES:
        if one.id == name:
            return one
    raise KeyError(f"no property {name!r}; there are {', '.join(p.id for p in PROPERTIES)}")


def expected_in(one: Property, revision: Revision) -> tuple[str, frozenset[str] | None] | None:
    """Why the property fails in this revision, and by which rules; None if it must hold.

    The rules are None where they aren't named.  A release profile and a revision that has no name
    among the known ones, a mutant say, fail where their base does.
    """
    name = revision.name
    if name not in one.expected:
        if name.startswith("kafka-"):
            name = "kafka-4"
        elif name not in revisions.NAMES and revision.base is not None:
            name = revision.base
    if name not in one.expected:
        return None
    rules = one.expected_rules.get(name)
    if rules is not None:
        rules -= {rule.id for _, rule in revision.rules() if rule.defensive is not None}
    return one.expected[name], rules
