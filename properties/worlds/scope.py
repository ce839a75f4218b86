"""A scope: how much is explored, by clients, instances, members and kinds of acts.

What is not bounded here is not bounded at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fencepost.model.classic.group import Group
from fencepost.model.messages.draft_messages import MEMBER_NAME, TUPLE_LIST, TWO_LIST
from fencepost.model.revision import Revision
from fencepost.properties.worlds.adversarial_actions import ODD_ACTS
from fencepost.properties.worlds.world_client import OFFERS, TICK_MS, Client, Seat

ActKind = Literal[
    "join",
    "change",
    "stranger",
    "sync",
    "heartbeat",
    "commit",
    "leave",
    "remove",
    "drop",
    "restart",
    "tick",
    "failover",
    "pose",
    "claim",
    "overlong",
    "mislead",
    "assign",
    "batch",
    "save",
    "fetch",
    "describe",
    "list",
    "quit",
]
ACTS: dict[ActKind, str] = {
    "join": "JoinGroup under the id that the client knows",
    "change": "the same with another subscription",
    "stranger": "JoinGroup under an id that was never handed out",
    "sync": "SyncGroup in the generation that the client was told",
    "heartbeat": "Heartbeat",
    "commit": "OffsetCommit",
    "leave": "LeaveGroup of itself",
    "remove": "LeaveGroup of whoever holds the client's instance, without a member id",
    "drop": "the connection is lost and the request that waits with it; the id is kept",
    "restart": "the process ends and a new one that knows nothing takes its place",
    "tick": "time passes",
    "failover": "another coordinator takes over with what was stored",
}
DEFAULT_ACTS: tuple[ActKind, ...] = (
    "join",
    "sync",
    "heartbeat",
    "leave",
    "restart",
    "tick",
)
_OLD_JOIN = {True: 5, False: 3}  # before skipAssignment; before MEMBER_ID_REQUIRED
_INSTANCES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DRAFTS = (MEMBER_NAME, TWO_LIST, TUPLE_LIST)


class ScopeError(ValueError):
    """A scope that makes no sense; `str()` names the value and the remedy."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The bounds of an exploration.

    `clients` in all, the last `dynamic` of them without an instance, the others sharing `instances`
    in turn; the first `old` of them speak old versions.  The last `zombies` of the static ones were
    members once and still have an id that nobody knows any more.  `members`: members and pending
    ids at once at most.  `offers`: how many subscriptions a client may change between.
    `delay_ticks`: group.initial.rebalance.delay.ms in ticks.  `generations`: the highest, where a
    failover can bring an earlier one back (otherwise unbounded).  `uneven`: every second client has
    timeouts twice as long.  `places`: group.max.size.  `acts`: what happens, also those of
    `fencepost.properties.worlds.adversarial_actions`.  `fold`: see
    `fencepost.properties.worlds.world`.
    """

    clients: int = 2
    instances: int = 1
    dynamic: int = 0
    old: int = 0
    zombies: int = 0
    members: int = 3
    offers: int = 1
    delay_ticks: int = 0
    generations: int = 3
    uneven: bool = False
    places: int | None = None
    acts: tuple[ActKind, ...] = DEFAULT_ACTS
    fold: bool = True

    def __post_init__(self) -> None:
        """Raises ScopeError."""
        if self.clients < 1:
            raise ScopeError(f"{self.clients} clients; there must be one at least")
        if not 0 <= self.dynamic <= self.clients:
            raise ScopeError(f"{self.dynamic} of {self.clients} clients can't be dynamic")
        if not 0 <= self.old <= self.clients:
            raise ScopeError(f"{self.old} of {self.clients} clients can't be old")
        static = self.clients - self.dynamic
        if not 0 <= self.zombies <= static:
            raise ScopeError(f"{self.zombies} of {static} static clients can't be zombies")
        if static and not 1 <= self.instances <= min(static, len(_INSTANCES)):
            raise ScopeError(
                f"{self.instances} instances for {static} static clients; "
                f"give 1 to {min(static, len(_INSTANCES))}"
            )
        if self.members < 1:
            raise ScopeError(f"{self.members} members at most; there must be room for one")
        if not 1 <= self.offers <= len(OFFERS):
            raise ScopeError(f"{self.offers} subscriptions; there are 1 to {len(OFFERS)}")
        if "change" in self.acts and self.offers < 2:
            raise ScopeError("the act `change` needs two subscriptions at least")
        if unknown := [act for act in self.acts if act not in ACTS and act not in ODD_ACTS]:
            raise ScopeError(f"no act {unknown[0]!r}; there are {', '.join((*ACTS, *ODD_ACTS))}")

    def seats(self, revision: Revision) -> tuple[Seat, ...]:
        """Return who the clients are; each speaks the highest versions that the revision knows."""
        static = self.clients - self.dynamic
        instances = [_INSTANCES[i % self.instances] for i in range(static)]
        kinds: list[str | None] = [*instances, *([None] * self.dynamic)]
        return tuple(
            _seat(revision, kind, old=i < self.old, patience=2 if self.uneven and i % 2 else 1)
            for i, kind in enumerate(kinds)
        )

    def config(self) -> dict[str, int | None]:
        """Return the coordinator's settings that it stands for."""
        config: dict[str, int | None] = {
            "group.initial.rebalance.delay.ms": self.delay_ticks * TICK_MS
        }
        return config if self.places is None else config | {"group.max.size": self.places}

    def newcomers(self) -> tuple[Client, ...]:
        """Return what the clients know at the beginning."""
        static = self.clients - self.dynamic
        zombies = range(static - self.zombies, static)
        return tuple(
            Client(member_id=f"other.{i - zombies.start + 1}", generation=0)
            if i in zombies
            else Client()
            for i in range(self.clients)
        )

    @property
    def fails_over(self) -> bool:
        """Whether the coordinator may fail over: then generations may come back."""
        return "failover" in self.acts

    def allows(self, group: Group | None) -> bool:
        """Return whether a group is within the bounds."""
        if group is None:
            return True
        if self.fails_over and group.generation_id > self.generations:
            return False
        return len(group.members) + len(group.pending) <= self.members


def _seat(revision: Revision, instance: str | None, *, old: bool, patience: int) -> Seat:
    highest = {api: high for api, (_, high) in revision.apis.items()}
    versions = {
        api: version
        for api, version in highest.items()
        if api not in _DRAFTS or (api != MEMBER_NAME or instance is not None)
    }
    if old:
        versions["JoinGroup"] = min(versions["JoinGroup"], _OLD_JOIN[instance is not None])
    return Seat(instance, versions, patience)
