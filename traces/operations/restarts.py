"""Find restarts and their durations, and deployments, by matching departures and arrivals.

A static member is known by its instance id.  A dynamic member has a new member id each time: it is
the same process if client id and host are the same, or the client id alone if no other member has
it.

A restart is a departure and the arrival after it, or a static member that replaces itself.  A
deployment is a series of restarts that follow each other closely.  It has at least two members, so
one process that restarts again and again is none, and neither are two processes that fight for an
instance id.  The cost of a member that doesn't come back is no deployment's.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from fencepost.traces.operations.client_libraries import library_of
from fencepost.traces.operations.operator_rows import Deployment, End, Process, Row
from fencepost.traces.operations.ownership import PATIENCE_MS, LogMember

_MOST_DEPARTURES = 1000
LADDER_MS = tuple(
    1000 * seconds for seconds in (6, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600, 1200, 1800)
)
"""Session timeouts that people use; the last one is the longest that Kafka allows by default."""
_SPARE = 1.5
_LATE_MS = 100
"""Delay with which a broker may handle a request that removes a member."""


@dataclass(frozen=True, slots=True)
class Departure:
    """The departure of a member at `at_ms`.

    `heard_ms`: its last sign of life, or the latest time of it if not `is_exact`; `alone`: no other
    member had its client id; `is_poll_timeout`: its living process did not call poll();
    `assigned_ms`: time of the latest assignment before; `loaded_ms`: of the load by a
    coordinator, after which it did not go on; `shares`: another member with its client id is known.
    """

    member: LogMember
    at_ms: int
    end: End
    heard_ms: int
    is_exact: bool
    alone: bool
    place: str = ""
    is_poll_timeout: bool = False
    assigned_ms: int | None = None
    loaded_ms: int | None = None
    shares: bool = False

    @property
    def is_stale(self) -> bool:
        """True if a coordinator had loaded it, and it did not go on since."""
        return self.loaded_ms is not None

    @property
    def who(self) -> str:
        """Its instance id, or the client id of a dynamic member."""
        return self.member.instance_id or self.member.process.client_id


@dataclass(frozen=True, slots=True)
class Arrival:
    """A process that joined as `new_id`, or that still sent requests as a removed `member_id`."""

    process: Process
    instance_id: str | None
    at_ms: int
    member_id: str | None = None
    new_id: str = ""

    @property
    def who(self) -> str:
        """Its instance id, or the client id of a dynamic member."""
        return self.instance_id or self.process.client_id


@dataclass(slots=True)
class LogStart:
    """Time at which the log begins in the middle of a group's life; None: it has the whole life.

    `gaps`: times at which the group went to a coordinator that is not in the log; the last one is
    `is_open` as long as it may have come back unchanged.
    """

    at_ms: int | None = None
    gaps: deque[int] = field(default_factory=lambda: deque(maxlen=_MOST_DEPARTURES))
    is_open: bool = False

    def begin_gap(self, at_ms: int) -> None:
        """Note that the group's coordinator gave it up."""
        self.gaps.append(at_ms)
        self.is_open = True

    def end_gap(self) -> None:
        """Note that the group is as it was: nothing happened elsewhere."""
        if self.is_open:
            self.gaps.pop()
        self.is_open = False

    def lacks(self, from_ms: int, until_ms: int) -> bool:
        """Return True if the log may lack an event between two times, of a group at a broker."""
        return any(from_ms <= gap_ms < until_ms for gap_ms in self.gaps)

    def is_near(self, at_ms: int, within_ms: int) -> bool:
        """Return True if the log began less than `within_ms` before this time."""
        return self.at_ms is not None and at_ms - self.at_ms < within_ms


