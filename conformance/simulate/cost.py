"""What a simulated scenario came to: the figures, and what they were taken from.

Times are seconds from the first step.  `simulation-1.schema.json` describes the JSON form.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

SCHEMA_FILE = Path(__file__).with_name("simulation-1.schema.json")


class ApiTraffic(msgspec.Struct, frozen=True):
    """Requests of one API at the coordinator, and the bytes of them and of their answers."""

    requests: int
    bytes_in: int
    bytes_out: int


class RebalanceRow(msgspec.Struct, frozen=True):
    """A rebalance.  `took_s` None: it was cut off by another one, or a failover."""

    at_s: float
    cause: str
    who: str
    note: str
    also: tuple[str, ...]
    generation: int | None
    members: int | None
    took_s: float | None


class FailureRow(msgspec.Struct, frozen=True):
    """A process that was told a fatal error, by its code and API."""

    at_s: float
    member: str
    code: str
    where: str


class PartitionRow(msgspec.Struct, frozen=True):
    """A partition.  `held`: from when until when it was consumed, and by which member."""

    topic: str
    partition: int
    unavailable_s: float
    longest_gap_s: float
    twice_s: float
    moves: int
    held: tuple[tuple[float, float, str], ...]


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a scenario.

    `unavailable_partition_s`, `twice_partition_s`: summed over partitions.  `far_partition_s`: how
    long partitions were consumed from racks without a replica; None: `replicas` isn't said.
    `longest_gap_s`: of any partition.  `balanced_after_s`: when nothing more had to change; None:
    the group was not balanced at the end.  `lasted_s`: all that was looked at.  `halted`: rollouts
    that stopped.
    """

    scenario: str
    variant: str
    seed: int
    members: int
    partitions: int
    rebalances: int
    generations: int
    partitions_moved: int
    unavailable_partition_s: float
    longest_gap_s: float
    twice_partition_s: float
    far_partition_s: float | None
    balanced_after_s: float | None
    lasted_s: float
    requests: int
    bytes: int
    causes: dict[str, int]
    halted: tuple[str, ...]
    failures: tuple[FailureRow, ...]
    apis: dict[str, ApiTraffic]
    each_rebalance: tuple[RebalanceRow, ...]
    each_partition: tuple[PartitionRow, ...]

    def figures(self) -> dict[str, float | None]:
        """The numbers that runs are compared by."""
        return {name: getattr(self, name) for name in FIGURES}


FIGURES = (
    "rebalances",
    "generations",
    "partitions_moved",
    "unavailable_partition_s",
    "longest_gap_s",
    "twice_partition_s",
    "far_partition_s",
    "balanced_after_s",
    "requests",
    "bytes",
)
PERCENTILES = (5, 50, 95, 100)


def percentiles(costs: Sequence[Cost]) -> dict[str, dict[str, float | None]]:
    """Of each figure the value that so many percent of the runs don't exceed; `p100`: the most.

    `mean`: of all runs.  A run that was never balanced counts as longer than all others: None.
    """
    found: dict[str, dict[str, float | None]] = {}
    for name in FIGURES:
        values = [getattr(cost, name) for cost in costs]
        ordered = sorted(v for v in values if v is not None) + [None for v in values if v is None]
        found[name] = {
            f"p{p}": ordered[max(-(-len(ordered) * p // 100), 1) - 1] for p in PERCENTILES
        }
        known = [value for value in values if value is not None]
        is_known = len(known) == len(values)
        found[name]["mean"] = round(sum(known) / len(known), 3) if is_known else None
    return found


class Variant(msgspec.Struct, frozen=True):
    """The runs of a scenario in one form, the first in full."""

    costs: tuple[Cost, ...]

    @property
    def first(self) -> Cost:
        """The run of the first seed."""
        return self.costs[0]

    def to_json(self) -> dict[str, Any]:
        """The first run; and, where there are several, the percentiles of all."""
        document: dict[str, Any] = {"schema": "simulation-1", **_plain(self.first)}
        if len(self.costs) > 1:
            document["seeds"] = [cost.seed for cost in self.costs]
            document["percentiles"] = percentiles(self.costs)
        return document


def _plain(cost: Cost) -> dict[str, Any]:
    """The rows as JSON has them: lists, no tuples."""
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(cost))
    return found


def costs_json(variants: Sequence[Variant]) -> dict[str, Any]:
    """The document of one form, or of several that are compared."""
    if len(variants) == 1:
        return variants[0].to_json()
    return {"schema": "simulation-1", "compared": [variant.to_json() for variant in variants]}
