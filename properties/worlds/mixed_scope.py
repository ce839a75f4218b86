"""Define the scopes of mixed groups: their bounds, and all named scopes.

A classic group of one or two static members is upgraded, loses its last member of the consumer
protocol, and so on.  Each scope has two clients, one or two instances and two partitions: with
three clients a scope has more worlds than `check` may take.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fencepost.model.coordinator import MIGRATION_POLICY, NAMED_VALUES
from fencepost.model.plans.plan_order import DELAY
from fencepost.properties.worlds.consumer_scope import ConsumerScope
from fencepost.properties.worlds.mixed_client import ACTS, MixedClient
from fencepost.properties.worlds.protocol_worlds import Drawing
from fencepost.properties.worlds.scope import ActKind, NamedScope, ScopeError

DEFAULT_ACTS: tuple[ActKind, ...] = (
    "join",
    "sync",
    "heartbeat",
    "acknowledge",
    "release",
    "leave",
    "switch",
    "tick",
)
_POLICIES = NAMED_VALUES[MIGRATION_POLICY]


@dataclass(frozen=True, slots=True)
class MixedScope(ConsumerScope):
    """The bounds of an exploration of mixed groups.

    As `ConsumerScope`, and: `classic`: number of clients that begin with the classic protocol, the
    first ones.  `policy`: the migration policy.
    """

    protocol: ClassVar[str] = "mixed"
    known_acts: ClassVar[Mapping[str, str]] = ACTS
    most_offers: ClassVar[int] = 1

    acts: tuple[ActKind, ...] = DEFAULT_ACTS
    classic: int = 1
    policy: str = "bidirectional"

    def __post_init__(self) -> None:
        """Check the bounds; raises ScopeError."""
        ConsumerScope.__post_init__(self)
        static = self.clients - self.dynamic
        if not 0 <= self.classic <= static:
            raise ScopeError(
                f"{self.classic} classic clients of {static} static ones; give 0 to {static}"
            )
        if self.policy not in _POLICIES:
            raise ScopeError(f"no policy {self.policy!r}; there are {', '.join(_POLICIES)}")

    def config(self) -> dict[str, int | None]:
        """Return the coordinator's settings that it stands for."""
        policy = {MIGRATION_POLICY: _POLICIES.index(self.policy), DELAY: 0}
        return {**ConsumerScope.config(self), **policy}

    def newcomers(self) -> tuple[Any, ...]:
        """Return the clients at the beginning."""
        return tuple(
            MixedClient(instance=instance or "", is_classic=place < self.classic)
            for place, instance in enumerate(self.instance_of_each())
        )

    def more_bounds(self) -> dict[str, int | bool]:
        """Return the bounds that only this protocol has, by name."""
        return {**ConsumerScope.more_bounds(self), "classic": self.classic}


CHECK_SCOPES: tuple[NamedScope, ...] = (
    NamedScope(
        "a process changes its protocol",
        "one static member that goes to the other protocol and back, and falls silent",
        MixedScope(
            clients=1,
            members=1,
            acts=(
                "join",
                "sync",
                "heartbeat",
                "acknowledge",
                "release",
                "leave",
                "convert",
                "cross-join",
                "switch",
                "tick",
            ),
        ),
    ),
    NamedScope(
        "rivals of two protocols",
        "a classic process and one of the consumer protocol with one instance",
        MixedScope(
            clients=2,
            members=2,
            acts=(
                "join",
                "sync",
                "heartbeat",
                "acknowledge",
                "release",
                "leave",
                "remove",
                "convert",
                "switch",
                "tick",
            ),
        ),
    ),
    NamedScope(
        "an upgrade beside another",
        "a static classic member beside one of the consumer protocol; both share partitions",
        MixedScope(
            clients=2,
            instances=2,
            members=2,
            acts=("join", "keep-join", "sync", "heartbeat", "acknowledge", "leave"),
        ),
    ),
    NamedScope(
        "a roll",
        "two static members that go to the other protocol and back, one after the other",
        MixedScope(
            clients=2,
            instances=2,
            members=2,
            classic=2,
            acts=("join", "sync", "acknowledge", "release", "switch"),
        ),
    ),
    NamedScope(
        "calls that nobody follows",
        "a classic member that is called and silent, beside one of the consumer protocol",
        MixedScope(
            clients=2,
            instances=2,
            members=2,
            acts=("join", "sync", "heartbeat", "acknowledge", "leave", "tick"),
        ),
    ),
    NamedScope(
        "members that change their protocol",
        "a classic member beside one of the consumer protocol; each goes to the other under its id",
        MixedScope(
            clients=2,
            instances=2,
            members=2,
            acts=("join", "keep-join", "sync", "heartbeat", "acknowledge", "convert", "cross-join"),
        ),
    ),
)
"""Scopes in which properties are checked (`fencepost check --question`)."""

PROMISE_SCOPES: tuple[NamedScope, ...] = (
    NamedScope(
        "owners in the end",
        "a classic member beside one of the consumer protocol, which goes, without downgrades",
        MixedScope(
            clients=2,
            instances=2,
            members=2,
            policy="upgrade",
            fold=False,
            acts=("join", "sync", "heartbeat", "acknowledge", "release", "tick"),
        ),
    ),
)
"""Scopes in which promises are checked: what comes in the end, on unfolded worlds."""

DIFF_SCOPES: tuple[NamedScope, ...] = (
    NamedScope(
        "a process changes its protocol",
        "one static member that goes to the other protocol and back, and falls silent",
        CHECK_SCOPES[0].scope,
        7,
    ),
    NamedScope(
        "an upgrade beside another",
        "a static classic member beside one of the consumer protocol; both share partitions",
        CHECK_SCOPES[2].scope,
        6,
    ),
    NamedScope(
        "a roll",
        "two static members that go to the other protocol and back, one after the other",
        CHECK_SCOPES[3].scope,
        6,
    ),
)
"""Scopes in which revisions are compared by default."""

_DRAWN_ACTS: tuple[ActKind, ...] = (
    "join",
    "sync",
    "acknowledge",
    "tick",
    "heartbeat",
    "keep-join",
    "switch",
    "leave",
    "release",
    "restart",
    "convert",
    "cross-join",
    "lost-heartbeat",
    "remove",
)
_WIDE: dict[str, Any] = {"acts": _DRAWN_ACTS}
DRAWING = Drawing(
    kinds=_DRAWN_ACTS,
    often={"join": 4, "sync": 4, "acknowledge": 4, "tick": 2},
    steady=frozenset({"join", "sync", "acknowledge", "tick", "heartbeat"}),
    scopes=(
        MixedScope(clients=2, instances=2, members=2, **_WIDE),
        MixedScope(clients=3, instances=2, classic=2, members=3, **_WIDE),
    ),
)
"""The acts and scopes of random walks."""