@dataclass(slots=True)
class RestartMatcher:
    """Matches the departures and arrivals of the last minutes; `start`: of the log."""

    start: LogStart
    departures: deque[Departure] = field(default_factory=lambda: deque(maxlen=_MOST_DEPARTURES))
    arrivals: deque[Arrival] = field(default_factory=lambda: deque(maxlen=_MOST_DEPARTURES))
    _pairs: dict[str, _Pairing] = field(default_factory=dict)
    """By client id."""
    _lived: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_DEPARTURES))
    _until_ms: int = 0
    _count: int = 0

    def add_departure(self, gone: Departure) -> None:
        """Add a departure."""
        self.departures.append(gone)
        self._note(gone.at_ms)

    def add_arrival(self, came: Arrival) -> None:
        """Add an arrival."""
        self.arrivals.append(came)
        self._note(came.at_ms)

    def _note(self, at_ms: int) -> None:
        self._until_ms, self._count = max(self._until_ms, at_ms), self._count + 1

    def note_lived(self, new_id: str) -> None:
        """Note that a process that came as `new_id` had lived with an id of before."""
        self._lived.append(new_id)

    def has_lived(self, came: Arrival | None) -> bool:
        """Return True if a process that came lived before with another id, as it says itself."""
        return came is not None and came.new_id in self._lived

    def is_guess(self, gone: Departure, came: Arrival | None) -> bool:
        """Return True if time alone tells that a process came back: several have its client id."""
        if came is None or came.member_id is not None or gone.alone:
            return False
        old = gone.member
        if old.instance_id is not None or (old.process.host and old.process == came.process):
            return False
        return gone.shares or library_of(old.process.client_id) is not None

    def return_since_change(self, gone: Departure) -> Arrival | None:
        """Find the new member id of a process whose coordinator had changed.

        That is certain by its client id where as many came with it as went.
        """
        since_ms = gone.at_ms if gone.loaded_ms is None else gone.loaded_ms
        until_ms, who = gone.at_ms + PATIENCE_MS, gone.who
        instance_id = gone.member.instance_id
        comers = [
            came
            for came in self.arrivals
            if since_ms <= came.at_ms <= until_ms
            and came.who == who
            and (came.member_id, came.instance_id) == (None, instance_id)
        ]
        goers = [
            each
            for each in self.departures
            if since_ms <= each.at_ms <= until_ms
            and each.who == who
            and each.member.instance_id == instance_id
        ]
        is_certain = len(goers) == len(comers)
        return comers[goers.index(gone)] if is_certain and gone in goers else None

    def purge(self, now_ms: int) -> None:
        """Forget departures and arrivals that are too old to match."""
        for queue in (self.departures, self.arrivals):
            while queue and now_ms - queue[0].at_ms > 3 * PATIENCE_MS:
                queue.popleft()
        if len(self._pairs) > _MOST_DEPARTURES:
            self._pairs.clear()

    def unknown_before(self, instance_id: str) -> Iterator[Departure]:
        """Yield members of which only the ends are in the log, named like an instance id.

        The kind of such a member is not in the lines about its end.
        """
        for gone in self.departures:
            member = gone.member
            is_unknown = gone.end is End.EXPIRED and not member.begins
            if is_unknown and member.instance_id is None and gone.who == instance_id:
                yield gone

    def left_after(self, member_id: str, arrived_ms: int) -> bool:
        """Return True if a member went after, or just before, a request of its own arrived."""
        recent = (gone for gone in self.departures if gone.at_ms + _LATE_MS >= arrived_ms)
        return any(gone.member.member_id == member_id for gone in recent)

    def departure_of(self, member_id: str) -> Departure | None:
        """Return the departure of a member id, if it is recent."""
        mine = (gone for gone in self.departures if gone.member.member_id == member_id)
        return next(mine, None)

    def former_member(self, new: LogMember) -> LogMember | None:
        """Find the expired member on the connection of a new one, if its process is the same."""
        mine = (g for g in reversed(self.departures) if g.member.connection == new.connection != "")
        last = next(mine, None)
        if last is None or last.end is not End.EXPIRED or last.member.process != new.process:
            return None
        return last.member if last.member.instance_id == new.instance_id else None

    def return_of(self, gone: Departure) -> Arrival | None:
        """Find the return of a member: a request of its living process first, else a join."""
        since, until = gone.heard_ms, gone.at_ms + PATIENCE_MS
        fits = (c for c in self.arrivals if since < c.at_ms <= until and self._matches(gone, c))
        return min(fits, key=lambda came: (came.member_id is None, came.at_ms), default=None)

    def later_return_of(self, gone: Departure) -> Arrival | None:
        """Find the return of a member that was away for longer than related events are."""
        since_ms = gone.at_ms + PATIENCE_MS
        later = (c for c in self.arrivals if c.at_ms > since_ms)
        return next((came for came in later if self._matches(gone, came)), None)

    def unnamed_returns(
        self, process: Process, now_ms: int, unnamed: Iterable[int]
    ) -> tuple[int, ...]:
        """Return the times when a process that goes may have come back without its name.

        It left before, as the only one with its client id, and the group began in the log.  The
        last time counts: then it was away for that long at most.  `unnamed`: times of such joins.
        """
        mine = (g for g in reversed(self.departures) if g.who == process.client_id)
        gone = next(mine, None)
        if gone is None or not gone.alone or self.return_of(gone) is not None:
            return ()
        times = tuple(ms for ms in unnamed if gone.at_ms < ms <= now_ms)
        return times if times and times[-1] - gone.at_ms <= PATIENCE_MS else ()

    def may_be_later(self, gone: Departure) -> Arrival | None:
        """Return the first member that came long after and may be the same, by its client id."""
        since_ms = gone.at_ms + PATIENCE_MS
        later = (c for c in self.arrivals if c.at_ms > since_ms and _may_match(gone, c))
        return next(later, None)

    def is_only_one_out(self, gone: Departure, came: Arrival) -> bool:
        """Return True if no other process of its client id went until one came, as is known."""
        others = (g for g in self.departures if g is not gone and g.who == gone.who)
        if any(gone.at_ms <= g.at_ms <= came.at_ms for g in others):
            return False
        return not gone.shares and not self.start.lacks(gone.at_ms, came.at_ms)

    def next_of(self, gone: Departure) -> Arrival | None:
        """Find the next arrival with the client id of a process that surely lives.

        None where another process of that client id was out, too.
        """
        name, until_ms = gone.member.process.client_id, gone.at_ms + 3 * PATIENCE_MS
        later = (c for c in self.arrivals if gone.at_ms <= c.at_ms <= until_ms)
        came = next((c for c in later if c.process.client_id == name), None)
        if came is None:
            return None
        goers = (g for g in self.departures if g.member.process.client_id == name)
        is_certain = all(g is gone or not gone.at_ms <= g.at_ms <= came.at_ms for g in goers)
        return came if is_certain else None

    def departure_before(self, came: Arrival) -> Departure | None:
        """Find the last departure of the process before its arrival."""
        since = came.at_ms - PATIENCE_MS
        return next(
            (
                gone
                for gone in reversed(self.departures)
                if since <= gone.at_ms and gone.heard_ms < came.at_ms and self._matches(gone, came)
            ),
            None,
        )

    def is_unclear(self, gone: Departure | None, came: Arrival | None) -> bool:
        """Return True if a member may have come back, or been there before, by its client id.

        Processes may share a client id, and a log may have no hosts.
        """
        if gone is not None:
            until_ms = gone.at_ms + PATIENCE_MS
            if gone.is_stale or self.start.lacks(gone.at_ms, until_ms):
                return True
            near = (c for c in self.arrivals if gone.heard_ms <= c.at_ms <= until_ms)
            return any(_may_match(gone, c) for c in near)
        if came is None:
            return False
        since_ms = came.at_ms - PATIENCE_MS
        near_departures = (
            g for g in self.departures if since_ms <= g.at_ms and g.heard_ms <= came.at_ms
        )
        return any(_may_match(g, came) for g in near_departures)

    def is_after_stale(self, came: Arrival) -> bool:
        """Return True if a member just before, which did not go on after a load, may be the same.

        A process that shares its client id with others is any of them.
        """
        since_ms = came.at_ms - PATIENCE_MS
        near = (g for g in self.departures if g.is_stale and since_ms <= g.at_ms <= came.at_ms)
        return any(gone.who == came.who for gone in near)

    def _matches(self, gone: Departure, came: Arrival) -> bool:
        old = gone.member
        if came.member_id is not None:
            return came.member_id == old.member_id
        if self.start.lacks(gone.at_ms, came.at_ms) or (gone.is_stale and not gone.alone):
            return False
        if old.instance_id is not None or came.instance_id is not None:
            return old.instance_id == came.instance_id
        if old.process.client_id != came.process.client_id:
            return False
        if gone.alone or (old.process.host and old.process == came.process):
            return True
        return _has_no_host(gone, came) and self._by_time(gone) is came

    def _by_time(self, gone: Departure) -> Arrival | None:
        """Return the arrival that follows a departure of the same client id, if that is certain."""
        name = gone.member.process.client_id
        known = self._pairs.get(name)
        is_late = known is not None and known.until_ms - gone.at_ms > PATIENCE_MS
        if known is None or (known.count != self._count and not is_late):
            departures = [g for g in self.departures if g.member.process.client_id == name]
            arrivals = [c for c in self.arrivals if c.process.client_id == name]
            pairs = _paired(departures, arrivals)
            known = self._pairs[name] = _Pairing(pairs, self._until_ms, self._count)
        return known.pairs.get(gone.member.member_id)


