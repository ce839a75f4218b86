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
    SESSION_TIMEOUT,
)
from fencepost.model.coordinator import PARTITIONS
from fencepost.model.revision import Revision
from fencepost.properties.worlds.consumer_client import ACTS, OFFERS, ConsumerClient
from fencepost.properties.worlds.protocol_worlds import SESSION_MS, TICK_MS, Drawing, Seat
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
    that its instance is another's stops for good, as Java's and librdkafka's do.  `apart`: True if
    every second client begins with the last subscription, so that the target of members without a
    topic in common is nobody's choice.  `generations`,
    `zombies`, `uneven`, `leaves_on_close` and `keeps_id` mean nothing here.
    """

    protocol: ClassVar[str] = "consumer"
    known_acts: ClassVar[Mapping[str, str]] = ACTS
    most_offers: ClassVar[int] = len(OFFERS)

    acts: tuple[ActKind, ...] = DEFAULT_ACTS
    partitions: int = 2
    ends_clients: bool = False
    apart: bool = False

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
        return tuple(
            Seat(instance, old if i < self.old else highest)
            for i, instance in enumerate(self.instance_of_each())
        )

    def newcomers(self) -> tuple[Any, ...]:
        """Return the clients at the beginning."""
        return tuple(
            ConsumerClient(
                instance=instance or "", offers=self.offers - 1 if self.apart and i % 2 else 0
            )
            for i, instance in enumerate(self.instance_of_each())
        )

    @property
    def ends_groups(self) -> bool:
        """False: all that a group is was stored, so nothing takes an epoch back."""
        return False

    @property
    def keeps_commit_epochs(self) -> bool:
        """True if the epoch since which a partition is a member's matters: to commits alone."""
        return "commit" in self.acts

    def more_bounds(self) -> dict[str, int | bool]:
        """Return the bounds that only this protocol has, by name."""
        return {
            "partitions": self.partitions,
            "ends_clients": self.ends_clients,
            "apart": self.apart,
        }

    def can_pass(self, group: Any) -> bool:
        """Return True if time may pass; where clients stop for good, for ever."""
        return bool(group.timers) or self.ends_clients

    def allows(self, group: Any) -> bool:
        """Return True if a group is within the bounds."""
        return group is None or len(group.members) <= self.members


CHECK_SCOPES: tuple[NamedScope, ...] = (
    NamedScope(
        "one process",
        "a static member that loses answers, is released, starts again or falls silent",
        ConsumerScope(
            clients=1,
            members=1,
            acts=(
                "join",
                "lost-join",
                "bare-join",
                "heartbeat",
                "acknowledge",
                "lost-heartbeat",
                "release",
                "bare-release",
                "leave",
                "restart",
                "tick",
            ),
        ),
    ),
    NamedScope(
        "rivals",
        "two processes of one instance; an administrator removes the holder",
        ConsumerScope(
            clients=2,
            members=2,
            acts=(
                "join",
                "lost-join",
                "bare-join",
                "acknowledge",
                "release",
                "leave",
                "remove",
                "describe",
                "restart",
                "tick",
            ),
        ),
    ),
    NamedScope(
        "two statics",
        "two static members share partitions, go for a while and return",
        ConsumerScope(
            clients=2,
            instances=2,
            members=2,
            acts=("join", "heartbeat", "acknowledge", "release", "tick"),
        ),
    ),
    NamedScope(
        "lost answers of two",
        "two static members share partitions, and answers to their heartbeats are lost",
        ConsumerScope(
            clients=2,
            instances=2,
            members=2,
            acts=("join", "heartbeat", "acknowledge", "lost-heartbeat", "release"),
        ),
    ),
    NamedScope(
        "one of each",
        "a static and a dynamic member; an administrator looks, and removes the static one",
        ConsumerScope(
            clients=2,
            dynamic=1,
            members=2,
            acts=("join", "acknowledge", "release", "leave", "remove", "describe", "restart"),
        ),
    ),
    NamedScope(
        "changed instances",
        "two static members, one of which brings the instance of the other, or a free one",
        ConsumerScope(
            clients=2,
            instances=2,
            members=2,
            acts=("join", "acknowledge", "swap", "release"),
        ),
    ),
    NamedScope(
        "a first instance",
        "a dynamic member that becomes static, and a static one",
        ConsumerScope(
            clients=2,
            dynamic=1,
            members=2,
            acts=("join", "acknowledge", "swap", "release", "leave"),
        ),
    ),
    NamedScope(
        "failovers",
        "two static members under a coordinator that fails over",
        ConsumerScope(
            clients=2,
            instances=2,
            members=2,
            acts=("join", "acknowledge", "release", "tick", "failover"),
        ),
    ),
    NamedScope(
        "offsets",
        "two processes of one instance that commit",
        ConsumerScope(
            clients=2,
            members=2,
            acts=("join", "acknowledge", "lost-heartbeat", "release", "commit", "restart", "tick"),
        ),
    ),
    NamedScope(
        "offsets of two",
        "a static and a dynamic member that commit and hand partitions on",
        ConsumerScope(
            clients=2, dynamic=1, members=2, acts=("join", "acknowledge", "leave", "commit")
        ),
    ),
    NamedScope(
        "new subscriptions",
        "a static and a dynamic member that change their subscription",
        ConsumerScope(
            clients=2,
            dynamic=1,
            members=2,
            offers=2,
            partitions=1,
            acts=("join", "acknowledge", "change"),
        ),
    ),
    NamedScope(
        "batches",
        "two static members, whose target may be made a tick later",
        ConsumerScope(
            clients=2,
            instances=2,
            members=2,
            delay_ticks=1,
            acts=("join", "acknowledge", "release", "tick"),
        ),
    ),
    NamedScope(
        "a full group",
        "three processes of two instances, and room for one",
        ConsumerScope(
            clients=3,
            instances=2,
            members=2,
            places=1,
            acts=("join", "acknowledge", "release", "leave", "restart", "tick"),
        ),
    ),
    NamedScope(
        "old versions",
        "two processes of one instance, for which the broker makes the member id",
        ConsumerScope(
            clients=2,
            old=2,
            members=2,
            acts=("join", "acknowledge", "release", "leave", "restart", "tick"),
        ),
    ),
)
"""Scopes in which properties are checked (`fencepost check --question`)."""

