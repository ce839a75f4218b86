"""Takes from real bounces how long a member needs until it reads what it is given.

That is what each partition waited in each eager rebalance, beyond what messages take: for members
that answer late, for what a library does between.  A simulation of the same bounce has the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean

from tools.deployments.simulated_and_real import CaseResult

CASE = "bounce-eager"
"""In which all partitions are given anew in each rebalance, and nobody waits for a session."""
_FIGURE = "unavailable_partition_s"


def resumes_s(results: Iterable[CaseResult]) -> list[float]:
    """Of each run of the bounce the seconds for one partition and one rebalance, in order."""
    return sorted(
        (real.unavailable_partition_s - mean(result.simulated[_FIGURE]))
        / (real.rebalances * result.partitions)
        for result in results
        if result.case == CASE and _FIGURE in result.simulated
        for real in result.real
    )
