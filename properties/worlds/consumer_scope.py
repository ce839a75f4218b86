"""Define the scopes of the consumer protocol: its bounds, and all named scopes.

Small worlds, each about something else, as those of `fencepost.properties.worlds.scope`.  The
target of a group is any legal one, so two partitions and two members have four of them; with a
second topic, nine at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fencepost.model.consumer.settings import (
    ASSIGNMENT_INTERVAL,
    HEARTBEAT_INTERVAL,
    MAX_SIZE,
    PARTITIONS,
    SESSION_TIMEOUT,
)
from fencepost.model.revision import Revision
from fencepost.properties.worlds.consumer_client import ACTS, OFFERS, ConsumerClient
from fencepost.properties.worlds.protocol_worlds import SESSION_MS, TICK_MS, Seat
from fencepost.properties.worlds.scope import INSTANCES, ActKind, NamedScope, Scope, ScopeError

DEFAULT_ACTS: tuple[ActKind, ...] = (
    "join",
    "heartbeat",
    "acknowledge",
    "release",
    "leave",
    "restart",
    "tick",
)
_OLD_VERSION = 0
"""The last version of ConsumerGroupHeartbeat in which the broker may make a member id."""


@dataclass(frozen=True, slots=True)
class ConsumerScope(Scope):
    """The bounds of an exploration of the consumer protocol.

    As `Scope`, and: `partitions`: of each topic.  `delay_ticks`:
    group.consumer.assignment.interval.ms in ticks.  `places`: group.consumer.max.size.  `old`:
    clients for which the broker makes the member id.  `ends_clients`: True if a client that hears
    that its instance is another's stops for good, as Java's and librdkafka's do.  `generations`,
    `zombies`, `uneven`, `leaves_on_close` and `keeps_id` mean nothing here.
    """

    protocol: ClassVar[str] = "consumer"
    known_acts: ClassVar[Mapping[str, str]] = ACTS
    most_offers: ClassVar[int] = len(OFFERS)

    acts: tuple[ActKind, ...] = DEFAULT_ACTS
    partitions: int = 2
    ends_clients: bool = False

    def __post_init__(self) -> None:
        """Check the bounds; raises ScopeError."""
        Scope.__post_init__(self)
        if self.partitions < 1:
            raise ScopeError(f"{self.partitions} partitions; a topic has one at least")

    @property
    def instance_ids(self) -> tuple[str, ...]:
        """The instance ids, among which the act `swap` goes."""
        return tuple(INSTANCES[: self.instances])

    def config(self) -> dict[str, int | None]:
        """Return the coordinator's settings that it stands for."""
        return {
            SESSION_TIMEOUT: SESSION_MS,
            HEARTBEAT_INTERVAL: TICK_MS,
            ASSIGNMENT_INTERVAL: self.delay_ticks * TICK_MS,
            MAX_SIZE: self.places,
            PARTITIONS: self.partitions,
        }

    def seats(self, revision: Revision) -> tuple[Seat, ...]:
        """Return the clients; each speaks the highest versions that the revision knows."""
        highest = {api: high for api, (_, high) in revision.apis.items()}
        old = {**highest, "ConsumerGroupHeartbeat": _OLD_VERSION}
        static = self.clients - self.dynamic
        return tuple(
            Seat(
                INSTANCES[i % self.instances] if i < static else None,
                old if i < self.old else highest,
            )
            for i in range(self.clients)
        )

    def newcomers(self) -> tuple[Any, ...]:
        """Return the clients at the beginning."""
        static = self.clients - self.dynamic
        return tuple(
            ConsumerClient(instance=INSTANCES[i % self.instances] if i < static else "")
            for i in range(self.clients)
        )

    @property
    def ends_groups(self) -> bool:
        """False: all that a group is was stored, so nothing takes an epoch back."""
        return False

    @property
    def keeps_commit_epochs(self) -> bool:
        """True if the epoch since which a partition is a member's matters: to commits alone."""
        return "commit" in self.acts

    def allows(self, group: Any) -> bool:
        """Return True if a group is within the bounds."""
        return group is None or len(group.members) <= self.members


_ALIVE: tuple[ActKind, ...] = ("join", "acknowledge", "tick")
CHECK_SCOPES: tuple[NamedScope, ...] = ()
RARE_SCOPES: tuple[NamedScope, ...] = ()
PROMISE_SCOPES: tuple[NamedScope, ...] = ()
DIFF_SCOPES: tuple[NamedScope, ...] = ()
