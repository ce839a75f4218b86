"""Follow members that went until it is known if they come back, and when.

A member that expired, and one that was not polled, is a row of its own once no later event can be
its return.  A member that went and came back is a restart.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from fencepost.traces.operations.group_events import Left
from fencepost.traces.operations.operator_rows import End, Expiration, PollTimeout, Restart, Row
from fencepost.traces.operations.ownership import PATIENCE_MS
from fencepost.traces.operations.restarts import Arrival, Departure, RestartMatcher

_RESTARTED = 1000
_MOST_WAITING = 10_000


class Returns:
    """The returns of one group's members; rows go to `emit`.

    `hears`: the source has every request of a member.
    """

    def __init__(
        self, group: str, emit: Callable[[Row], None], matcher: RestartMatcher, *, hears: bool
    ) -> None:
        self._group = group
        self._emit = emit
        self._matcher = matcher
        self._hears = hears
        self._restarted: deque[str] = deque(maxlen=_RESTARTED)
        """The member ids of which a restart was counted: going and coming may be two rebalances."""
        self._expired: deque[Departure] = deque()
        self._waiting: dict[str, list[Departure]] = {}
        """Members that were not back within the time of related events, by name."""
        self._poll_timeouts: deque[tuple[Departure, int | None]] = deque()
        """Departures, the latter with max.poll.interval.ms, whose return may still come."""

    def add_expiry(self, gone: Departure) -> None:
        """Add a member that nobody stopped or removed."""
        self._expired.append(gone)

    def add_poll_timeout(self, gone: Departure, interval_ms: int | None) -> None:
        """Add a member that was not polled; `interval_ms`: its max.poll.interval.ms if known."""
        self._poll_timeouts.append((gone, interval_ms))

    def note_arrival(self, came: Arrival) -> None:
        """Note a process that came: those that went long before may be back."""
        waiting = self._waiting.pop(came.who, [])
        if still := [gone for gone in waiting if not self._ends_wait(gone, came)]:
            self._waiting[came.who] = still

    def _ends_wait(self, gone: Departure, came: Arrival) -> bool:
        """Emit a member if this process is its return, or may be it; return False if it is not."""
        old = gone.member
        if came.member_id not in {None, old.member_id} or old.instance_id != came.instance_id:
            return False
        same_host = old.process.host and old.process == came.process
        if old.instance_id is not None or came.member_id or gone.alone or same_host:
            self._emit_expiry(gone, came, is_unclear=False)
            return True
        if old.process.host and came.process.host:
            return False
        self._emit_expiry(gone, None, is_unclear=True)
        return True

    def take_back(self, left: Left) -> Departure | None:
        """Forget that a dynamic member was dropped if the line of its leave was written late."""
        mine = (g for g in self._expired if g.member.member_id == left.member_id)
        gone = next((g for g in mine if g.end is End.DROPPED and left.at_ms <= g.at_ms), None)
        if gone is None or gone.member.instance_id is not None:
            return None
        self._expired.remove(gone)
        self._matcher.departures.remove(gone)
        return gone

    def add_restart(self, gone: Departure, came: Arrival) -> None:
        """Emit the restart of a member that went and came, unless its process may have lived."""
        if came.member_id is not None:
            return
        back = self._matcher.return_of(gone)
        if gone.is_poll_timeout or not gone.is_exact or (back and back.member_id is not None):
            return
        member = gone.member
        if gone.is_stale or member.member_id in self._restarted:
            return
        self._restarted.append(member.member_id)
        who = (member.instance_id, member.process, gone.end, gone.at_ms, came.at_ms)
        away_ms = came.at_ms - gone.heard_ms
        self._emit(Restart(self._group, *who, away_ms, member.session_ms, gone.place))

    def purge(self, now_ms: int | None) -> None:
        """Emit the departures whose return no later event can show; None: there is none."""
        while self._expired and _is_old(self._expired[0], now_ms):
            gone = self._expired.popleft()
            matcher, came = self._matcher, self._matcher.return_of(gone)
            is_unclear = came is None and matcher.is_unclear(gone, None)
            if came is None and not is_unclear:
                came = matcher.later_return_of(gone)
                is_unclear = came is None and matcher.may_be_later(gone)
            if came is None and not is_unclear and self._may_wait(now_ms):
                self._waiting.setdefault(gone.who, []).append(gone)
            else:
                self._emit_expiry(gone, came, is_unclear=is_unclear)
        if now_ms is None:
            for gone in (gone for each in self._waiting.values() for gone in each):
                self._emit_expiry(gone, None, is_unclear=False)
            self._waiting.clear()
        while self._poll_timeouts and _is_old(self._poll_timeouts[0][0], now_ms):
            gone, interval_ms = self._poll_timeouts.popleft()
            came = self._matcher.return_of(gone) or self._matcher.next_of(gone)
            late_ms = None if came is None else came.at_ms - gone.at_ms
            who = (gone.member.instance_id, gone.member.process, gone.at_ms, gone.place)
            self._emit(PollTimeout(self._group, *who, interval_ms, late_ms))

    def _may_wait(self, now_ms: int | None) -> bool:
        return now_ms is not None and len(self._waiting) < _MOST_WAITING

    def _emit_expiry(self, gone: Departure, came: Arrival | None, *, is_unclear: bool) -> None:
        member = gone.member
        lived = came is not None and came.member_id is not None if self._hears else None
        self._emit(
            Expiration(
                self._group,
                member.instance_id,
                member.member_id,
                member.process,
                gone.end,
                gone.at_ms,
                member.from_ms if member.begins else None,
                gone.assigned_ms,
                None if came is None else came.at_ms,
                is_unclear,
                lived,
                gone.place,
                gone.loaded_ms,
            )
        )


def _is_old(gone: Departure, now_ms: int | None) -> bool:
    return now_ms is None or now_ms - gone.at_ms > 2 * PATIENCE_MS
