"""Measure the requests that the fuzzer sends and judges, of the model here or of a real target.

Of the model the clock is virtual, so our processor time is the limit.  A real target has its own
time: there the figures are requests per second, the processor time of both, and the number of
undecided plans.
"""

from __future__ import annotations

import asyncio
from typing import Any

from fencepost.conformance.search.fuzz.fuzz import FuzzOptions, fuzz
from fencepost.conformance.search.fuzz.tally import Budget, Tally
from fencepost.conformance.targets.target_registry import (
    TargetOptions,
    find_revision,
    find_target,
    revision_for,
)
from fencepost.properties.judging.outcome import Outcome


def fuzz_figures(
    target: str, requests: int, jobs: int, seconds: float | None = None
) -> dict[str, Any]:
    """Return figures of a search with seed 0 by `jobs` processes; `seconds`: a time limit instead.

    `cores`: processor seconds for each second, ours and of the target's processes (None without
    any); `unknown`: the part of the plans that is undecided.  Raises UnknownTargetError,
    TargetUnavailableError.
    """
    options = FuzzOptions(
        find_revision(revision_for(target)),
        Budget(requests) if seconds is None else Budget(seconds=seconds),
        jobs=jobs,
        target=target,
        examine_s=0.0,
    )

    async def search() -> Tally:
        return (await fuzz(lambda: find_target(target, TargetOptions()), options)).tally

    tally = asyncio.run(search())
    used = sum(tally.spent.values())
    return {
        "target": target,
        "requests": tally.requests,
        "requests_per_cpu_second": round(tally.requests / used),
        "requests_per_second": round(tally.requests / tally.seconds),
        "cpu_ms_per_request": {
            work: round(1000 * seconds / tally.requests, 3) for work, seconds in tally.spent.items()
        },
        "cores": {
            "ours": round(used / tally.seconds, 2),
            "the target's": tally.theirs and round(tally.theirs / tally.seconds, 2),
        },
        "plans": tally.plans,
        "unknown": round(tally.outcomes[Outcome.UNKNOWN] / tally.plans, 4),
    }
