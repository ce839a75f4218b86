"""Find deployments: restarts of a group's members that follow each other closely.

A restart is a member that leaves and one that comes after it, or a static member that replaces
itself.  A deployment has at least two members, so one process that restarts again and again is
none, and neither are two processes that fight for an instance id.  What a member costs that goes
and doesn't come back is no deployment's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from fencepost.traces.operations.operator_rows import Deployment, Row
from fencepost.traces.operations.restarts import LogStart

GAP_MS = 60_000
"""Restarts that are further apart are not one deployment's."""
_REMEMBERED = 10_000

Going = tuple[int, str]
"""When, and who: an instance id, or the client id of a dynamic member."""


@dataclass(slots=True)
class _Cluster:
    """What went and came closely together; `begins`: its beginning is in the log."""

    until_ms: int
    begins: bool
    went: list[Going] = field(default_factory=list)
    came: list[Going] = field(default_factory=list)

    def restarts(self) -> tuple[list[tuple[Going, Going]], set[Going]]:
        """Match who came with who went: by name, else with the last one before it.

        Returns the pairs, and those that didn't come back.
        """
        pairs: list[tuple[Going, Going]] = []
        left = sorted(self.went)
        strangers = []
        for came in sorted(self.came):
            same = next((w for w in left if w[1] == came[1] and w[0] <= came[0]), None)
            if same is None:
                strangers.append(came)
            else:
                left.remove(same)
                pairs.append((same, came))
        for came in strangers:
            before = next((w for w in reversed(left) if w[0] <= came[0]), None)
            if before is not None:
                left.remove(before)
                pairs.append((before, came))
        return pairs, set(left)


class Deployments:
    """The deployments of one group.  Rows go to `emit` when all that they cost is known.

    `start`: of the log.
    """

    def __init__(self, group: str, emit: Callable[[Row], None], start: LogStart) -> None:
        self._group = group
        self._emit = emit
        self._start = start
        self._cluster: _Cluster | None = None
        self._over: deque[_Cluster] = deque()
        self._rebalances: deque[tuple[int, Going | None]] = deque(maxlen=_REMEMBERED)

    def went(self, who: str, at_ms: int) -> None:
        """Note that a member left, or was removed."""
        cluster = self._near(at_ms)
        if cluster is None:
            begins = not self._start.is_near(at_ms, GAP_MS)
            cluster = self._cluster = _Cluster(at_ms, begins)
        self._add(cluster, cluster.went, (at_ms, who))

    def came(self, who: str, at_ms: int) -> None:
        """Note that a new member joined."""
        cluster = self._near(at_ms)
        if cluster is not None and len(cluster.came) < len(cluster.went):
            self._add(cluster, cluster.came, (at_ms, who))

    def restarted(self, who: str, at_ms: int) -> None:
        """Note that a static member was restarted."""
        self.went(who, at_ms)
        self.came(who, at_ms)

    def not_restarted(self, who: str, at_ms: int) -> None:
        """Take a restart back: the process before it is still alive."""
        going = (at_ms, who)
        for cluster in (*self._over, *([self._cluster] if self._cluster is not None else [])):
            if going in cluster.went and going in cluster.came:
                cluster.went.remove(going)
                cluster.came.remove(going)

    def rebalanced(self, completed_ms: int, gone: Going | None) -> None:
        """Note a rebalance, and whose going caused it if somebody's did."""
        self._rebalances.append((completed_ms, gone))

    def purge(self, now_ms: int, unjudged_ms: int | None) -> None:
        """Emit the deployments that are over.

        `unjudged_ms`: when the first rebalance completed whose cause is not known yet.
        """
        self._near(now_ms)
        known_ms = now_ms if unjudged_ms is None else min(now_ms, unjudged_ms)
        while self._over and known_ms - self._over[0].until_ms > GAP_MS:
            self._tell(self._over.popleft(), now_ms)

    def close(self, now_ms: int) -> None:
        """Emit all that is left, at the end of the group or of the log."""
        self._end()
        while self._over:
            self._tell(self._over.popleft(), now_ms)

    def _tell(self, cluster: _Cluster, now_ms: int) -> None:
        pairs, lost = cluster.restarts()
        ends = all(now_ms - at_ms > GAP_MS for at_ms, _ in lost)
        members = {went[1] for went, _ in pairs}
        if len(members) < 2:
            return
        from_ms = min(went[0] for went, _ in pairs)
        until_ms = max(came[0] for _, came in pairs)
        rebalances = sum(
            1
            for at_ms, gone in self._rebalances
            if from_ms <= at_ms <= until_ms + GAP_MS and gone not in lost
        )
        row = (from_ms, until_ms, len(pairs), len(members), rebalances, cluster.begins, ends)
        self._emit(Deployment(self._group, *row))

    @staticmethod
    def _add(cluster: _Cluster, kept: list[Going], going: Going) -> None:
        cluster.until_ms = max(cluster.until_ms, going[0])
        if len(kept) < _REMEMBERED:
            kept.append(going)

    def _near(self, at_ms: int) -> _Cluster | None:
        """Return the cluster that something of this time belongs to."""
        if self._cluster is not None and at_ms - self._cluster.until_ms > GAP_MS:
            self._end()
        return self._cluster

    def _end(self) -> None:
        cluster, self._cluster = self._cluster, None
        if cluster is not None and cluster.came:
            self._over.append(cluster)
