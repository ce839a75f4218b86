"""One step in the making: the scratch that a rule's effects are performed on.

Decides how a choice that the protocol leaves open is carried: an effect may fork the work, and all
forks are outcomes.  Outside of a step nothing of this is seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from fencepost.model.messages.shapes import Message
from fencepost.model.state.group import Group


@dataclass(frozen=True, slots=True)
class Incoming:
    """A request as the machine takes it.

    `fresh_id`: the member id that is handed out if the request leads to a new one; the caller of
    the machine owns ids.
    """

    id: str
    client_id: str
    api: str
    version: int
    message: Message
    fresh_id: str


class Span(NamedTuple):
    """When something happens, in ms: somewhere in [earliest, latest]; an instant if they agree."""

    earliest: int
    latest: int


@dataclass(frozen=True, slots=True)
class Emission:
    """An answer of the model: to which request, what, and by which rule.

    `message` None: the protocol doesn't say whether or how the request is answered (a parked join
    that its own member sent anew).
    """

    request_id: str
    message: Message | None
    rule: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """One allowed outcome of a step.

    The group afterwards (None: it is gone), the answers given, and the rules used, in order.
    """

    group: Group | None
    emissions: tuple[Emission, ...]
    rules: tuple[str, ...]


class Work:
    """The group as it is being changed, the answers so far, and who asked.

    `caller`: the member id that the effects speak of; `row`: the instance id that it came with.
    """

    __slots__ = (
        "_blank",
        "caller",
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
        self.previous_leader: str | None = None
        self.rule = ""
        self.emissions: list[Emission] = []
        self.rules: list[str] = []

    def fork(self) -> Work:
        """A copy that goes its own way."""
        other = Work(self.group, self.span, self.request)
        other._blank = self._blank
        other.caller = self.caller
        other.instance = self.instance
        other.previous_leader = self.previous_leader
        other.rule = self.rule
        other.emissions = list(self.emissions)
        other.rules = list(self.rules)
        return other

    def create(self) -> None:
        """A group that did not exist comes to exist, Empty."""
        if self.group is self._blank:
            self.group = Group()

    def emit(self, request_id: str, message: Message | None) -> None:
        """Answer a request."""
        self.emissions.append(Emission(request_id, message, self.rule))

    def set_timer(self, kind: str, subject: str, ms: int) -> None:
        """Start a timer that runs for so long from now; for less than no time: for none."""
        span, ms = self.span, max(ms, 0)
        self.group = self.group.with_timer(kind, subject, span.earliest + ms, span.latest + ms)

    def outcome(self) -> Outcome:
        """What this work came to; a group that did not exist and was not touched still doesn't."""
        group = None if self.group is self._blank else self.group
        return Outcome(group, tuple(self.emissions), tuple(self.rules))


Effect = Callable[[Work], list[Work] | None]
"""How a step is performed on a work; several works if it forks, None if it stays the one."""