RARE_SCOPES: tuple[NamedScope, ...] = (
    NamedScope(
        "three processes",
        "two processes of one instance, and one of another",
        ConsumerScope(
            clients=3,
            instances=2,
            members=2,
            acts=("join", "acknowledge", "release", "restart", "tick"),
        ),
    ),
)
"""Scopes that `check` explores only for a row of one's own that decides nothing in the others."""

COVER_SCOPES: tuple[NamedScope, ...] = (
    NamedScope(
        "one process",
        "one process of a static member, with all that can happen to it",
        ConsumerScope(
            clients=1,
            members=1,
            partitions=1,
            acts=(
                "join",
                "lost-join",
                "bare-join",
                "heartbeat",
                "acknowledge",
                "lost-heartbeat",
                "release",
                "bare-release",
                "leave",
                "remove",
                "commit",
                "describe",
                "restart",
                "tick",
            ),
        ),
    ),
    NamedScope(
        "changes",
        "a static member that changes its subscription and loses answers",
        ConsumerScope(
            clients=1,
            members=1,
            offers=2,
            partitions=1,
            acts=(
                "join",
                "bare-join",
                "heartbeat",
                "acknowledge",
                "lost-heartbeat",
                "change",
                "release",
                "commit",
            ),
        ),
    ),
    NamedScope(
        "late changes",
        "a static member that changes its subscription and is late to acknowledge that",
        ConsumerScope(
            clients=1,
            members=1,
            offers=2,
            partitions=1,
            acts=("join", "heartbeat", "acknowledge", "change", "release", "tick"),
        ),
    ),
    NamedScope(
        "rivals",
        "two processes of one static member",
        ConsumerScope(
            clients=2,
            members=2,
            partitions=1,
            acts=(
                "join",
                "lost-join",
                "bare-join",
                "acknowledge",
                "release",
                "leave",
                "remove",
                "commit",
                "restart",
            ),
        ),
    ),
    NamedScope(
        "first instance",
        "a dynamic member that becomes static",
        ConsumerScope(
            clients=1,
            dynamic=1,
            members=1,
            offers=2,
            partitions=1,
            acts=(
                "join",
                "acknowledge",
                "lost-heartbeat",
                "change",
                "swap",
                "release",
                "leave",
                "commit",
                "restart",
            ),
        ),
    ),
    NamedScope(
        "swaps",
        "two static members of different topics that bring the instance of the other",
        ConsumerScope(
            clients=2,
            instances=2,
            members=2,
            offers=3,
            partitions=1,
            apart=True,
            acts=("join", "acknowledge", "swap", "release"),
        ),
    ),
    NamedScope(
        "neighbours",
        "a static and a dynamic member of different topics that go, leave or fall silent",
        ConsumerScope(
            clients=2,
            dynamic=1,
            members=2,
            offers=3,
            partitions=1,
            apart=True,
            acts=("join", "acknowledge", "release", "leave", "tick"),
        ),
    ),
    NamedScope(
        "hand-over",
        "a static and a dynamic member that hand a topic on and commit",
        ConsumerScope(
            clients=2,
            dynamic=1,
            members=2,
            offers=3,
            partitions=1,
            apart=True,
            acts=("join", "heartbeat", "acknowledge", "change", "commit"),
        ),
    ),
    NamedScope(
        "full group",
        "two static members and a dynamic one, and room for two",
        ConsumerScope(
            clients=3,
            instances=2,
            dynamic=1,
            members=3,
            offers=3,
            partitions=1,
            places=2,
            apart=True,
            acts=("join", "acknowledge", "release", "leave"),
        ),
    ),
    NamedScope(
        "old versions",
        "two processes of one static member, for which the broker makes the member id",
        ConsumerScope(
            clients=2,
            old=2,
            members=2,
            partitions=1,
            acts=(
                "join",
                "acknowledge",
                "lost-heartbeat",
                "release",
                "leave",
                "remove",
                "restart",
            ),
        ),
    ),
)
"""The bound `small`, at which the cover suites are made: names and acts are part of case ids.

Most targets of two members with a topic in common are the coordinator's choice, at which a walk
ends; so members are alone, or apart.
"""

