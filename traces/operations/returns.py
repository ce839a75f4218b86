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

    `hears`: the source has every request of a member; `stayed_after`: returns how many members
    stayed in the first rebalance after a time.
    """

    def __init__(
        self,
        group: str,
        emit: Callable[[Row], None],
        matcher: RestartMatcher,
        stayed_after: Callable[[int], int | None],
        *,
        hears: bool,
    ) -> None:
        self._group = group
        self._emit = emit
        self._matcher = matcher
        self._stayed_after = stayed_after
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
            self._emit_expiry(gone, came)
            return True
        if old.process.host and came.process.host:
            return False
        self._emit_likely(gone, came)
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
        away_ms, is_guess = came.at_ms - gone.heard_ms, self._matcher.is_guess(gone, came)
        self._emit(Restart(self._group, *who, away_ms, member.session_ms, gone.place, is_guess))

    def purge(self, now_ms: int | None) -> None:
        """Emit the departures whose return no later event can show; None: there is none."""
        while self._expired and _is_old(self._expired[0], now_ms):
            self._decide(self._expired.popleft(), may_wait=self._may_wait(now_ms))
        if now_ms is None:
            for gone in (gone for each in self._waiting.values() for gone in each):
                self._emit_expiry(gone, None)
            self._waiting.clear()
        while self._poll_timeouts and _is_old(self._poll_timeouts[0][0], now_ms):
            gone, interval_ms = self._poll_timeouts.popleft()
            came = self._matcher.return_of(gone) or self._matcher.next_of(gone)
            late_ms = None if came is None else came.at_ms - gone.at_ms
            who = (gone.member.instance_id, gone.member.process, gone.at_ms, gone.place)
            self._emit(PollTimeout(self._group, *who, interval_ms, late_ms))

    def _decide(self, gone: Departure, *, may_wait: bool) -> None:
        """Emit a member that expired, or let it wait for its return."""
        matcher = self._matcher
        if (came := matcher.return_of(gone)) is not None:
            self._emit_expiry(gone, came)
        elif self._saw_change(gone) and (came := matcher.return_since_change(gone)) is not None:
            self._emit_expiry(gone, came, at_latest=not gone.is_stale)
        elif matcher.is_unclear(gone, None):
            self._emit_expiry(gone, None, is_unclear=True)
        elif (came := matcher.later_return_of(gone)) is not None:
            self._emit_expiry(gone, came)
        elif (came := matcher.may_be_later(gone)) is not None:
            self._emit_likely(gone, came)
        elif may_wait:
            self._waiting.setdefault(gone.who, []).append(gone)
        else:
            self._emit_expiry(gone, None)

    def _emit_likely(self, gone: Departure, came: Arrival) -> None:
        """Emit a member and the first of its client id that came long after."""
        if self._matcher.is_only_one_out(gone, came):
            self._emit_expiry(gone, came, is_guess=True)
        else:
            self._emit_expiry(gone, None, is_unclear=True)

    def _saw_change(self, gone: Departure) -> bool:
        """Return True if a member went about the time when its coordinator changed."""
        start = self._matcher.start
        return gone.is_stale or start.lacks(gone.at_ms, gone.at_ms + PATIENCE_MS)

    def _may_wait(self, now_ms: int | None) -> bool:
        return now_ms is not None and len(self._waiting) < _MOST_WAITING

    def _emit_expiry(
        self,
        gone: Departure,
        came: Arrival | None,
        *,
        is_unclear: bool = False,
        at_latest: bool = False,
        is_guess: bool = False,
    ) -> None:
        member = gone.member
        lived: bool | None = self._matcher.has_lived(came) or None
        if self._hears:
            lived = came is not None and came.member_id is not None
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
                self._stayed_after(gone.at_ms),
                at_latest,
                is_guess or self._matcher.is_guess(gone, came),
            )
        )


def _is_old(gone: Departure, now_ms: int | None) -> bool:
    return now_ms is None or now_ms - gone.at_ms > 2 * PATIENCE_MS
