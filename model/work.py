"""Hold the input and outcome of a step, and the work in between, on which effects are performed.

Where the protocol leaves a choice open, an effect forks the work, and each fork is an outcome.  The
protocol defines the type of a group; this module uses its timers only.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

import msgspec

from fencepost.model.messages.shapes import Message

CLEANUP, RETENTION = "cleanup", "retention"
"""Kinds of timers that no group holds: see `Machine.cleaned`."""


class NotFollowedError(ValueError):
    """Raised where the outcomes of a step aren't known, or not listed.  `str()` says why."""


class TooManyOutcomesError(NotFollowedError):
    """Raised where a step has more outcomes than are listed.  `str()` names the choice."""


class Timer(NamedTuple):
    """A deadline in ms, somewhere in [earliest, latest].

    `kind` and `subject` (such as a member id, or "") distinguish a group's timers; the protocol
    says which kinds there are.
    """

    kind: str
    subject: str
    earliest: int
    latest: int


class Span(NamedTuple):
    """Time of an event in ms, somewhere in [earliest, latest]; an instant if they agree."""

    earliest: int
    latest: int


class TimedGroup(Protocol):
    """A group as the machine needs it: immutable, hashable, with timers."""

    @property
    def timers(self) -> tuple[Timer, ...]:
        """Running timers, sorted by kind and subject."""
        ...

    def with_timer(self, kind: str, subject: str, earliest: int, latest: int) -> Self:
        """Set or reset a timer; the deadline is in ms."""
        ...

    def without_timer(self, kind: str, subject: str = "") -> Self:
        """Stop a timer, if it runs."""
        ...

    def outline(self) -> Hashable:
        """Return the parts in which groups mostly differ."""
        ...

    def renamed(self, names: Mapping[str, str]) -> Self:
        """Return the group with member ids replaced by others."""
        ...

    def timeless(self) -> Self:
        """Return the group with all times at 0."""
        ...

    def widened(self, twin: Self) -> Self:
        """Return this group with windows that hold those of a twin, which differs in times only."""
        ...

    def recounted(self, since: int, by: int) -> Self:
        """Return the group with `by` added to its generations, or epochs, from `since` on."""
        ...


def without_times(timers: tuple[Timer, ...]) -> tuple[Timer, ...]:
    """Return timers with all times at 0."""
    return tuple(Timer(t.kind, t.subject, 0, 0) for t in timers)


def hull(timers: tuple[Timer, ...], others: tuple[Timer, ...]) -> tuple[Timer, ...]:
    """Return timers with the windows that hold those of the same timers in another group."""
    return tuple(
        Timer(s.kind, s.subject, min(s.earliest, t.earliest), max(s.latest, t.latest))
        for s, t in zip(timers, others, strict=True)
    )


G = TypeVar("G", bound=TimedGroup)


class Incoming(msgspec.Struct, frozen=True):
    """A request to the machine.

    `fresh_id`: the member id to hand out if the request leads to a new one; the machine makes up
    none of its own.  `deleted`: the topics that were deleted before it is handled.  `observed`: the
    answer that was read, if it is known: outcomes that surely answer otherwise may be left out, but
    not all.
    """

    id: str
    client_id: str
    api: str
    version: int
    message: Message
    fresh_id: str
    deleted: frozenset[str] = frozenset()
    observed: Message | None = None


class Emission(msgspec.Struct, frozen=True):
    """An answer of the model: to which request, the message, and the rule that gave it.

    `message` None: the protocol doesn't say whether or how the request is answered (a parked join
    that its own member sent anew).
    """

    request_id: str
    message: Message | None
    rule: str


class Outcome(msgspec.Struct, frozen=True):
    """One allowed outcome of a step.

    The group afterwards, of the protocol's own type (None: it is gone), the answers, and the rules,
    in order.
    """

    group: Any
    emissions: tuple[Emission, ...]
    rules: tuple[str, ...]


def unchanged(group: object, request: Incoming, answer: Message, rule: str) -> Outcome:
    """Return the outcome of a request that gets an answer and changes nothing."""
    return Outcome(group, (Emission(request.id, answer, rule),), (rule,))


class Work(Generic[G]):
    """A step in progress: the group with the changes so far, and the answers so far.

    A protocol derives from it, defines a new group, and adds notes of its effects.  `caller`: the
    member id to which the effects apply; `instance`: the instance id in the request; `deleted`: the
    topics that this step deletes.
    """

    __slots__ = (
        "blank",
        "caller",
        "deleted",
        "emissions",
        "group",
        "instance",
        "request",
        "rule",
        "rules",
        "span",
    )

    group: G
    blank: G | None

    def __init__(self, group: G | None, span: Span, request: Incoming | None = None) -> None:
        self.group = self.new_group() if group is None else group
        self.blank = self.group if group is None else None
        self.span = span
        self.request = request
        self.caller = ""
        self.instance: str | None = None
        self.deleted: frozenset[str] = frozenset()
        self.rule = ""
        self.emissions: list[Emission] = []
        self.rules: list[str] = []

    @staticmethod
    def new_group() -> G:
        """Make the initial group."""
        raise NotImplementedError

    def fork(self) -> Self:
        """Return a copy that is changed on its own."""
        other = type(self)(self.group, self.span, self.request)
        other.blank = self.blank
        other.caller = self.caller
        other.instance = self.instance
        other.deleted = self.deleted
        other.rule = self.rule
        other.emissions = list(self.emissions)
        other.rules = list(self.rules)
        return other

    def decided_by(self, rule_id: str) -> None:
        """Set the rule of the steps that follow."""
        self.rule = rule_id
        self.rules.append(rule_id)

    def create(self) -> None:
        """Create the group if it did not exist."""
        if self.group is self.blank:
            self.group = self.new_group()

    def forget(self) -> None:
        """Remove the group."""
        self.blank = self.group

    def emit(self, request_id: str, message: Message | None) -> None:
        """Answer a request; None: the protocol leaves the answer open."""
        self.emissions.append(Emission(request_id, message, self.rule))

    def set_timer(self, kind: str, subject: str, ms: int) -> None:
        """Start a timer that fires after this many ms; a negative number means 0."""
        span, ms = self.span, max(ms, 0)
        self.group = self.group.with_timer(kind, subject, span.earliest + ms, span.latest + ms)

    def outcome(self) -> Outcome:
        """Return the outcome; its group is None if it was removed, or never created."""
        group = None if self.group is self.blank else self.group
        return Outcome(group, tuple(self.emissions), tuple(self.rules))


W = TypeVar("W", bound=Work[Any])

Effect = Callable[[Any], list[Any] | None]
"""Function that performs a step on a work; it returns several works if it forks, else None."""
