"""The records of a history: what was sent and answered, and when.  Verdicts rest on nothing else.

Times are ms on one clock.  On a virtual clock each is the exact instant.  On a real clock a request
took effect at `Sent.at_ms` or later, and no later than its answer was read.
"""

from __future__ import annotations

import msgspec

from fencepost.model.coordinator import Answer, Send


class Sent(msgspec.Struct, frozen=True):
    """A request was sent: writing began at `at_ms` and had ended by `by_ms` (None: at once)."""

    at_ms: int
    request: Send
    by_ms: int | None = None

    @property
    def ended_ms(self) -> int:
        """When writing had ended."""
        return self.at_ms if self.by_ms is None else self.by_ms


class Answered(msgspec.Struct, frozen=True):
    """An answer was read; `answer.at_ms` is the time."""

    answer: Answer

    @property
    def at_ms(self) -> int:
        """When the answer was read."""
        return self.answer.at_ms


class Handled(msgspec.Struct, frozen=True):
    """On a virtual clock: all that was sent has been handled, and no timer fired meanwhile.

    On a real one nobody sees it: what is asked is whether it can have been so.
    """

    at_ms: int


class Passed(msgspec.Struct, frozen=True):
    """All answers that had come by this time have been read: what is missing was not given."""

    at_ms: int


class Disconnected(msgspec.Struct, frozen=True):
    """The client dropped a connection; the requests `dropped` get no answer any more."""

    at_ms: int
    connection: str
    dropped: tuple[str, ...]


class Restarted(msgspec.Struct, frozen=True):
    """The coordinator failed over at some time between `begun_ms` and `at_ms`.

    `dropped`: requests that get no answer any more.  `down_ms`: when the old coordinator had ended
    for certain, where that is known more exactly.
    """

    begun_ms: int
    at_ms: int
    dropped: tuple[str, ...]
    down_ms: int | None = None


class TopicsDeleted(msgspec.Struct, frozen=True):
    """Topics were deleted: that began at `at_ms`, and none existed by `by_ms` (None: at once).

    Their offsets are removed since `at_ms`, and not later than a lag after `by_ms`.
    """

    at_ms: int
    topics: tuple[str, ...]
    by_ms: int | None = None

    @property
    def ended_ms(self) -> int:
        """When none existed any more."""
        return self.at_ms if self.by_ms is None else self.by_ms


Event = Sent | Answered | Handled | Passed | Disconnected | Restarted | TopicsDeleted
