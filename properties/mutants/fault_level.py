"""How grave a fault is: one fault has one level, at whichever rule it is met.

A violation has the level of the rule that was broken.  Where one or two known departures explain
the whole history, they are the fault, and it is no graver than they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from fencepost.model.coordinator import Config
from fencepost.model.history import Event
from fencepost.model.revision import Revision
from fencepost.model.table.table import LEVELS
from fencepost.properties.mutants.departures import DEPARTURES, departed
from fencepost.properties.oracle.oracle import judge
from fencepost.properties.oracle.verdict import Verdict

_LIMIT = 2_000
"""The most states for one event; a history that needs more keeps its rule's level."""


def graded(
    verdict: Verdict, revision: Revision, config: Config, history: Sequence[Event], lag_ms: int
) -> Verdict:
    """Return the verdict on this history with its violation as grave as its fault.

    `lag_ms`: what the history was judged with.  Only departures that are less grave are tried.
    """
    violation = verdict.violation
    if violation is None:
        return verdict
    gravity = LEVELS.index(violation.level)
    lesser = [d for d in DEPARTURES.values() if LEVELS.index(d.level) > gravity]
    for size in (1, 2):
        for together in combinations(lesser, size):
            base = departed(revision, together)
            found = judge(base, config, list(history), lag_ms=lag_ms, limit=_LIMIT).verdict()
            if found.violation is None and found.unknown is None:
                level = min((d.level for d in together), key=LEVELS.index)
                return replace(verdict, violation=replace(violation, level=level))
    return verdict