_Pairs = dict[str, Arrival]
"""The member id of a departure → the arrival that followed."""


@dataclass(frozen=True, slots=True)
class _Pairing:
    """The pairs of a client id, when `count` events were known, the last at `until_ms`.

    Later events change nothing of departures that were long before.
    """

    pairs: _Pairs
    until_ms: int
    count: int


def _paired(departures: Iterable[Departure], arrivals: Iterable[Arrival]) -> _Pairs:
    """Pair departures and arrivals of processes that share a client id, where time is certain.

    A pair is certain where one is out at a time, and the last one of a series came back; in a
    series that begins with an arrival each process comes before the one that it replaces goes.
    Where who goes is who came last, one process goes and comes.
    """
    series: list[tuple[Departure, Arrival]] = []
    pairs: _Pairs = {}
    out: list[Departure] = []
    last_ms, several = 0, False  # several were out at once, and not all are back

    def close(*, is_back: bool) -> None:
        new_ids = {came.new_id for _, came in series}
        goers = [*(gone for gone, _ in series), *out]
        if is_back or any(gone.member.member_id in new_ids for gone in goers):
            pairs.update((gone.member.member_id, came) for gone, came in series)
        series.clear()

    events: list[tuple[int, int, Departure | Arrival]] = [
        *((gone.heard_ms, 0, gone) for gone in departures if gone.member.instance_id is None),
        *((came.at_ms, 1, came) for came in arrivals if came.instance_id is came.member_id is None),
    ]
    for at_ms, _, event in sorted(events, key=lambda each: each[:2]):
        if at_ms - last_ms > PATIENCE_MS:
            close(is_back=not out)
            out, several = [], False
        last_ms = at_ms
        if isinstance(event, Departure):
            if out:
                close(is_back=False)
                several = True
            out.append(event)
        elif len(out) == 1 and not several:
            series.append((out.pop(), event))
        else:
            close(is_back=not out)
            out = out[1:]
            several = several and bool(out)
    close(is_back=not out)
    return pairs


