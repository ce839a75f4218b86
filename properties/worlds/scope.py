"""Define scopes: the bounds of an exploration, and all named scopes.

A scope bounds clients, instances, members and kinds of acts; nothing else is bounded.

Named scopes are small worlds, each with its purpose and its users.  One scope with everything is
too much even for two clients: a static and a dynamic member with all acts have fifty thousand
transitions, which take two hundred thousand steps to walk.  So each use has a list of small scopes,
each about something else; together they are explored in seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from fencepost.model.messages.draft_messages import MEMBER_NAME, TUPLE_LIST, TWO_LIST
from fencepost.model.revision import Revision
from fencepost.model.suggestions import did_you_mean
from fencepost.properties.worlds.protocol_worlds import TICK_MS, Seat
from fencepost.properties.worlds.world_client import ODD_ACTS, OFFERS, Client

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
    "transact",
    "produce",
    "delete",
    "erase",
    "fetch",
    "describe",
    "list",
    "quit",
    "acknowledge",
    "lost-join",
    "lost-heartbeat",
    "release",
    "swap",
    "bare-join",
    "bare-release",
    "keep-join",
    "convert",
    "cross-join",
    "switch",
]
"""The kinds of acts in the scopes of all protocols; a protocol has some of them."""
ACTS: dict[ActKind, str] = {
    "join": "JoinGroup under the id that the client knows",
    "change": "JoinGroup with another subscription",
    "stranger": "JoinGroup under an id that was never handed out",
    "sync": "SyncGroup in the generation that the client knows",
    "heartbeat": "Heartbeat",
    "commit": "OffsetCommit",
    "leave": "LeaveGroup of itself",
    "remove": "LeaveGroup for the client's instance, without a member id",
    "drop": "the client loses its connection with the parked request, and keeps its id",
    "restart": "the process ends, and a new one without any state replaces it",
    "tick": "time passes",
    "failover": "another coordinator takes over with the stored state",
}
ALL_ACTS: Mapping[str, str] = dict(
    (*ACTS.items(), *((k, odd.about) for k, odd in ODD_ACTS.items()))
)
"""All acts that a scope can have, each in words."""
DEFAULT_ACTS: tuple[ActKind, ...] = (
    "join",
    "sync",
    "heartbeat",
    "leave",
    "restart",
    "tick",
)
_OLD_JOIN = {True: 5, False: 3}  # before skipAssignment; before MEMBER_ID_REQUIRED
INSTANCES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DRAFTS = (MEMBER_NAME, TWO_LIST, TUPLE_LIST)


class ScopeError(ValueError):
    """A scope that makes no sense; `str()` names the value and the remedy."""


_ENDINGS = frozenset({"failover", "delete", "erase"})
"""Acts that may end a group; the next one of its name begins with the first generation."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The bounds of an exploration.

    `clients`: number of clients.  `instances`: number of instance ids; the static clients share
    them in turn.  `dynamic`: number of dynamic clients, the last ones.  `old`: number of clients
    that speak old versions, the first ones.  `zombies`: number of static clients, the last ones,
    that start with a member id which the group no longer knows.  `members`: maximum of members and
    pending ids at once.  `offers`: number of subscriptions that the act `change` goes through, 1 to
    3.  `delay_ticks`: group.initial.rebalance.delay.ms in ticks.  `generations`: the highest
    generation, where a failover or a deletion can bring an earlier one back (otherwise unbounded).
    `uneven`: True if every second client has timeouts twice as long.  `places`: group.max.size.
    `acts`: the acts that may happen.  `fold`: see `fencepost.properties.worlds.world`.
    `leaves_on_close`: True if a process leaves the group before it ends by `restart`; else it may
    die at any time.  `keeps_id`: True if a client that left joins again under its old id first.
    """

    protocol: ClassVar[str] = "classic"
    known_acts: ClassVar[Mapping[str, str]] = ALL_ACTS
    most_offers: ClassVar[int] = len(OFFERS)

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
    leaves_on_close: bool = False
    keeps_id: bool = True

    def __post_init__(self) -> None:
        """Check the bounds; raises ScopeError."""
        if self.clients < 1:
            raise ScopeError(f"{self.clients} clients; there must be one at least")
        if not 0 <= self.dynamic <= self.clients:
            raise ScopeError(f"{self.dynamic} of {self.clients} clients can't be dynamic")
        if not 0 <= self.old <= self.clients:
            raise ScopeError(f"{self.old} of {self.clients} clients can't be old")
        static = self.clients - self.dynamic
        if not 0 <= self.zombies <= static:
            raise ScopeError(f"{self.zombies} of {static} static clients can't be zombies")
        if static and not 1 <= self.instances <= min(static, len(INSTANCES)):
            raise ScopeError(
                f"{self.instances} instances for {static} static clients; "
                f"give 1 to {min(static, len(INSTANCES))}"
            )
        if self.members < 1:
            raise ScopeError(f"{self.members} members at most; there must be room for one")
        if not 1 <= self.offers <= self.most_offers:
            raise ScopeError(f"{self.offers} subscriptions; there are 1 to {self.most_offers}")
        if "change" in self.acts and self.offers < 2:
            raise ScopeError("the act `change` needs two subscriptions at least")
        if isinstance(self.acts, str):  # type: ignore[unreachable]  # a file has no types
            raise ScopeError(f"acts are {self.acts!r}; give a tuple, also of one: ({self.acts!r},)")
        for act in self.acts:
            if act not in self.known_acts:
                near = did_you_mean(str(act), self.known_acts)
                raise ScopeError(f"no act {act!r}{near}; there are {', '.join(self.known_acts)}")

    def seats(self, revision: Revision) -> tuple[Seat, ...]:
        """Return the clients; each speaks the highest versions that the revision knows."""
        return tuple(
            _seat(revision, instance, old=i < self.old, patience=2 if self.uneven and i % 2 else 1)
            for i, instance in enumerate(self.instance_of_each())
        )

    def instance_of_each(self) -> tuple[str | None, ...]:
        """Return the instance id of each client; None: it is dynamic."""
        static = self.clients - self.dynamic
        return (*(INSTANCES[i % self.instances] for i in range(static)), *[None] * self.dynamic)

    def config(self) -> dict[str, int | None]:
        """Return the coordinator's settings that it stands for."""
        config: dict[str, int | None] = {
            "group.initial.rebalance.delay.ms": self.delay_ticks * TICK_MS
        }
        return config if self.places is None else config | {"group.max.size": self.places}

    def newcomers(self) -> tuple[Any, ...]:
        """Return the clients at the beginning."""
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
        """True if the coordinator may fail over."""
        return "failover" in self.acts

    @property
    def ends_groups(self) -> bool:
        """True if a failover or a deletion may end a group: then generations may come back."""
        return not _ENDINGS.isdisjoint(self.acts)

    def more_bounds(self) -> dict[str, int | bool]:
        """Return the bounds that only this protocol has, by name."""
        return {}

    def can_pass(self, group: Any) -> bool:
        """Return True if time may pass for a group that exists: something depends on it."""
        return bool(group.timers)

    def allows(self, group: Any) -> bool:
        """Return True if a group is within the bounds."""
        if group is None:
            return True
        if self.ends_groups and group.generation_id > self.generations:
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


