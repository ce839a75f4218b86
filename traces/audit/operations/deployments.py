"""Find deployments: restarts of a group's members that follow each other closely.

A restart is a member that leaves and one that comes after it, or a static member that replaces
itself.  A deployment has at least two members, so one process that restarts again and again is
none, and neither are two processes that fight for an instance id.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from fencepost.traces.audit.operations.operator_rows import Deployment, Row

GAP_MS = 60_000
"""Restarts that are further apart are not one deployment's."""
_REMEMBERED = 10_000


@dataclass(slots=True)
class _Cluster:
    from_ms: int
    until_ms: int
    went: int = 0
    came: int = 0
    members: set[str] = field(default_factory=set)

    @property
    def restarts(self) -> int:
        return min(self.went, self.came)


class Deployments:
    """The deployments of one group.  Rows go to `emit` when they are over."""

    def __init__(self, group: str, emit: Callable[[Row], None]) -> None:
        self._group = group
        self._emit = emit
        self._cluster: _Cluster | None = None
        self._completed: deque[int] = deque(maxlen=_REMEMBERED)

    def went(self, who: str, at_ms: int) -> None:
        """Note that a member left, or was removed."""
        cluster = self._near(at_ms)
        if cluster is None:
            cluster = self._cluster = _Cluster(at_ms, at_ms)
        cluster.went += 1
        self._count(cluster, who, at_ms)

    def came(self, who: str, at_ms: int) -> None:
        """Note that a new member joined."""
        cluster = self._near(at_ms)
        if cluster is not None and cluster.came < cluster.went:
            cluster.came += 1
            self._count(cluster, who, at_ms)

    def restarted(self, who: str, at_ms: int) -> None:
        """Note that a static member was restarted."""
        self.went(who, at_ms)
        self.came(who, at_ms)

    def completed(self, at_ms: int) -> None:
        """Note that a rebalance completed."""
        self._completed.append(at_ms)

    def purge(self, now_ms: int) -> None:
        """Emit the deployments that are over."""
        if self._cluster is not None and now_ms - self._cluster.until_ms > GAP_MS:
            self.close()

    def close(self) -> None:
        """Emit all that is left, at the end."""
        cluster, self._cluster = self._cluster, None
        if cluster is None or cluster.restarts < 2 or len(cluster.members) < 2:
            return
        from_ms, until_ms = cluster.from_ms, cluster.until_ms
        rebalances = sum(1 for at in self._completed if from_ms <= at <= until_ms + GAP_MS)
        self._emit(
            Deployment(
                self._group, from_ms, until_ms, cluster.restarts, len(cluster.members), rebalances
            )
        )

    @staticmethod
    def _count(cluster: _Cluster, who: str, at_ms: int) -> None:
        cluster.until_ms = max(cluster.until_ms, at_ms)
        if len(cluster.members) < _REMEMBERED:
            cluster.members.add(who)

    def _near(self, at_ms: int) -> _Cluster | None:
        self.purge(at_ms)
        return self._cluster
