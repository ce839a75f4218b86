"""The suites as engines of the kill matrix: cases run against a mutant through the adapter.

The catalogue is run whole, since it counts how many cases notice the mutant.  Of the cover suite
the shortest walks are run first, and the first that fails ends the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from fencepost.conformance.cases import ENTRIES
from fencepost.conformance.cases.case_registry import Entry
from fencepost.conformance.cases.suites import find_suite
from fencepost.conformance.run.certify import Options, opened
from fencepost.conformance.targets.in_process import InProcessTarget
from fencepost.model.revision import Revision
from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.traces.files.tool_versions import own_version
from tools.kill_matrix.kill_matrix import MODEL_ENGINES, EngineResult

CATALOGUE = "catalogue"
COVER = "cover"
_WALKS = 900
"""How many walks of the cover suite are tried at most."""
_BATCH = 50
"""How many walks of the cover suite are run at once; each counts."""


def by_catalogue(revision: Revision) -> EngineResult:
    """Return the shortest case that fails; the cost is how many fail."""
    failing = asyncio.run(_failing(revision, [ENTRIES]))
    return _result(CATALOGUE, failing, len(failing))


def by_cover(revision: Revision) -> EngineResult:
    """Return the first walk that fails, short ones first; the cost is how many were walked."""
    walks = _walks()
    batches = [walks[first : first + _BATCH] for first in range(0, len(walks), _BATCH)]
    failing = asyncio.run(_failing(revision, batches))
    if not failing:
        return _result(COVER, [], len(walks))
    order = {entry.id: number for number, entry in enumerate(walks, start=1)}
    first = min(failing, key=lambda result: order[result.case.id])
    return _result(COVER, [first], order[first.case.id])


@cache
def _walks() -> tuple[Entry, ...]:
    """The cover suite, short walks first; the longest, most of its steps, are left out."""
    entries = find_suite(COVER, KAFKA_4).entries
    return tuple(sorted(entries, key=lambda e: len(e.case({}, delayed=False).steps))[:_WALKS])


async def _failing(revision: Revision, batches: Sequence[Sequence[Entry]]) -> list[CaseResult]:
    """Those of the first batch in which some fail."""
    target = InProcessTarget(revision.name, revision, own_version())
    async with opened(target, KAFKA_4, Options()) as suite:
        for batch in batches:
            results = await suite.run(batch)
            if failing := [r for r in results if r.outcome is Outcome.FAIL]:
                return failing
    return []


def _result(engine: str, failing: Sequence[CaseResult], cost: int) -> EngineResult:
    if not failing:
        return EngineResult(engine, killed=False, cost=cost)
    least = min(failing, key=lambda r: (len(r.case.steps), r.case.id))
    lines = (least.case.about, least.message)
    return EngineResult(engine, True, len(least.case.steps), cost, least.case.id, lines=lines)


ENGINES: Mapping[str, Callable[[Revision], EngineResult]] = {
    **{name: engine for name, engine in MODEL_ENGINES.items() if name != "proofs"},
    CATALOGUE: by_catalogue,
    COVER: by_cover,
    "proofs": MODEL_ENGINES["proofs"],
}
"""All engines, in the order in which they are shown."""