def _has_no_host(gone: Departure, came: Arrival) -> bool:
    return not (gone.member.process.host and came.process.host)


def _may_match(gone: Departure, came: Arrival) -> bool:
    is_dynamic = gone.member.instance_id is None and came.instance_id is came.member_id is None
    same = gone.member.process.client_id == came.process.client_id
    return is_dynamic and same and _has_no_host(gone, came)


def alone(member: LogMember, members: Iterable[LogMember], heard_ms: int) -> bool:
    """Return True if no other member had its client id at its last sign of life.

    A successor may be there before the session of the one that is dead ends.
    """
    return not any(
        other is not member
        and other.process.client_id == member.process.client_id
        and other.from_ms <= heard_ms
        for other in members
    )


def long_enough_ms(away_ms: int) -> int | None:
    """Return the least usual session timeout safely longer than an absence; None: there is none."""
    return usual_session_ms(_SPARE * away_ms)


def usual_session_ms(least_ms: float) -> int | None:
    """Return the least usual session timeout that is long enough; None: there is none."""
    return next((ms for ms in LADDER_MS if ms >= least_ms), None)


def enough_poll_ms(longest_ms: int) -> int:
    """Return a max.poll.interval.ms safely longer than the longest time between two polls.

    Like a session timeout, half as much again and a usual value; it has no greatest one.
    """
    usual = long_enough_ms(longest_ms)
    return -(-int(_SPARE * longest_ms) // LADDER_MS[-1]) * LADDER_MS[-1] if usual is None else usual


GAP_MS = 60_000
"""Greatest distance of restarts of one deployment."""
_MOST_REBALANCES = 10_000

TimedName = tuple[int, str]
"""Time in ms, and name of a member: its instance id, or the client id of a dynamic member."""


@dataclass(slots=True)
class _Cluster:
    """Departures and arrivals close together; `begins`: its beginning is in the log.

    `came`: the member ids that arrived; `others`: those that went and had not come in it, by name;
    `size`: the most members that the group had, as far as the log shows it.
    """

    until_ms: int
    begins: bool
    departures: list[TimedName] = field(default_factory=list)
    arrivals: list[TimedName] = field(default_factory=list)
    came: set[str] = field(default_factory=set)
    others: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    size: int = 0

    def processes(self, names: Iterable[str]) -> int:
        """Count the processes of these restarts; several may have one name."""
        return sum(
            min(max(len(self.others[name]), 1), count) for name, count in Counter(names).items()
        )

    def restarts(self) -> tuple[list[tuple[TimedName, TimedName]], set[TimedName]]:
        """Match arrivals with earlier departures: of the same name, else the last one.

        Returns the pairs, and the departures without a return.
        """
        pairs: list[tuple[TimedName, TimedName]] = []
        gone = sorted(self.departures)
        strangers = []
        for came in sorted(self.arrivals):
            same = next((w for w in gone if w[1] == came[1] and w[0] <= came[0]), None)
            if same is None:
                strangers.append(came)
            else:
                gone.remove(same)
                pairs.append((same, came))
        for came in strangers:
            before = next((w for w in reversed(gone) if w[0] <= came[0]), None)
            if before is not None:
                gone.remove(before)
                pairs.append((before, came))
        return pairs, set(gone)


class Deployments:
    """The deployments of one group.  Rows go to `emit` when their cost is known.

    `start`: of the log.
    """

    def __init__(self, group: str, emit: Callable[[Row], None], start: LogStart) -> None:
        self._group = group
        self._emit = emit
        self._start = start
        self._size = 0
        self._cluster: _Cluster | None = None
        self._over: deque[_Cluster] = deque()
        self._rebalances: deque[tuple[int, TimedName | None]] = deque(maxlen=_MOST_REBALANCES)

    def add_departure(self, who: str, at_ms: int, member_id: str = "") -> None:
        """Note that a member left, or was removed; `member_id`: of a dynamic one."""
        cluster = self._near(at_ms)
        if cluster is None:
            begins = not self._start.is_near(at_ms, GAP_MS)
            cluster = self._cluster = _Cluster(at_ms, begins, size=self._size)
        if member_id and member_id not in cluster.came and len(cluster.others) < _MOST_REBALANCES:
            cluster.others[who].add(member_id)
        self._add(cluster, cluster.departures, (at_ms, who))

    def add_arrival(self, who: str, at_ms: int, member_id: str = "") -> None:
        """Note that a new member joined; `member_id`: of a dynamic one."""
        cluster = self._near(at_ms)
        if cluster is not None and len(cluster.arrivals) < len(cluster.departures):
            cluster.came.add(member_id)
            self._add(cluster, cluster.arrivals, (at_ms, who))

    def note_size(self, members: int) -> None:
        """Note the number of the group's members."""
        self._size = members
        if self._cluster is not None:
            self._cluster.size = max(self._cluster.size, members)

    def name_arrival(self, member_id: str) -> None:
        """Note the member id of an arrival that was noted without it."""
        if self._cluster is not None:
            self._cluster.came.add(member_id)

    def add_restart(self, who: str, at_ms: int) -> None:
        """Note that a static member was restarted."""
        self.add_departure(who, at_ms)
        self.add_arrival(who, at_ms)

    def remove_departure(self, who: str, at_ms: int) -> None:
        """Take a departure back: it was another one."""
        if self._cluster is not None and (at_ms, who) in self._cluster.departures:
            self._cluster.departures.remove((at_ms, who))

    def remove_restart(self, who: str, at_ms: int) -> None:
        """Take a restart back: the process before it is still alive."""
        going = (at_ms, who)
        for cluster in (*self._over, *([self._cluster] if self._cluster is not None else [])):
            if going in cluster.departures and going in cluster.arrivals:
                cluster.departures.remove(going)
                cluster.arrivals.remove(going)

    def add_rebalance(self, completed_ms: int, gone: TimedName | None) -> None:
        """Note a rebalance, and the departure that caused it, if any."""
        self._rebalances.append((completed_ms, gone))

    def purge(self, now_ms: int, first_open_ms: int | None) -> None:
        """Emit the deployments that are over.

        `first_open_ms`: completion of the first rebalance whose cause is not known yet.
        """
        self._near(now_ms)
        known_ms = now_ms if first_open_ms is None else min(now_ms, first_open_ms)
        while self._over and known_ms - self._over[0].until_ms > GAP_MS:
            self._emit_row(self._over.popleft(), now_ms)

    def close(self, now_ms: int) -> None:
        """Emit all remaining deployments, at the end of the group or of the log."""
        self._end()
        while self._over:
            self._emit_row(self._over.popleft(), now_ms)

    def _emit_row(self, cluster: _Cluster, now_ms: int) -> None:
        pairs, lost = cluster.restarts()
        ends = all(now_ms - at_ms > GAP_MS for at_ms, _ in lost)
        processes = cluster.processes(went[1] for went, _ in pairs)
        if processes < 2:
            return
        from_ms = min(went[0] for went, _ in pairs)
        until_ms = max(came[0] for _, came in pairs)
        rebalances = sum(
            1
            for at_ms, gone in self._rebalances
            if from_ms <= at_ms <= until_ms + GAP_MS and gone not in lost
        )
        is_whole = 0 < cluster.size <= processes  # each member was restarted: nothing is missing
        row = (from_ms, until_ms, len(pairs), processes, rebalances)
        self._emit(Deployment(self._group, *row, cluster.begins or is_whole, ends or is_whole))

    @staticmethod
    def _add(cluster: _Cluster, kept: list[TimedName], going: TimedName) -> None:
        cluster.until_ms = max(cluster.until_ms, going[0])
        if len(kept) < _MOST_REBALANCES:
            kept.append(going)

    def _near(self, at_ms: int) -> _Cluster | None:
        """Return the cluster to which an event of this time belongs."""
        if self._cluster is not None and at_ms - self._cluster.until_ms > GAP_MS:
            self._end()
        return self._cluster

    def _end(self) -> None:
        cluster, self._cluster = self._cluster, None
        if cluster is not None and cluster.arrivals:
            self._over.append(cluster)
