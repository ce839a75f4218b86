"""The suites of cases by name: the catalogue, and those that are generated.

This is what `--suite` names.  A generated suite has figures, which are reported before it runs and
in the certificate: its bound, how many traces and steps it has, and the least number of steps that
would do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from fencepost.conformance.catalogue import ENTRIES
from fencepost.conformance.catalogue.cover_suite import SUITES, CoverSuite, covered
from fencepost.conformance.catalogue.registry import Entry
from fencepost.model.revision import Revision
from fencepost.properties.cover.pairs import pairs_of

CATALOGUE = "catalogue"
NAMES = (CATALOGUE, *SUITES)
BOUND = "small"
"""See `fencepost.properties.cover.scopes.SMALL`."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A suite: its cases in order, and its figures.

    `figures`: as the certificate has them, {} for the catalogue; `heading`: the same as lines.
    """

    name: str
    entries: tuple[Entry, ...]
    figures: Mapping[str, Any] = field(default_factory=dict)
    heading: tuple[str, ...] = ()

    def matching(self, glob: str) -> tuple[Entry, ...]:
        """The cases whose id matches, in the suite's order."""
        return tuple(entry for entry in self.entries if fnmatchcase(entry.id, glob))


def find_suite(name: str, revision: Revision) -> Chosen:
    """Find or generate the suite of this name for a revision.  Raises KeyError."""
    if name == CATALOGUE:
        return Chosen(name, ENTRIES)
    suite = covered(name, revision)
    figures = {
        "name": name,
        "bound": BOUND,
        "traces": len(suite.entries),
        "steps": suite.steps,
        "lower_bound": suite.bound,
    }
    goal = _pairs(suite) if name == "pairs" else _transitions(suite)
    casts = ", ".join(cast.name for cast, _ in suite.casts)
    ratio = suite.steps / suite.bound
    size = (
        f"suite {name} at the bound {BOUND} ({casts}): {len(suite.entries)} traces, "
        f"{suite.steps} steps; lower bound {suite.bound}, ratio {ratio:.2f}"
    )
    return Chosen(name, suite.entries, figures, (size, goal))


def _transitions(suite: CoverSuite) -> str:
    grounds = [made.ground for _, made in suite.casts]
    forced = sum(len(ground.forced) for ground in grounds)
    acts = sum(len(ground.strides) for ground in grounds) - forced
    unforced = sum(ground.unforced for ground in grounds)
    beyond = sum(ground.beyond for ground in grounds)
    return (
        f"{forced} transitions covered; {unforced} depend on a choice of the coordinator and can't "
        f"be forced: {acts} acts that may lead to them are done, {beyond} worlds after them are "
        "left out"
    )


def _pairs(suite: CoverSuite) -> str:
    shown = {pair for _, made in suite.casts for walk in made.walks for pair in pairs_of(walk)}
    rules = {rule for pair in shown for rule in pair}
    return f"{len(shown)} pairs of {len(rules)} rules that can follow each other"
