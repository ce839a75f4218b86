"""Figures of a deployment that happened nowhere."""

from __future__ import annotations

from tools.deployments.real_deployment import RealFigures
from tools.deployments.simulated_and_real import CaseResult

FIGURES = RealFigures(
    rebalances=8,
    partitions_moved=40,
    partitions_stopped=12,
    unavailable_partition_s=9.0,
    longest_gap_s=1.0,
    twice_partition_s=0.0,
    balanced_after_s=12.0,
    lasted_s=12.0,
    restarts_s=(2.0, 2.1),
    downs_s=(),
    control_ms=20,
    beats_ms=(1000, 1001, 1002),
    halted=(),
    failures=(),
)


def case_result(*real: RealFigures) -> CaseResult:
    """A bounce of four members with twelve partitions."""
    return CaseResult(
        case="bounce-eager",
        broker="kafka:4.3.0",
        client="java:4.3.0",
        members=4,
        partitions=12,
        real=real,
        simulated={
            "rebalances": (8, 8),
            "partitions_moved": (40, 41),
            "partitions_stopped": (12, 12),
            "failed": (0, 0),
            "longest_gap_s": (0.5, 1.1),
        },
    )
