"""A history: what was sent and answered, and when.  The evidence that verdicts rest on.

Decides nothing.  Times are ms on one clock.  With a virtual clock each is the exact instant; with
a real clock a request took effect at or after `Sent.at_ms` and no later than its answer was read.
"""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.model.coordinator import Answer, Send


@dataclass(frozen=True, slots=True)
class Sent:
    """A request was put on its way, begun at `at_ms` and written by `by_ms` (None: at once)."""

    at_ms: int
    request: Send
    by_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer was read; `answer.at_ms` is the time."""

    answer: Answer

    @property
    def at_ms(self) -> int:
        """When the answer was read."""
        return self.answer.at_ms


@dataclass(frozen=True, slots=True)
class Handled:
    """Virtual clock: what was sent has been handled, and no timer fired meanwhile."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class Passed:
    """All that had come in by this time has been read: silence up to here is evidence."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The client dropped a connection; its open requests are answered no more."""

    at_ms: int
    connection: str
    dropped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Restarted:
    """The coordinator failed over some time between `begun_ms` and `at_ms`.

    `down_ms`: when the one before had certainly ended, where that is known better.
    """

    begun_ms: int
    at_ms: int
    dropped: tuple[str, ...]
    down_ms: int | None = None


Event = Sent | Answered | Handled | Passed | Disconnected | Restarted
