"""Properties: what must hold of a group coordinator, and the engines that check it.

What this page names is the public API of the floor; all else is private to its room.  Nothing is
imported before it is first used: `prove` needs the extra `prove`, strategies need Hypothesis.

    from fencepost.properties import check_revision, find_property, find_revision

    zombies = find_property("no-two-consumers-on-one-id")
    checked = check_revision(find_revision("comment-table-1"), [zombies])
    print([result.finding.value for result in checked.results])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.model._door import lazy

if TYPE_CHECKING:
    from fencepost.properties.checking.checking import check_promises, check_revision
    from fencepost.properties.checking.liveness import Fair, Promise
    from fencepost.properties.claims.property_registry import find_property
    from fencepost.properties.diff.revision_diff import compare_revisions
    from fencepost.properties.explorer.explorer import explore
    from fencepost.properties.logic.logic import Engine, Property, PropertyClass, PropertyKind
    from fencepost.properties.mutants.mutants import find_mutant
    from fencepost.properties.oracle.oracle import judge
    from fencepost.properties.proofs.proofs import prove
    from fencepost.properties.stateful.machines import find_violation, load_profile, world_machine
    from fencepost.properties.stateful.strategies import Move, Program, histories, programs
    from fencepost.properties.worlds.scope import NamedScope, Scope
    from fencepost.properties.worlds.views import StepView, WorldView
    from fencepost.properties.worlds.world import Worlds

__all__ = [
    "Engine",
    "Fair",
    "Move",
    "NamedScope",
    "Program",
    "Promise",
    "Property",
    "PropertyClass",
    "PropertyKind",
    "Scope",
    "StepView",
    "WorldView",
    "Worlds",
    "check_promises",
    "check_revision",
    "compare_revisions",
    "explore",
    "find_mutant",
    "find_property",
    "find_violation",
    "histories",
    "judge",
    "load_profile",
    "programs",
    "prove",
    "world_machine",
]

__getattr__, __dir__ = lazy(__name__)