@dataclass(frozen=True, slots=True)
class NamedScope:
    """A scope with a name: a world of `check`.

    `name`: its name for `--question`.  `about`: its clients and their acts.  `scope`: its bounds.
    `max_depth`: maximum of steps to explore; None: no limit.

    `WORLDS`, a tuple of them in the file of a revision, adds worlds to `check`.
    """

    name: str
    about: str
    scope: Scope
    max_depth: int | None = None


# For figures, which are only worth something at a bound that is named (`bench worlds --bound`).
BOUNDS: dict[str, NamedScope] = {
    bound.name: bound
    for bound in (
        NamedScope(
            "quick",
            "a static and a dynamic member, with all that is done by default",
            Scope(clients=2, dynamic=1, members=2),
        ),
        NamedScope(
            "medium",
            "two processes of one instance and a dynamic one, any two of them in the group",
            Scope(clients=3, dynamic=1, members=2),
        ),
        NamedScope(
            "million",
            "two processes of one instance, one of another and a dynamic one; any two in the group",
            Scope(
                clients=4,
                instances=2,
                dynamic=1,
                members=2,
                acts=("join", "sync", "heartbeat", "restart", "tick"),
            ),
        ),
    )
}
MILLION_STATES = 2_989_963
"""Number of distinct worlds of kafka-4 at the bound `million`."""

