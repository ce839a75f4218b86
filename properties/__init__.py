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
    from fencepost.model.revisions.revisions import find as find_revision
    from fencepost.properties.assignors.assignor_promises import (
        ASSIGNOR_PROMISES,
        AssignorInput,
        Quality,
        best_assignment,
        broken_promises,
        quality_of,
        shrunk_group,
    )
    from fencepost.properties.assignors.assignor_promises import groups as assignor_inputs
    from fencepost.properties.checking.checking import (
        Checked,
        CheckedPromise,
        CheckedProperty,
        PropertyStatus,
        check_promises,
        check_revision,
    )
    from fencepost.properties.checking.evaluator import Coverage
    from fencepost.properties.checking.liveness import PROMISES, Promise
    from fencepost.properties.claims.answer_properties import (
        HISTORY_PROPERTIES,
        broken_properties,
        reached_properties,
    )
    from fencepost.properties.claims.property_registry import PROPERTIES, find_property
    from fencepost.properties.departures.known_departures import DEPARTURES, Departure, departed
    from fencepost.properties.diff.revision_diff import Comparison, Difference, compare_revisions
    from fencepost.properties.explorer.exploration import (
        Check,
        Exploration,
        FailedCheck,
        Graph,
        Progress,
        System,
        write_graph,
    )
    from fencepost.properties.explorer.explorer import explore
    from fencepost.properties.logic.logic import Engine, Property, PropertyKind
    from fencepost.properties.mutants.mutant import Mutant
    from fencepost.properties.mutants.mutants import MUTANTS, find_mutant
    from fencepost.properties.oracle.oracle import Oracle, judge
    from fencepost.properties.oracle.verdict import Allowed, Verdict, Violation, Wrong
    from fencepost.properties.oracle.witness import ExplainedRun, run_beside
    from fencepost.properties.proofs.proof_results import Counterexample, Obligation, Proof, Result
    from fencepost.properties.proofs.proofs import prove
    from fencepost.properties.stateful.machines import FalsifyingWalk, find_violation, world_machine
    from fencepost.properties.stateful.profiles import PROFILES, load_profile, register_profiles
    from fencepost.properties.stateful.strategies import (
        Move,
        Program,
        histories,
        programs,
        requests,
    )
    from fencepost.properties.workers.processes import WorkerLostError
    from fencepost.properties.worlds.concretise import Run, unfold
    from fencepost.properties.worlds.scope import ACTS, NamedScope, Scope, ScopeError
    from fencepost.properties.worlds.views import Failover, StepView, WorldView
    from fencepost.properties.worlds.world import Act, World, Worlds
    from fencepost.properties.worlds.world_client import Client, Seat

__all__ = [
    "ACTS",
    "ASSIGNOR_PROMISES",
    "DEPARTURES",
    "HISTORY_PROPERTIES",
    "MUTANTS",
    "PROFILES",
    "PROMISES",
    "PROPERTIES",
    "Act",
    "Allowed",
    "AssignorInput",
    "Check",
    "Checked",
    "CheckedPromise",
    "CheckedProperty",
    "Client",
    "Comparison",
    "Counterexample",
    "Coverage",
    "Departure",
    "Difference",
    "Engine",
    "ExplainedRun",
    "Exploration",
    "FailedCheck",
    "Failover",
    "FalsifyingWalk",
    "Graph",
    "Move",
    "Mutant",
    "NamedScope",
    "Obligation",
    "Oracle",
    "Program",
    "Progress",
    "Promise",
    "Proof",
    "Property",
    "PropertyKind",
    "PropertyStatus",
    "Quality",
    "Result",
    "Run",
    "Scope",
    "ScopeError",
    "Seat",
    "StepView",
    "System",
    "Verdict",
    "Violation",
    "WorkerLostError",
    "World",
    "WorldView",
    "Worlds",
    "Wrong",
    "assignor_inputs",
    "best_assignment",
    "broken_promises",
    "broken_properties",
    "check_promises",
    "check_revision",
    "compare_revisions",
    "departed",
    "explore",
    "find_mutant",
    "find_property",
    "find_revision",
    "find_violation",
    "histories",
    "judge",
    "load_profile",
    "programs",
    "prove",
    "quality_of",
    "reached_properties",
    "register_profiles",
    "requests",
    "run_beside",
    "shrunk_group",
    "unfold",
    "world_machine",
    "write_graph",
]

__getattr__, __dir__ = lazy(__name__)
