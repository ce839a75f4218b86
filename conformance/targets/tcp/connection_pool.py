"""Connections that are used again: a case's that ended well serves another case.

Decides which connection may.  A new one costs us and the broker more than a request does, and most
cases do nothing to theirs.  One that has an open request, that ended, or on which anything came
since it was laid aside is thrown away: what was asked by one case must not be answered in another.
The one that was laid aside first is taken first, so that what comes late finds nobody.

A case that drops a connection hangs up for real; that one is never seen here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from fencepost.conformance.targets.tcp.address import Address
from fencepost.conformance.targets.tcp.connection import Connection, Event

_MOST = 2000
"""So many lie idle at one broker; it closes them when it likes."""


class LinePool:
    """The idle connections of one target."""

    def __init__(self) -> None:
        self._idle: dict[Address, deque[Connection]] = {}

    def take(self, broker: Address, on_event: Callable[[Event], None]) -> Connection | None:
        """An idle connection to the broker, if there is one; its events go to `on_event` now."""
        idle = self._idle.get(broker)
        while idle:
            connection = idle.popleft()
            if not connection.is_ended:
                connection.hand_over(on_event)
                return connection
        return None

    def lay_aside(self, broker: Address, connection: Connection) -> None:
        """Somebody needs it no more; it is kept if nothing is open on it, else closed."""
        idle = self._idle.setdefault(broker, deque())
        if connection.is_ended or connection.pending is not None or len(idle) >= _MOST:
            connection.close()
            return

        def spoil(event: Event) -> None:
            del event
            connection.close()

        connection.hand_over(spoil)
        idle.append(connection)

    def close(self) -> None:
        """Hang up all; those that are laid aside later are kept until the next time."""
        for idle in self._idle.values():
            for connection in idle:
                connection.close()
        self._idle.clear()