_SHARED_SCOPES: tuple[NamedScope, ...] = (
    NamedScope(
        "zombie",
        "an old process returns under its old member id, next to its successor",
        Scope(
            clients=2, zombies=1, members=2, acts=("join", "sync", "heartbeat", "commit", "tick")
        ),
    ),
    NamedScope(
        "two processes",
        "two processes have one instance id, restart and leave",
        Scope(
            clients=2,
            members=2,
            acts=("join", "sync", "heartbeat", "leave", "remove", "drop", "restart", "tick"),
        ),
    ),
    NamedScope(
        "two instances",
        "two static members that change their subscriptions",
        Scope(
            clients=2,
            instances=2,
            members=2,
            offers=2,
            acts=("join", "change", "sync", "heartbeat", "restart", "tick"),
        ),
    ),
    NamedScope(
        "side by side",
        "a static and a dynamic member",
        Scope(
            clients=2,
            dynamic=1,
            members=2,
            acts=("join", "sync", "heartbeat", "commit", "leave", "restart", "tick"),
        ),
    ),
    NamedScope(
        "failover",
        "the coordinator fails over under two processes of one instance",
        Scope(
            clients=2,
            members=2,
            generations=3,
            acts=("join", "sync", "heartbeat", "commit", "restart", "tick", "failover"),
        ),
    ),
    NamedScope(
        "operators",
        "an operator reads, sets and deletes offsets of the group",
        Scope(
            clients=1,
            members=1,
            generations=2,
            acts=(
                "join",
                "sync",
                "commit",
                "save",
                "fetch",
                "describe",
                "list",
                "leave",
                "erase",
                "failover",
            ),
        ),
    ),
    NamedScope(
        "bad manners",
        "a dynamic and a static member that send wrong requests",
        Scope(
            clients=2,
            dynamic=1,
            members=2,
            acts=("join", "sync", "mislead", "assign", "batch", "overlong", "tick"),
        ),
    ),
    NamedScope(
        "no room",
        "two static members, and room for one",
        Scope(clients=2, instances=2, members=2, places=1, acts=("join", "sync", "leave", "tick")),
    ),
    NamedScope(
        "borrowed instances",
        "a dynamic member names a free instance",
        Scope(clients=1, dynamic=1, members=2, acts=("join", "pose", "claim", "sync", "tick")),
    ),
)

CHECK_SCOPES: tuple[NamedScope, ...] = (
    *_SHARED_SCOPES,
    NamedScope(
        "nameless leave",
        "two processes of one instance leave by their member ids alone, without the instance",
        Scope(clients=2, members=2, acts=("join", "sync", "heartbeat", "quit", "restart", "tick")),
    ),
    NamedScope(
        "removal",
        "an operator removes one of two static members",
        Scope(clients=2, instances=2, members=2, acts=("join", "sync", "heartbeat", "remove")),
    ),
    NamedScope(
        "transactions",
        "two processes of one instance commit in transactions, and an operator deletes",
        Scope(
            clients=2,
            members=2,
            acts=("join", "sync", "transact", "leave", "restart", "delete", "erase"),
        ),
    ),
)
"""Scopes in which properties are checked (`fencepost check --question`)."""

# Where promises are put to the test: what comes in the end, on unfolded worlds.
PROMISE_SCOPES: tuple[NamedScope, ...] = (
    NamedScope("one instance twice", "two processes", Scope(clients=2, members=2, fold=False)),
    NamedScope(
        "static beside dynamic",
        "a static and a dynamic member",
        Scope(clients=2, dynamic=1, members=2, fold=False),
    ),
    NamedScope(
        "two instances",
        "two static members",
        Scope(clients=2, instances=2, members=2, fold=False),
    ),
    NamedScope(
        "changed subscriptions",
        "a static and a dynamic member that change what they subscribe to",
        Scope(
            clients=2,
            dynamic=1,
            members=2,
            offers=2,
            acts=("join", "change", "sync", "heartbeat", "tick"),
            fold=False,
        ),
    ),
)

