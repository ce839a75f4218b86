"""Find a suite of cases by the name that `--suite` takes: the catalogue, or a generated suite.

A generated suite has figures, which are reported before it runs and in the certificate: its bound,
its numbers of traces and steps, and a lower bound of that number of steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from fencepost.conformance.cases import entries_of
from fencepost.conformance.cases.case_registry import Entry
from fencepost.model.revision import Revision

if TYPE_CHECKING:
    from fencepost.conformance.cases.cover_suite import CoverSuite

CATALOGUE = "catalogue"
NAMES = (CATALOGUE, "cover", "pairs")
BOUND = "small"
"""See `fencepost.properties.worlds.scope.COVER_SCOPES`."""


@dataclass(frozen=True, slots=True)
class CaseSuite:
    """A suite: its cases in order, and its figures.

    `figures`: as the certificate has them, {} for the catalogue; `heading`: the figures as lines.
    """

    name: str
    entries: tuple[Entry, ...]
    figures: Mapping[str, Any] = field(default_factory=dict)
    heading: tuple[str, ...] = ()

    def matching(self, glob: str) -> tuple[Entry, ...]:
        """Return the cases whose id matches, in the suite's order."""
        return tuple(entry for entry in self.entries if fnmatchcase(entry.id, glob))


def find_suite(name: str, revision: Revision) -> CaseSuite:
    """Find or generate the suite of this name for a revision.  Raises KeyError."""
    if name == CATALOGUE:
        return CaseSuite(name, entries_of(revision.protocol.name))
    from fencepost.conformance.cases.cover_suite import generate_suite  # noqa: PLC0415  (networkx)

    suite = generate_suite(name, revision)
    figures = {
        "name": name,
        "bound": BOUND,
        "traces": len(suite.entries),
        "steps": suite.steps,
        "lower_bound": suite.bound,
    }
    goal = _pairs(suite) if name == "pairs" else _transitions(suite)
    names = ", ".join(named.name for named, _ in suite.scopes)
    ratio = suite.steps / suite.bound
    size = (
        f"suite {name} at the bound {BOUND} ({names}): {len(suite.entries)} traces, "
        f"{suite.steps} steps; lower bound {suite.bound}, ratio {ratio:.2f}"
    )
    return CaseSuite(name, suite.entries, figures, (size, goal))


def _transitions(suite: CoverSuite) -> str:
    graphs = [scope_suite.graph for _, scope_suite in suite.scopes]
    forced = sum(len(graph.forced) for graph in graphs)
    acts = sum(len(graph.strides) for graph in graphs) - forced
    unforced = sum(graph.unforced for graph in graphs)
    beyond = sum(graph.beyond for graph in graphs)
    return (
        f"{forced} transitions covered; {unforced} depend on a choice of the coordinator and can't "
        f"be forced: {acts} acts that may lead to them are done, {beyond} worlds after them are "
        "left out"
    )


def _pairs(suite: CoverSuite) -> str:
    from fencepost.conformance.cases.cover.cover import pairs_of  # noqa: PLC0415  (networkx)

    walks = (walk for _, scope_suite in suite.scopes for walk in scope_suite.walks)
    pairs = {pair for walk in walks for pair in pairs_of(walk)}
    rules = {rule for pair in pairs for rule in pair}
    return f"{len(pairs)} pairs of {len(rules)} rules that can follow each other"
