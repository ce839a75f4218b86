"""Count what operators watch: rebalances and how long they took, fencings, members by kind."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from fencepost.traces.operations.operator_rows import (
    Cause,
    Deployment,
    End,
    FencingChain,
    LifeLine,
    MembersLeft,
    Rebalance,
    Remedy,
    Row,
    SelfFencing,
    ThrownOut,
)

BUCKETS_MS = (100, 500, 1_000, 5_000, 10_000, 30_000, 60_000, 300_000)
"""The upper bounds of durations that are counted apart; Kafka waits 300 s at most by default."""


@dataclass(slots=True)
class GroupFigures:
    """The figures of one group.

    `durations`: rebalances by the first of `BUCKETS_MS` that they kept within (None: none of them);
    `failed`: those that another one followed before anybody had its assignment; `fenced`: living
    processes that lost their instance id; `thrown_out`: living processes whose session expired;
    `replaced`: how often an instance id went on to another member id, `expired`: holders whose
    session expired, alive or not; `restarts` and `cost`: of `deployments`, and the rebalances that
    these cost; `static`, `dynamic`: members at the end of the log, None where it
    doesn't show all; `rebalancing_ms`: when the rebalance began that wasn't over then;
    `session_ms`, `assignors`: of these members, as far as the log shows them.
    """

    causes: Counter[Cause] = field(default_factory=Counter)
    remedies: Counter[Remedy] = field(default_factory=Counter)
    durations: Counter[int | None] = field(default_factory=Counter)
    total_ms: int = 0
    failed: int = 0
    fenced: int = 0
    thrown_out: int = 0
    replaced: int = 0
    expired: int = 0
    deployments: int = 0
    restarts: int = 0
    cost: int = 0
    static: int | None = None
    dynamic: int | None = None
    rebalancing_ms: int | None = None
    session_ms: int | None = None
    assignors: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the group had no member when the log ended."""
        return self.static == 0 and self.dynamic == 0

    def add(self, row: Row) -> None:
        """Count a row of this group."""
        match row:
            case Rebalance():
                self.causes[row.cause] += 1
                self.remedies[row.remedy] += 1
                if row.duration_ms is None:
                    self.failed += 1
                    return
                self.total_ms += row.duration_ms
                fits = (bound for bound in BUCKETS_MS if row.duration_ms <= bound)
                self.durations[next(fits, None)] += 1
            case FencingChain():
                self.fenced += row.fenced
            case SelfFencing():
                self.fenced += row.alive
            case ThrownOut():
                self.thrown_out += 1
            case LifeLine():
                self.replaced += row.end is End.REPLACED
                self.expired += row.end is End.EXPIRED
            case Deployment():
                self.deployments += 1
                self.restarts += row.restarts
                self.cost += row.rebalances
            case MembersLeft():
                self.static, self.dynamic = row.static, row.dynamic
                self.rebalancing_ms = row.rebalancing_ms
                self.session_ms, self.assignors = row.session_ms, row.assignors
            case _:
                pass