# The bound `small`, at which the cover suites are made: names and acts are part of case ids.
_ALONE: tuple[ActKind, ...] = (
    "join",
    "stranger",
    "sync",
    "heartbeat",
    "commit",
    "leave",
    "drop",
    "restart",
    "tick",
)

COVER_SCOPES: tuple[NamedScope, ...] = (
    NamedScope(
        "zombies",
        "two processes of one static member, with all that can happen to them",
        Scope(clients=2, members=2, acts=(*_ALONE, "remove")),
    ),
    NamedScope(
        "loner",
        "a dynamic member and what it leaves behind, with all that can happen to it",
        Scope(clients=1, dynamic=1, members=2, acts=_ALONE),
    ),
    NamedScope(
        "neighbours",
        "a static and a dynamic member that start again",
        Scope(clients=2, dynamic=1, members=2, acts=("join", "sync", "heartbeat", "restart")),
    ),
    NamedScope(
        "veterans",
        "like it, in versions before MEMBER_ID_REQUIRED and skipAssignment",
        Scope(clients=2, dynamic=1, members=2, old=2, acts=("join", "sync", "restart")),
    ),
    NamedScope(
        "trio",
        "two processes of one static member, and a dynamic one",
        Scope(clients=3, dynamic=1, members=2, acts=("join", "sync", "heartbeat")),
    ),
    NamedScope(
        "subscribers",
        "a static and a dynamic member that change what they offer",
        Scope(clients=2, dynamic=1, members=2, offers=3, acts=("join", "change", "sync")),
    ),
    NamedScope(
        "leavers",
        "a static and a dynamic member that leave or fall silent",
        Scope(clients=2, dynamic=1, members=2, acts=("join", "sync", "leave", "tick")),
    ),
    NamedScope(
        "absentees",
        "a static and a dynamic member that stay alive without joining again",
        Scope(clients=2, dynamic=1, members=2, acts=("join", "heartbeat", "tick")),
    ),
)

# How far revisions are compared where nobody says otherwise.  A difference shows in a small world
# or, nearly always, in none; which one, differs by rule.
_OFTEN: tuple[ActKind, ...] = ("join", "sync", "leave")
_MUCH: tuple[ActKind, ...] = (*_OFTEN, "restart", "change", "stranger", "remove")
DIFF_SCOPES: tuple[NamedScope, ...] = (
    NamedScope(
        "rivals",
        "the holder of an instance and who else wants it",
        Scope(clients=2, members=2, offers=3, acts=_MUCH),
        5,
    ),
    NamedScope(
        "time",
        "a static member that starts again or falls silent",
        Scope(clients=1, members=1, acts=("join", "sync", "heartbeat", "restart", "tick")),
    ),
    NamedScope(
        "two instances",
        "two static members, which change what they subscribe to",
        Scope(clients=2, members=2, offers=2, instances=2, acts=("join", "sync", "change")),
        6,
    ),
    NamedScope(
        "one of each kind",
        "a static and a dynamic member",
        Scope(clients=2, members=2, dynamic=1, acts=(*_OFTEN, "restart")),
        6,
    ),
    NamedScope(
        "dynamic members",
        "two dynamic members, one of them with an old join",
        Scope(clients=2, members=2, dynamic=2, old=1, acts=_OFTEN),
        7,
    ),
    NamedScope(
        "failover",
        "the coordinator fails over under one static member",
        Scope(clients=1, generations=2, acts=("join", "sync", "commit", "restart", "failover")),
    ),
    NamedScope(
        "borrowed instances",
        "a dynamic member names a free instance",
        Scope(clients=1, dynamic=1, members=2, acts=("join", "pose", "claim", "sync")),
    ),
)

