"""Follow what interrupts a group: times without a member, and changes of its coordinator.

Members that were there before a coordinator read the group, and that expire after it, did so since
they did not go on with it: no client failed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import msgspec

from fencepost.traces.operations.group_events import (
    Deleted,
    Loaded,
    MemberLoaded,
    OffsetsDeleted,
    Unloaded,
)
from fencepost.traces.operations.operator_rows import (
    EmptySpan,
    End,
    Failover,
    OffsetsRemoved,
    Process,
    Row,
)
from fencepost.traces.operations.ownership import LogMember
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

    def delete(self, at_ms: int, place: str) -> None:
        """Note that the group was deleted: it had no member then, at the latest."""
        self.begin(at_ms, place, None)
        if self.open is not None:
            self.open = msgspec.structs.replace(self.open, deleted_ms=at_ms)

    def end(self, at_ms: int) -> None:
        """Note a member, or that one joins."""
        span, self.open = self.open, None
        if span is not None and at_ms > span.from_ms:
            self.emit(msgspec.structs.replace(span, until_ms=at_ms))


class RemovedOffsets:
    """The offsets of one group that somebody deleted.

    Rows go to `emit` when a member joins, which starts without them, or at the end.
    """

    def __init__(self, group: str, emit: Callable[[Row], None]) -> None:
        self._group = group
        self._emit = emit
        self._open: list[OffsetsRemoved] = []

    def add(self, event: Deleted | OffsetsDeleted) -> None:
        """Take a deletion."""
        with_group = isinstance(event, Deleted)
        groups = event.groups if isinstance(event, Deleted) else 1
        details = (with_group, event.offsets, groups, None, event.place)
        self._open.append(OffsetsRemoved(self._group, event.at_ms, *details))

    def end(self, at_ms: int | None) -> None:
        """Emit the deletions: a member joins; None: the log ends."""
        removed, self._open = self._open, []
        for row in removed:
            self._emit(msgspec.structs.replace(row, used_ms=at_ms))


class Failovers:
    """The changes of one group's coordinator; rows go to `emit` when their outcome is known."""

    def __init__(self, group: str, emit: Callable[[Row], None]) -> None:
        self._group = group
        self._emit = emit
        self._unloaded: Unloaded | None = None
        """The last event that a coordinator gave the group up, with the group's generation then.

        Its load may have come since.
        """
        self._cut_off = False
        self._loaded: Loaded | MemberLoaded | None = None
        self._expired: list[int] = []
        """Times at which members from before the load expired."""

    def unload(self, event: Unloaded, generation: int | None, *, cut_off: bool) -> bool:
        """Take the end of a coordinator; return False if another line said so before.

        `generation`: the last that is known; `cut_off`: a rebalance was on.
        """
        is_first = not self.is_away
        if is_first:
            self.end()
            self._unloaded, self._cut_off = replace(event, generation=generation), cut_off
        if event.generation is not None and self._unloaded is not None:
            self._unloaded = replace(self._unloaded, generation=event.generation)
        return is_first

    def load(self, event: Loaded | MemberLoaded) -> bool:
        """Take a load; return False if another line told of it before."""
        if self._loaded is not None and event.at_ms - self._loaded.at_ms <= _ONE_LOAD_MS:
            if self._loaded.generation is None:
                self._loaded = replace(self._loaded, generation=event.generation)
            return False
        if not self.is_away:
            self.end()
        self._loaded = event
        return True

    @property
    def is_away(self) -> bool:
        """True if no coordinator in the log has the group at present."""
        return self._unloaded is not None and self._loaded is None

    @property
    def is_loaded(self) -> bool:
        """True if a coordinator has loaded the group lately."""
        return self._loaded is not None

    @property
    def missed(self) -> int | None:
        """The number of generations that began while no coordinator in the log had the group."""
        if self._unloaded is None or self._loaded is None:
            return None
        before, after = self._unloaded.generation, self._loaded.generation
        return None if before is None or after is None else max(after - before, 0)

    def add_expiry(self, at_ms: int) -> None:
        """Add the end of a member from before the load."""
        self._expired.append(at_ms)

    def load_before(self, member: LogMember, begun_ms: int | None) -> int | None:
        """Return the time of the load since which a member did not go on; None: it did.

        `begun_ms`: the begin of the latest generation: its members went on.
        """
        if self._loaded is None or (begun_ms is not None and begun_ms > self._loaded.at_ms):
            return None
        is_before = not member.begins or member.from_ms < self._loaded.at_ms
        return self._loaded.at_ms if is_before else None

    def purge(self, now_ms: int) -> None:
        """Emit the change that no later event belongs to."""
        if self._loaded is not None and now_ms - self._loaded.at_ms > _AFTER_LOAD_MS:
            self.end()

    def end(self) -> None:
        """Emit the change, if there was one."""
        missed, loaded, unloaded = self.missed, self._loaded, self._unloaded
        expired_ms, cut_off = self._expired, int(self._cut_off)
        self._loaded, self._unloaded, self._expired, self._cut_off = None, None, [], False
        last = loaded or unloaded
        if last is None:
            return
        until_ms = max(expired_ms, default=None)
        row = (self._group, last.at_ms, len(expired_ms), until_ms, last.place)
        since_ms = None if unloaded is None else unloaded.at_ms
        self._emit(Failover(*row, since_ms, loaded is not None, missed, cut_off))
