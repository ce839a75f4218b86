"""Match members that left with members that came, to find restarts and how long they took.

A static member is known by its instance id.  A dynamic member has a new member id each time: it is
the same process if client id and host are the same, or the client id alone if no other member has
it.

Find deployments: restarts of a group's members that follow each other closely.

A restart is a member that leaves and one that comes after it, or a static member that replaces
itself.  A deployment has at least two members, so one process that restarts again and again is
none, and neither are two processes that fight for an instance id.  What a member costs that goes
and doesn't come back is no deployment's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from fencepost.traces.operations.operator_rows import Deployment, Process, Row
from fencepost.traces.operations.ownership import PATIENCE_MS, LogMember

_MOST_DEPARTURES = 1000
LADDER_MS = tuple(
    1000 * seconds for seconds in (6, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600, 1200, 1800)
)
"""Session timeouts that people use; the last one is the longest that Kafka allows by default."""
_SPARE = 1.5
_LATE_MS = 100
"""How late a broker may be to handle a request that removes a member."""


@dataclass(frozen=True, slots=True)
class Departed:
    """A member that is gone; `heard_ms`: when it was last heard, `at_ms`: when it went.

    `alone`: whether no other member had its client id.
    """

    member: LogMember
    at_ms: int
    alone: bool

    @property
    def who(self) -> str:
        """Its instance id, or the client id of a dynamic member."""
        return self.member.instance_id or self.member.process.client_id

    @property
    def has_expired(self) -> bool:
        """Whether it went when its session was over."""
        return self.at_ms == self.member.deadline_ms


@dataclass(frozen=True, slots=True)
class Arrival:
    """A process that joined, or (`member_id`) that still sent requests as a removed member."""

    process: Process
    instance_id: str | None
    at_ms: int
    member_id: str | None = None


@dataclass(slots=True)
class LogStart:
    """When the log begins in the middle of a group's life; None if the group was formed in it."""

    at_ms: int | None = None

    def is_near(self, at_ms: int, within_ms: int) -> bool:
        """Return whether what belongs to this moment may have come before the log began."""
        return self.at_ms is not None and at_ms - self.at_ms < within_ms


@dataclass(slots=True)
class RestartMatcher:
    """Matches the departures and arrivals of the last minutes; `start`: of the log."""

    start: LogStart
    gone: deque[Departed] = field(default_factory=lambda: deque(maxlen=_MOST_DEPARTURES))
    came: deque[Arrival] = field(default_factory=lambda: deque(maxlen=_MOST_DEPARTURES))

    def purge(self, now_ms: int) -> None:
        """Forget what is too old to matter."""
        while self.gone and now_ms - self.gone[0].at_ms > 3 * PATIENCE_MS:
            self.gone.popleft()
        while self.came and now_ms - self.came[0].at_ms > 3 * PATIENCE_MS:
            self.came.popleft()

    def went_after(self, member_id: str, arrived_ms: int) -> bool:
        """Return whether a member went after, or just before, a request of its own arrived."""
        recent = (gone for gone in self.gone if gone.at_ms + _LATE_MS >= arrived_ms)
        return any(gone.member.member_id == member_id for gone in recent)

    def lived_on(self, new: LogMember) -> LogMember | None:
        """Find who a new member was until its session expired: one of the same connection."""
        mine = (g for g in reversed(self.gone) if g.member.connection == new.connection != "")
        last = next(mine, None)
        if last is None or not last.has_expired or last.member.process != new.process:
            return None
        return last.member if last.member.instance_id == new.instance_id else None

    def back(self, gone: Departed) -> Arrival | None:
        """Find how a member came back after it had gone, if it did.

        That its process lived all the time is told before anything else.
        """
        since, until = gone.member.heard_ms, gone.at_ms + PATIENCE_MS
        fits = (came for came in self.came if since < came.at_ms <= until and _same(gone, came))
        return min(fits, key=lambda came: (came.member_id is None, came.at_ms), default=None)

    def before(self, came: Arrival) -> Departed | None:
        """Find the member that went before this one came, if it is the same."""
        since = came.at_ms - PATIENCE_MS
        return next(
            (
                gone
                for gone in reversed(self.gone)
                if since <= gone.at_ms and gone.member.heard_ms < came.at_ms and _same(gone, came)
            ),
            None,
        )

    def is_unclear(self, gone: Departed | None, came: Arrival | None) -> bool:
        """Return whether one may be back, or have been there before, where only its name is known.

        Processes may share a client id, and a log may tell no hosts.
        """
        if gone is not None:
            until_ms = gone.at_ms + PATIENCE_MS
            near = (c for c in self.came if gone.at_ms <= c.at_ms <= until_ms)
            return any(_may_be(gone, c) for c in near)
        if came is None:
            return False
        since_ms = came.at_ms - PATIENCE_MS
        return any(_may_be(g, came) for g in self.gone if since_ms <= g.at_ms <= came.at_ms)


def _may_be(gone: Departed, came: Arrival) -> bool:
    is_dynamic = gone.member.instance_id is None and came.instance_id is None
    return is_dynamic and gone.member.process.client_id == came.process.client_id


def _same(gone: Departed, came: Arrival) -> bool:
    old = gone.member
    if came.member_id is not None:
        return came.member_id == old.member_id
    if old.instance_id is not None or came.instance_id is not None:
        return old.instance_id == came.instance_id
    if gone.alone and old.process.client_id == came.process.client_id:
        return True
    return old.process == came.process and bool(came.process.host)


def alone(member: LogMember, members: Iterable[LogMember]) -> bool:
    """Return whether no other member has its client id."""
    same = sum(1 for other in members if other.process.client_id == member.process.client_id)
    return same <= 1


def long_enough_ms(away_ms: int) -> int | None:
    """Return a session timeout that is safely longer than an absence; None if there is none."""
    return next((ms for ms in LADDER_MS if ms >= _SPARE * away_ms), None)


GAP_MS = 60_000
"""Restarts that are further apart are not one deployment's."""
_MOST_REBALANCES = 10_000

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
        self._rebalances: deque[tuple[int, Going | None]] = deque(maxlen=_MOST_REBALANCES)

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
        if len(kept) < _MOST_REBALANCES:
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
