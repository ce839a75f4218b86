"""Define the views that properties are evaluated on: a world, and a step of a group.

A view holds events and state, and nothing that one engine alone knows, so exploration, Hypothesis
and a recorded trace have equal views.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fencepost.model.classic.effects import Do as ClassicDo
from fencepost.model.consumer.effects import Do as ConsumerDo
from fencepost.model.messages.messages import LeavingMember
from fencepost.model.messages.shapes import Message
from fencepost.model.table.table import Rule
from fencepost.model.work import Emission, Incoming, Timer
from fencepost.properties.worlds.protocol_worlds import Seat


@dataclass(frozen=True, slots=True)
class Failover:
    """Another coordinator took over."""


Event = Incoming | Timer | Failover
"""An event of a group: a request, a timer that reached its deadline, a failover."""


@dataclass(frozen=True, slots=True, eq=False)
class WorldView:
    """A group and its clients at one moment: who they are, and what they know.

    Parked requests are named as in `fencepost.properties.worlds.canonical`.  `group`: None if there
    is no group.  `clients`: their knowledge.  `seats`: their identities.  `fails_over`: True if the
    coordinator may have failed over; a generation that was never stored is then used again.
    `places`: the largest size of a group, None if there is no bound.  `partitions`: of each topic.
    """

    group: Any
    clients: tuple[Any, ...]
    seats: tuple[Seat, ...]
    fails_over: bool = False
    places: int | None = None
    partitions: int = 1


@dataclass(frozen=True, eq=False)
class StepView:
    """One step of one group.

    A group that is None doesn't exist.  Deadlines count from `now_ms`.

    `before`: the group before the step.  `event`: the request, timer or failover.  `after`: the
    group after it.  `emissions`: the answers.  `rules`: in the order of their use; the first one
    decided the event, later ones the join phase or the rows of a leave.  `keeps_stored`: True if
    the groups have their stored state.
    """

    before: Any
    event: Event
    after: Any
    emissions: tuple[Emission, ...]
    rules: tuple[Rule, ...]
    keeps_stored: bool = True

    @property
    def now_ms(self) -> int:
        """Time of the event on the clock of the deadlines: 0 for a request, that of a timer."""
        return self.event.earliest if isinstance(self.event, Timer) else 0

    @cached_property
    def answered(self) -> tuple[tuple[str, Message], ...]:
        """Id of each answered request, with its answer; cached for the many properties."""
        return tuple([(e.request_id, e.message) for e in self.emissions if e.message is not None])

    @cached_property
    def own_answer(self) -> Message | None:
        """Answer to the step's own request; None if it waits or there is no request."""
        event = self.event
        if not isinstance(event, Incoming):
            return None
        return next((message for request, message in self.answered if request == event.id), None)

    @cached_property
    def versions(self) -> dict[str, int]:
        """Version of each request that may be answered in this step, by its id."""
        versions = {
            parked.request_id: parked.version
            for member in (() if self.before is None else self.before.members)
            for parked in (member.joining, member.syncing)
            if parked is not None
        }
        if isinstance(self.event, Incoming):
            versions[self.event.id] = self.event.version
        return versions

    def names(self) -> tuple[tuple[str, str | None], ...]:
        """Return the (member id, instance id) pairs of a request; none for another event."""
        if not isinstance(self.event, Incoming):
            return ()
        message = self.event.message
        rows = getattr(message, "rows", None)
        if rows is not None:
            leaving: tuple[LeavingMember, ...] = rows(self.event.version)
            return tuple((row.member_id, row.group_instance_id) for row in leaving)
        member_id = getattr(message, "member_id", None)
        if member_id is None:
            return ()
        return ((member_id, getattr(message, "group_instance_id", None)),)


def answers_rows(rule: Rule) -> bool:
    """Return True if a rule passes on the rows of a leave, in either protocol."""
    return bool({ClassicDo.ANSWER_ROWS, ConsumerDo.ANSWER_ROWS} & set(rule.effect))
