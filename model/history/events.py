"""Define the events of a history, with their times.  Verdicts rest on nothing else.

Times are ms on one clock.  On a virtual clock each is the exact instant.  On a real clock a request
took effect at `Sent.at_ms` or later, and no later than its answer was read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self, get_args

import msgspec

from fencepost.model.coordinator import Answer, Send


class Record(msgspec.Struct, frozen=True):
    """The base of all events: a name in files, and the times between which the event happened."""

    do: ClassVar[str]
    """Its name in traces and tables."""
    between: ClassVar[tuple[str, str]] = ("at_ms", "at_ms")
    """The attributes with the earliest and the latest time."""

    @property
    def span(self) -> tuple[int, int]:
        """The earliest and the latest time of the event."""
        earliest, latest = (getattr(self, name) for name in self.between)
        return earliest, earliest if latest is None else latest

    @classmethod
    def of_row(cls, span: tuple[int, int], row: Mapping[str, Any]) -> Self:
        """Return the event with these fields, beside its time; lists become tuples."""
        times = dict(zip(cls.between, span, strict=True))
        fields = {
            name: tuple(value) if isinstance(value, list) else value
            for name in cls.__struct_fields__
            if name not in times and (value := row.get(name)) is not None
        }
        return cls(**times, **fields)


class Disturbance(Record, frozen=True):
    """An act on the coordinator or on a connection, beside requests.

    All forms of a trace ask the class: a new one defines here its form in files and its names.
    """

    evidence: ClassVar[frozenset[str]] = frozenset({"dropped"})
    """The fields that were observed; with the others it can be done again."""
    lane: ClassVar[str]
    """Its mark on the page."""
    has_columns: ClassVar[bool] = True
    """True if the tables of a corpus have columns for its fields."""
    name: ClassVar[str] = ""
    """A noun for it, for what has no columns."""
    title: ClassVar[str] = ""
    """The name of the table of rules that says what becomes of a group by it."""

    @property
    def connection(self) -> str:
        """The connection that it is about; "" for the whole coordinator."""
        return ""

    @property
    def dropped(self) -> tuple[str, ...]:
        """The requests that get no answer any more."""
        return ()

    def row(self) -> dict[str, Any]:
        """Return its fields beside its time, as files have them; what is None is left out."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name in self.__struct_fields__
            if name not in self.between and (value := getattr(self, name)) is not None
        }

    def arguments(self) -> dict[str, Any]:
        """Return the fields with which it can be done again."""
        return {name: value for name, value in self.row().items() if name not in self.evidence}

    def words(self) -> str:
        """Return a sentence about it for a list of steps."""
        raise NotImplementedError

    def note(self) -> str:
        """Return a few words about it for a diagram."""
        return self.words()

    def call(self) -> str:
        """Return the call that does it again, in a test for pytest."""
        raise NotImplementedError


class Sent(Record, frozen=True):
    """A request was sent: writing began at `at_ms` and had ended by `by_ms` (None: at once)."""

    do = "send"
    between = ("at_ms", "by_ms")

    at_ms: int
    request: Send
    by_ms: int | None = None

    @property
    def ended_ms(self) -> int:
        """Time at which writing had ended."""
        return self.at_ms if self.by_ms is None else self.by_ms


class Answered(Record, frozen=True):
    """An answer was read; `answer.at_ms` is the time."""

    do = "answer"

    answer: Answer

    @property
    def at_ms(self) -> int:
        """Time at which the answer was read."""
        return self.answer.at_ms


class Handled(Record, frozen=True):
    """All requests so far have been handled, and no timer fired meanwhile, on a virtual clock.

    On a real one it can't be observed: the question is whether it can have been so.
    """

    do = "handled"

    at_ms: int


class Passed(Record, frozen=True):
    """All answers that had come by this time have been read: a missing one was not sent."""

    do = "passed"

    at_ms: int


class Disconnected(Disturbance, frozen=True):
    """The client dropped a connection; the requests `dropped` get no answer any more."""

    do = "disconnect"
    lane = "drop"

    at_ms: int
    connection: str
    dropped: tuple[str, ...] = ()

    def words(self) -> str:
        """Return a sentence about it for a list of steps."""
        return f"{self.connection}'s connection drops"

    def note(self) -> str:
        """Return a few words about it for a diagram."""
        return "the connection drops"

    def call(self) -> str:
        """Return the call that does it again, in a test for pytest."""
        return f"close({self.connection!r})"


class Takeover(Disturbance, frozen=True):
    """Another coordinator loaded the groups at some time between `begun_ms` and `at_ms`.

    `dropped`: requests that get no answer any more, or were refused unread.  `down_ms`: the time at
    which the old coordinator surely had the groups no longer, if that is known more exactly.
    """

    between = ("begun_ms", "at_ms")
    evidence = frozenset({"dropped", "down_ms"})

    begun_ms: int
    at_ms: int
    dropped: tuple[str, ...] = ()
    down_ms: int | None = None


class Restarted(Takeover, frozen=True):
    """The coordinator failed over: whoever waited was answered, or lost its connection."""

    do = "restart"
    lane = "restart"

    def words(self) -> str:
        """Return a sentence about it for a list of steps."""
        return "the coordinator restarts"

    def note(self) -> str:
        """Return a few words about it for a diagram."""
        return "the coordinator fails over"

    def call(self) -> str:
        """Return the call that does it again, in a test for pytest."""
        return "restart()"


class Moved(Takeover, frozen=True):
    """The coordinator moved to another broker, and the one before went on.

    No connection was lost, so each request that waited gets an answer: `dropped` has only those
    that came after the groups were unloaded, and were refused.
    """

    do = "move-coordinator"
    lane = "move-coordinator"

    def words(self) -> str:
        """Return a sentence about it for a list of steps."""
        return "the coordinator moves to another broker"

    def call(self) -> str:
        """Return the call that does it again, in a test for pytest."""
        return "move()"


class TopicsDeleted(Disturbance, frozen=True):
    """Topics were deleted: that began at `at_ms`, and none existed by `by_ms` (None: at once).

    Their offsets are removed since `at_ms`, and not later than a lag after `by_ms`.
    """

    do = "delete-topics"
    lane = "delete-topics"
    between = ("at_ms", "by_ms")
    has_columns = False
    name = "deleted topics"
    title = "topics deleted"

    at_ms: int
    topics: tuple[str, ...]
    by_ms: int | None = None

    @property
    def ended_ms(self) -> int:
        """Time at which none existed any more."""
        return self.at_ms if self.by_ms is None else self.by_ms

    def words(self) -> str:
        """Return a sentence about it for a list of steps."""
        return f"the topic{'s' * (len(self.topics) > 1)} {self.note()}"

    def note(self) -> str:
        """Return a few words about it for a diagram."""
        return f"{', '.join(self.topics)} deleted"

    def call(self) -> str:
        """Return the call that does it again, in a test for pytest."""
        return f"delete({list(self.topics)!r})"


Event = Sent | Answered | Handled | Passed | Disconnected | Restarted | Moved | TopicsDeleted
EVENTS: Mapping[str, type[Event]] = {kind.do: kind for kind in get_args(Event)}
"""The classes of events by their names in traces and tables."""
OPERATED = frozenset(
    kind.title for kind in EVENTS.values() if issubclass(kind, Disturbance) and kind.title
)
"""The tables of rules that say what becomes of a group when an operator does something."""
