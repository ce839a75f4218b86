"""Follow what interrupts a group: times without a member, and changes of its coordinator.

Members that were there before a coordinator read the group, and that expire after it, did so since
they did not go on with it: no client failed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from fencepost.traces.operations.group_events import Loaded
from fencepost.traces.operations.operator_rows import EmptySpan, End, Failover, Process, Row
from fencepost.traces.operations.restarts import Departure

_ONE_LOAD_MS = 60_000
_AFTER_LOAD_MS = 30 * 60_000
"""Longest session timeout that Kafka allows by default: members from before a failover that are
gone expire by then."""


@dataclass(slots=True)
class EmptyTimes:
    """The times in which one group has no member; rows go to `emit` when a member joins.

    `open`: the time that goes on.
    """

    group: str
    emit: Callable[[Row], None]
    open: EmptySpan | None = None

    def begin(self, at_ms: int, place: str, last: Departure | None) -> None:
        """Begin a time without a member; `last`: the last one, None where the log doesn't show it.

        Of several lines about one time the first counts.
        """
        if self.open is not None:
            return
        how: tuple[End, str | None, Process | None, bool] = (End.UNKNOWN, None, None, False)
        if last is not None:
            who = (last.member.instance_id, last.member.process)
            how = (last.end, *who, last.is_poll_timeout)
        self.open = EmptySpan(self.group, at_ms, None, *how, place)

    def end(self, at_ms: int) -> None:
        """Note a member, or that one joins."""
        span, self.open = self.open, None
        if span is not None and at_ms > span.from_ms:
            self.emit(msgspec.structs.replace(span, until_ms=at_ms))


class Failovers:
    """The changes of one group's coordinator; rows go to `emit` when their outcome is known."""

    def __init__(self, group: str, emit: Callable[[Row], None]) -> None:
        self._group = group
        self._emit = emit
        self._loaded: Loaded | None = None
        self._expired: list[int] = []
        """Times at which members from before the load expired."""

    def load(self, event: Loaded) -> bool:
        """Take a load; return False if another line told of it before."""
        if self._loaded is not None and event.at_ms - self._loaded.at_ms <= _ONE_LOAD_MS:
            return False
        self.end()
        self._loaded = event
        return True

    @property
    def is_loaded(self) -> bool:
        """True if a coordinator has loaded the group lately."""
        return self._loaded is not None

    def add_expiry(self, at_ms: int) -> None:
        """Add the end of a member from before the load."""
        self._expired.append(at_ms)

    def note_expiry(self, gone: Departure) -> None:
        """Note a member that expired: it may have been there before the load."""
        loaded, member = self._loaded, gone.member
        if loaded is not None and (not member.begins or member.from_ms < loaded.at_ms):
            self._expired.append(gone.at_ms)

    def purge(self, now_ms: int) -> None:
        """Emit the change that no later event belongs to."""
        if self._loaded is not None and now_ms - self._loaded.at_ms > _AFTER_LOAD_MS:
            self.end()

    def end(self) -> None:
        """Emit the change, if there was one."""
        loaded, expired_ms = self._loaded, self._expired
        self._loaded, self._expired = None, []
        if loaded is not None:
            until_ms = max(expired_ms, default=None)
            row = (self._group, loaded.at_ms, len(expired_ms), until_ms, loaded.place)
            self._emit(Failover(*row))