# Where every engine of the kill matrix looks for mutants, so that what they find can be compared:
# scopes of `fencepost check`, and those that some mutant needs.
MUTANT_SCOPES: tuple[NamedScope, ...] = (
    *_SHARED_SCOPES,
    NamedScope(
        "initial delay",
        "two static members come during the initial delay",
        Scope(
            clients=2,
            instances=2,
            members=2,
            delay_ticks=1,
            acts=("join", "sync", "restart", "drop", "tick"),
        ),
    ),
    NamedScope(
        "dynamic members",
        "two dynamic members that change what they subscribe to and lose connections",
        Scope(
            clients=2,
            dynamic=2,
            members=2,
            offers=2,
            acts=("join", "change", "sync", "heartbeat", "commit", "leave", "drop", "tick"),
        ),
    ),
    NamedScope(
        "strangers",
        "somebody joins under an id that was never handed out, and an operator removes instances",
        Scope(
            clients=2,
            dynamic=1,
            members=2,
            acts=("join", "stranger", "sync", "remove", "restart", "tick"),
        ),
    ),
    NamedScope(
        "old versions",
        "a static and a dynamic member that speak JoinGroup 5 and 3",
        Scope(
            clients=2,
            dynamic=1,
            old=2,
            members=2,
            acts=("join", "sync", "heartbeat", "leave", "restart", "tick"),
        ),
    ),
    NamedScope(
        "three clients",
        "two processes of one instance beside another instance",
        Scope(
            clients=3,
            instances=2,
            members=2,
            acts=("join", "sync", "leave", "remove", "restart", "tick"),
        ),
    ),
    NamedScope(
        "protocols",
        "two static members that offer one protocol or two",
        Scope(
            clients=2, instances=2, members=2, offers=3, acts=("join", "change", "sync", "restart")
        ),
    ),
    NamedScope(
        "patience",
        "two processes of one instance with different timeouts, and a dynamic member",
        Scope(
            clients=3,
            dynamic=1,
            members=2,
            uneven=True,
            acts=("join", "sync", "heartbeat", "restart", "tick"),
        ),
    ),
)

RARE_SCOPES: tuple[NamedScope, ...] = (
    *(named for named in MUTANT_SCOPES if named not in _SHARED_SCOPES),
    NamedScope(
        "old zombie",
        "as `zombie`, and both processes speak JoinGroup 5",
        Scope(
            clients=2,
            zombies=1,
            old=2,
            members=2,
            acts=("join", "sync", "heartbeat", "commit", "tick"),
        ),
    ),
    NamedScope(
        "two who transact",
        "a static and a dynamic member that commit in transactions",
        Scope(
            clients=2,
            dynamic=1,
            members=2,
            acts=("join", "sync", "heartbeat", "transact", "tick"),
        ),
    ),
    NamedScope(
        "outside producer",
        "a member comes and goes, a producer outside of the group and an operator set offsets",
        Scope(clients=1, members=1, acts=("join", "sync", "save", "produce", "leave", "erase")),
    ),
    NamedScope(
        "three members",
        "two instances and a dynamic member come and go",
        Scope(clients=3, instances=2, dynamic=1, members=3, acts=("join", "sync", "leave")),
    ),
)
"""Scopes that `check` explores only for a row of one's own that decides nothing in the others."""

COMPARED_SCOPES: tuple[Scope, ...] = tuple(replace(s.scope, zombies=0) for s in MUTANT_SCOPES)
"""Scopes in which a mutant is compared with kafka-4; comparison begins before any id is known."""

ENDING_SCOPES: tuple[NamedScope, ...] = (
    NamedScope(
        "in the end",
        "two members, one static and one dynamic, that are there, silent or gone",
        Scope(clients=2, dynamic=1, members=2, acts=("join", "sync", "heartbeat", "tick")),
    ),
    NamedScope(
        "changes in the end",
        "two static members that change what they subscribe to",
        Scope(
            clients=2,
            instances=2,
            members=2,
            offers=2,
            acts=("join", "change", "sync", "heartbeat", "tick"),
        ),
    ),
)
"""Scopes that are searched for runs that never reach a promise's goal."""


def find_check_scope(
    name: str,
    own: Iterable[NamedScope] = (),
    shipped: Iterable[NamedScope] = (*CHECK_SCOPES, *RARE_SCOPES),
) -> NamedScope:
    """Return the scope of those that are shipped, or the user's own, with this name.

    Raises KeyError that names all.
    """
    scopes = {scope.name: scope for scope in (*shipped, *own)}
    if name in scopes:
        return scopes[name]
    near = did_you_mean(name, scopes)
    raise KeyError(f"no question {name!r}{near}; there are {', '.join(scopes)}")
