"""Follow the member ids of a group that a broker hands out, to join with.

One that isn't used in time is removed; until then a rebalance waits for it.
"""

from __future__ import annotations

from collections.abc import Callable

from fencepost.traces.operations.group_events import Named, NameExpired
from fencepost.traces.operations.operator_rows import PendingId, Row
from fencepost.traces.operations.ownership import LATE_MS

_MOST = 1000
_WAITED_MS = 1_000
"""Greatest time from the end of an unused id to the answers of the rebalance that waited for it."""


class PendingIds:
    """The ids of one group that are not used yet; rows of unused ones go to `emit`."""

    def __init__(self, group: str, emit: Callable[[Row], None]) -> None:
        self._group = group
        self._emit = emit
        self._named: dict[str, Named] = {}
        self._held: dict[str, int] = {}
        """For an id of these: the time, in ms, for which a rebalance waited for it."""

    def __contains__(self, member_id: str) -> bool:
        """Return True if an id is not used yet."""
        return member_id in self._named

    def add(self, event: Named) -> None:
        """Note an id that is handed out."""
        self._named[event.member_id] = event
        if len(self._named) > _MOST:
            self.use(next(iter(self._named)))

    def use(self, member_id: str) -> Named | None:
        """Forget an id, since it was used or given back; return None if it isn't pending."""
        self._held.pop(member_id, None)
        return self._named.pop(member_id, None)

    def all(self) -> list[Named]:
        """Return all ids that are not used yet."""
        return list(self._named.values())

    def note_held(self, completed_ms: int) -> None:
        """Note the ids whose end let a rebalance be completed just now, if they are not used."""
        for member_id, named in self._named.items():
            if named.session_ms is None:
                continue
            late_ms = completed_ms - named.at_ms - named.session_ms
            if -LATE_MS <= late_ms <= _WAITED_MS:
                self._held[member_id] = completed_ms - named.at_ms

    def expire(self, completed_ms: int, until_ms: int | None) -> None:
        """Emit the ids that were not used in time, where the source has no line of their end.

        A join with such an id may be parked: it is answered when the rebalance is over, the latest
        at `completed_ms`.  `until_ms`: only those whose time ended by then; None: the log ends.
        """
        for member_id, named in list(self._named.items()):
            if named.session_ms is None:
                continue
            end_ms = named.at_ms + named.session_ms
            is_over = completed_ms + LATE_MS >= end_ms
            if not is_over or (until_ms is not None and end_ms > until_ms):
                continue
            held_ms = self._held.get(member_id, 0)
            self.use(member_id)
            who = (named.process, member_id, named.at_ms, end_ms, held_ms, named.place)
            self._emit(PendingId(self._group, None, *who))

    def end(self, event: NameExpired, open_ms: int | None) -> None:
        """Take an id that was not used in time; `open_ms`: start of the rebalance that waits."""
        named = self.use(event.member_id)
        since_ms = None if named is None else named.at_ms
        held_ms = 0 if open_ms is None else event.at_ms - max(open_ms, since_ms or 0)
        who = (event.process, event.member_id)
        self._emit(PendingId(self._group, None, *who, since_ms, event.at_ms, held_ms, event.place))
