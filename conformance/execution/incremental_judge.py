"""The oracle as a running case asks it: each time at once, or now and then.

Decides how often a history on a real clock is judged while it is made.  A case of a suite ends at
its first violation, so the oracle hears each event at once.  Of thousands of plans that are about
nothing in particular most hold, and each is judged when it has ended anyway; the oracle hears of
those only where an answer is long in coming, so that none is waited for that never will.
"""

from __future__ import annotations

import time
from collections import deque

from fencepost.conformance.runtime.event_loop import aside
from fencepost.model.history import Event, Passed
from fencepost.properties.oracle.oracle import Oracle
from fencepost.properties.oracle.verdict import Verdict

SELDOM_S = 5.0
"""A plan that waits is listened to so often."""


class Listener:
    """An oracle that may lag behind what it is told.  `every_s` 0: it never does."""

    def __init__(self, oracle: Oracle, every_s: float) -> None:
        self._oracle = oracle
        self._every_s = every_s
        self._heard = time.monotonic()
        self._untold: deque[Event] = deque()

    @property
    def at_once(self) -> bool:
        """Whether it hears each event as it happens."""
        return not self._every_s

    def observe(self, event: Event) -> None:
        """Something happened."""
        if self.at_once:
            self._oracle.observe(event)
            return
        if not isinstance(event, Passed):
            self._heard = time.monotonic()
        elif self._untold and isinstance(self._untold[-1], Passed):
            self._untold.pop()  # that nothing came for longer says all that it said
        self._untold.append(event)

    def open(self) -> bool:
        """Whether all is explained, as far as was heard; nothing is heard for this."""
        return self._oracle.open()

    async def still_open(self) -> bool:
        """The same where an answer is waited for: what happened is heard if nothing does."""
        if self._untold and time.monotonic() - self._heard >= self._every_s:
            await aside(self._catch_up)
        return self._oracle.open()

    def next_deadline_ms(self, after_ms: int) -> int | None:
        """As the oracle has it, of all that happened."""
        self._catch_up()
        return self._oracle.next_deadline_ms(after_ms)

    def verdict(self) -> Verdict:
        """The oracle's, of all that happened."""
        self._catch_up()
        return self._oracle.verdict()

    def _catch_up(self) -> None:
        while self._untold:
            self._oracle.observe(self._untold.popleft())
        self._heard = time.monotonic()
