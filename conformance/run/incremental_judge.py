"""Judge a history while its case is still running: after each step, or only during long waits.

A case of a suite ends at its first violation, so the oracle hears of each event.  A history with
many explanations takes long to judge; on a real clock that is done beside the event loop, which
would be late by it.  Random plans run by the thousand there, and most of them hold.  Each is judged
at its end anyway, so the oracle hears of it earlier only where an answer is long in coming: then
the run does not wait for an answer that never comes.

A run may go on behind a violation that known departures explain (`follows`): from there on the
model with these departures says what is due, and what it can't explain either ends the run.
"""

from __future__ import annotations

import time
from collections import deque
from functools import partial

from fencepost.conformance.runtime.event_loop import aside
from fencepost.model.coordinator import Config
from fencepost.model.history.events import Event, Passed
from fencepost.model.revision import Revision
from fencepost.properties.departures.attribution import attributed, departed_by
from fencepost.properties.oracle.oracle import Oracle, judge
from fencepost.properties.oracle.verdict import Verdict

SELDOM_S = 5.0
"""How often the oracle hears of a plan that waits, in seconds."""

_MANY_ORDERS = 64
"""Where so many orders of requests may have to be tried, that isn't done in the event loop."""


class Listener:
    """An oracle that may hear of events late.

    `every_s`: so long after the last event it hears of what happened, when it is asked; 0: it hears
    of each event, at once unless that takes long; None: at once, however long it takes, as on a
    virtual clock, where nothing is late.
    `follows`: go on with an oracle that has the known departures that explain a violation.
    """

    def __init__(
        self,
        revision: Revision,
        config: Config,
        lag_ms: int,
        every_s: float | None,
        *,
        follows: bool = False,
    ) -> None:
        self._revision = revision
        self._config = config
        self._first = self._oracle = Oracle(revision, config, lag_ms=lag_ms)
        self._follows = follows
        self._told: list[Event] = []
        self._every_s = every_s
        self._heard = time.monotonic()
        self._untold: deque[Event] = deque()

    def observe(self, event: Event) -> None:
        """Take in an event."""
        if self._every_s is None or not (self._every_s or self._untold or self._takes_long()):
            self._tell(event)
            return
        if not isinstance(event, Passed):
            self._heard = time.monotonic()
        elif self._untold and isinstance(self._untold[-1], Passed):
            self._untold.pop()  # the longer silence replaces it
        self._untold.append(event)

    def open(self) -> bool:
        """Whether all that the oracle has heard is explained; this lets it hear nothing more."""
        return self._oracle.open()

    @property
    def is_violated(self) -> bool:
        """Whether what the oracle has heard is wrong; then it stays so."""
        return self._oracle.violation is not None

    @property
    def is_behind_departures(self) -> bool:
        """Whether it is wrong, and known departures are followed that explain it."""
        return self._oracle is not self._first

    async def relax(self, history: list[Event], lag_ms: int) -> None:
        """Judge all that happened anew, with more lag, and go on with it."""
        if lag_ms > self.lag_ms:
            await aside(partial(self._relax, history, lag_ms))

    def _relax(self, history: list[Event], lag_ms: int) -> None:
        self._first = self._oracle = judge(self._revision, self._config, history, lag_ms=lag_ms)
        self._told = list(history) if self._follows else []
        self._untold.clear()
        self._heard = time.monotonic()
        self._follow()

    @property
    def lag_ms(self) -> int:
        """The lag that the oracle allows."""
        return self._first.lag_ms

    async def still_open(self) -> bool:
        """The same, once the oracle has caught up, if it is time for that."""
        if self._untold and time.monotonic() - self._heard >= (self._every_s or 0):
            await aside(self._catch_up)
        return self._oracle.open()

    def next_deadline_ms(self, after_ms: int) -> int | None:
        """The oracle's next deadline, after it has heard all that happened."""
        self._catch_up()
        return self._oracle.next_deadline_ms(after_ms)

    def verdict(self) -> Verdict:
        """The verdict on all that happened: of the first oracle, without any departure."""
        self._catch_up()
        return self._first.verdict()

    def _takes_long(self) -> bool:
        orders = (1 << len(c.unapplied) for c in self._oracle.explanations())
        return sum(orders) >= _MANY_ORDERS

    def _catch_up(self) -> None:
        while self._untold:
            self._tell(self._untold.popleft())
        self._heard = time.monotonic()

    def _tell(self, event: Event) -> None:
        was_open = self._oracle.open()
        self._oracle.observe(event)
        if self._follows:
            self._told.append(event)
            if was_open:
                self._follow()

    def _follow(self) -> None:
        """Go on with the departures that explain what is wrong, if there are any."""
        if not self._follows or self._oracle.violation is None:
            return
        found = attributed(self._revision, self._config, self._told, lag_ms=self.lag_ms)
        if found.cause:
            departed = departed_by(self._revision, found.cause)
            self._oracle = judge(departed, self._config, self._told, lag_ms=self.lag_ms)