PROMISE_SCOPES: tuple[NamedScope, ...] = (
    NamedScope(
        "lost answers",
        "a static member that loses answers, and stops when it is refused",
        ConsumerScope(
            clients=1,
            members=1,
            ends_clients=True,
            fold=False,
            acts=(
                "join",
                "lost-join",
                "heartbeat",
                "acknowledge",
                "lost-heartbeat",
                "remove",
                "restart",
                "tick",
            ),
        ),
    ),
    NamedScope(
        "instances in the end",
        "two static members that change their instance and go for a while",
        ConsumerScope(
            clients=2,
            instances=2,
            members=2,
            partitions=1,
            fold=False,
            acts=("join", "acknowledge", "swap", "release", "tick"),
        ),
    ),
    NamedScope(
        "batches in the end",
        "a static and a dynamic member, whose target may be made a tick later",
        ConsumerScope(
            clients=2,
            dynamic=1,
            members=2,
            delay_ticks=1,
            fold=False,
            acts=("join", "acknowledge", "release", "tick"),
        ),
    ),
)
"""Scopes in which promises are checked: what comes in the end, on unfolded worlds."""

DIFF_SCOPES: tuple[NamedScope, ...] = (
    NamedScope(
        "rivals",
        "two processes of one instance",
        ConsumerScope(
            clients=2,
            members=2,
            acts=("join", "lost-join", "bare-join", "acknowledge", "release", "leave", "restart"),
        ),
        6,
    ),
    NamedScope(
        "instances",
        "two static members, one of which brings the instance of the other, or a free one",
        ConsumerScope(
            clients=2,
            instances=2,
            members=2,
            acts=("join", "acknowledge", "swap", "bare-join", "release", "remove"),
        ),
        5,
    ),
    NamedScope(
        "a first instance",
        "a dynamic member that becomes static, and a static one",
        ConsumerScope(
            clients=2, dynamic=1, members=2, acts=("join", "acknowledge", "swap", "describe")
        ),
        5,
    ),
    NamedScope(
        "time",
        "a static member that loses answers, starts again or falls silent",
        ConsumerScope(
            clients=1,
            members=1,
            acts=("join", "lost-join", "acknowledge", "lost-heartbeat", "release", "tick"),
        ),
        7,
    ),
    NamedScope(
        "a full group",
        "three processes of two instances, and room for one",
        ConsumerScope(
            clients=3,
            instances=2,
            members=2,
            places=1,
            acts=("join", "acknowledge", "release", "restart"),
        ),
        5,
    ),
    NamedScope(
        "offsets",
        "a static and a dynamic member that commit",
        ConsumerScope(
            clients=2, dynamic=1, members=2, acts=("join", "acknowledge", "release", "commit")
        ),
        5,
    ),
    NamedScope(
        "failovers",
        "two static members under a coordinator that fails over",
        ConsumerScope(
            clients=2,
            instances=2,
            members=2,
            acts=("join", "acknowledge", "release", "describe", "failover"),
        ),
        5,
    ),
)
"""Scopes in which revisions are compared by default."""

_DRAWN_ACTS: tuple[ActKind, ...] = (
    "join",
    "acknowledge",
    "tick",
    "heartbeat",
    "restart",
    "leave",
    "release",
    "commit",
    "change",
    "lost-join",
    "lost-heartbeat",
    "remove",
    "failover",
    "bare-join",
    "swap",
    "bare-release",
    "describe",
)
_WIDE: dict[str, Any] = {"acts": _DRAWN_ACTS, "offers": 2, "partitions": 1}
DRAWING = Drawing(
    kinds=_DRAWN_ACTS,
    often={"join": 4, "acknowledge": 4, "tick": 2},
    steady=frozenset({"join", "acknowledge", "tick", "heartbeat"}),
    scopes=(
        ConsumerScope(clients=2, members=3, **_WIDE),
        ConsumerScope(clients=3, instances=2, members=3, **_WIDE),
        ConsumerScope(clients=4, instances=2, dynamic=1, members=4, places=2, **_WIDE),
        ConsumerScope(clients=3, dynamic=1, members=3, old=1, delay_ticks=1, **_WIDE),
    ),
)
"""The acts and scopes of random walks."""
