"""The input and outcome of a step, and the work in between, on which effects are performed.

Where the protocol leaves a choice open, an effect forks the work, and each fork is an outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from fencepost.model.classic.group import SESSION, Group, Member, Timer
from fencepost.model.messages.shapes import Message


class Incoming(msgspec.Struct, frozen=True):
    """A request to the machine.

    `fresh_id`: the member id to hand out if the request leads to a new one; the machine makes up
    none of its own.  `deleted`: the topics that were deleted before it is handled.
    """

    id: str
    client_id: str
    api: str
    version: int
    message: Message
    fresh_id: str
    deleted: frozenset[str] = frozenset()


class Span(NamedTuple):
    """When something happens, in ms: somewhere in [earliest, latest]; an instant if they agree."""

    earliest: int
    latest: int


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

    The group afterwards (None: it is gone), the answers given, and the rules used, in order.
    """

    group: Group | None
    emissions: tuple[Emission, ...]
    rules: tuple[str, ...]


def unchanged(group: Group | None, request: Incoming, answer: Message, rule: str) -> Outcome:
    """Return the outcome of a request that is answered and changes nothing."""
    return Outcome(group, (Emission(request.id, answer, rule),), (rule,))


class Work:
    """A step in progress: the group as it is being changed, and the answers so far.

    `caller`: the member id that the effects are about; `instance`: the instance id sent with it;
    `deleted`: the topics that are deleted in this step.
    """

    __slots__ = (
        "_blank",
        "caller",
        "deleted",
        "emissions",
        "group",
        "instance",
        "previous_leader",
        "request",
        "rule",
        "rules",
        "span",
    )

    def __init__(self, group: Group | None, span: Span, request: Incoming | None = None) -> None:
        self.group = Group() if group is None else group
        self._blank = self.group if group is None else None
        self.span = span
        self.request = request
        self.caller = ""
        self.instance: str | None = None
        self.deleted: frozenset[str] = frozenset()
        self.previous_leader: str | None = None
        self.rule = ""
        self.emissions: list[Emission] = []
        self.rules: list[str] = []

    def fork(self) -> Work:
        """Return a copy that is changed on its own."""
        other = Work(self.group, self.span, self.request)
        other._blank = self._blank
        other.caller = self.caller
        other.instance = self.instance
        other.deleted = self.deleted
        other.previous_leader = self.previous_leader
        other.rule = self.rule
        other.emissions = list(self.emissions)
        other.rules = list(self.rules)
        return other

    def decided_by(self, rule_id: str) -> None:
        """Note the rule that what follows is done by."""
        self.rule = rule_id
        self.rules.append(rule_id)

    def create(self) -> None:
        """Create the group, Empty, if it did not exist."""
        if self.group is self._blank:
            self.group = Group()

    def forget(self) -> None:
        """Take the group away."""
        self._blank = self.group

    def emit(self, request_id: str, message: Message | None) -> None:
        """Answer a request; None: the protocol doesn't say with what."""
        self.emissions.append(Emission(request_id, message, self.rule))

    def set_timer(self, kind: str, subject: str, ms: int) -> None:
        """Start a timer that fires after so many ms; a negative number means 0."""
        span, ms = self.span, max(ms, 0)
        self.group = self.group.with_timer(kind, subject, span.earliest + ms, span.latest + ms)

    def restart_sessions(self, members: Iterable[Member]) -> None:
        """Restart the session timers of these members."""
        now, until = self.span
        self.group = self.group.with_timers(
            Timer(SESSION, m.member_id, now + ms, until + ms)
            for m in members
            for ms in (max(m.session_timeout_ms, 0),)
        )

    def outcome(self) -> Outcome:
        """Return the outcome; a group that was forgotten, or was never created, doesn't exist."""
        group = None if self.group is self._blank else self.group
        return Outcome(group, tuple(self.emissions), tuple(self.rules))


Effect = Callable[[Work], list[Work] | None]
"""Performs a step on a work; returns several works if it forks, None if it doesn't."""
