"""The state of one client: immutable, hashable, complete.

Two clients with equal settings and equal states do the same from then on.  Deadlines are ms on the
caller's clock; None: never.

A client's step in progress: the state as it is being changed, and what comes out of it.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from fencepost.model.assignors.sticky_memory import NO_MEMORY, Memory
from fencepost.model.client.behaviour import ClientSettings, Conduct
from fencepost.model.client.client_interface import (
    Asked,
    Committed,
    Endpoint,
    ErrorTold,
    HangUp,
    Lost,
    UserEvent,
)
from fencepost.model.messages.cluster_messages import (
    BrokerNode,
    ClusterRequest,
    TopicLeaders,
    VersionRange,
)
from fencepost.model.messages.errors import Error, error_name
from fencepost.model.messages.messages import JoinMember
from fencepost.model.messages.shapes import Message
from fencepost.model.messages.subscription import TopicPartition


class Life(Enum):
    """Whether a client is at work."""

    NEW = "new"
    RUNNING = "running"
    FAILED = "failed"
    CLOSING = "closing"
    CLOSED = "closed"


class Phase(Enum):
    """Where a client is on its way into the group."""

    OUT = "out"
    JOINING = "joining"
    SYNCING = "syncing"
    STABLE = "stable"


class Backoff(msgspec.Struct, frozen=True):
    """How often something failed since it last went well, and when it may be tried again."""

    failures: int = 0
    not_before_ms: int = 0


class Flight(msgspec.Struct, frozen=True):
    """A request whose answer is awaited until `deadline_ms`."""

    correlation_id: int
    endpoint: Endpoint
    api: str
    version: int
    message: Message | ClusterRequest
    sent_ms: int
    deadline_ms: int


class Link(msgspec.Struct, frozen=True):
    """A connection: the versions of the broker behind it, and the one request that is open.

    `is_up` False: it was lost, and may be made again after `backoff`.  `quiet_until_ms`: the broker
    throttles us until then.
    """

    endpoint: Endpoint
    is_up: bool = True
    versions: tuple[VersionRange, ...] | None = None
    flight: Flight | None = None
    backoff: Backoff = Backoff()
    quiet_until_ms: int = 0


class TopicLayout(NamedTuple):
    """A topic as a leader sees it: of each partition the racks of its replicas, if they matter."""

    topic: str
    racks: tuple[frozenset[str], ...]


class Membership(msgspec.Struct, frozen=True):
    """What a client knows of itself as a member.

    `generation_id` -1: it is nobody's member, and what it owned is lost.  `needs_join`: it is a
    member, but shall join again; `prepared`: what was read before is committed.  `to_lead`: the
    members that it has to assign to, until the sync is answered; `skips`: the coordinator has their
    assignment.  `seen`: what the topics were like when it assigned, as a leader.  `target`:
    its assignment of the generation `assigned_in`; `is_handed_out`: the user was told.
    `was_stable`, `was_removed`: ever, as a member of this group.
    """

    phase: Phase = Phase.OUT
    member_id: str = ""
    generation_id: int = -1
    protocol_name: str | None = None
    needs_join: bool = False
    prepared: bool = False
    leads: bool = False
    skips: bool = False
    to_lead: tuple[JoinMember, ...] | None = None
    seen: tuple[TopicLayout, ...] | None = None
    target: tuple[TopicPartition, ...] = ()
    assigned_in: int = -1
    is_handed_out: bool = False
    was_stable: bool = False
    was_removed: bool = False
    heartbeat_ms: int = 0
    backoff: Backoff = Backoff()


class Cluster(msgspec.Struct, frozen=True):
    """What a client knows of the cluster; `read_ms` None: nothing yet."""

    brokers: tuple[BrokerNode, ...] = ()
    topics: tuple[TopicLeaders, ...] = ()
    read_ms: int | None = None
    is_stale: bool = False
    backoff: Backoff = Backoff()
    coordinator: Endpoint | None = None
    coordinator_backoff: Backoff = Backoff()


class Position(msgspec.Struct, frozen=True):
    """A partition of the user: the next offset (None: not known yet) and the last committed one.

    `resets`: no offset was committed, or it is out of range; the log's own is asked for.
    """

    partition: TopicPartition
    offset: int | None = None
    committed: int | None = None
    resets: bool = False


class Reading(msgspec.Struct, frozen=True):
    """What the user owns, and how far it has read."""

    positions: tuple[Position, ...] = ()
    backoff: Backoff = Backoff()
    fetch_backoff: Backoff = Backoff()

    @property
    def owned(self) -> tuple[TopicPartition, ...]:
        """The partitions that the user was given."""
        return tuple(position.partition for position in self.positions)


class Committing(msgspec.Struct, frozen=True):
    """A commit under way: what of, until when, and how often the user waits for it.

    `request_id`: the correlation id of the request that was sent for it last.
    """

    offsets: tuple[tuple[TopicPartition, int], ...]
    deadline_ms: int
    waiting: int = 0
    request_id: int | None = None
    backoff: Backoff = Backoff()


class ClientState(msgspec.Struct, frozen=True):
    """A client.

    `next_id`: the next correlation id.  `poll_by_ms`: when the user exceeds the poll interval; None
    while it polls.  `memory`: what the sticky assignor tells the leader; a member that was removed
    still has it.  `leaving`: the member id that shall leave.  `failure`: the fatal error, once
    there is one; `was_told`: since the user polled last.
    """

    life: Life = Life.NEW
    next_id: int = 1
    topics: tuple[str, ...] = ()
    poll_by_ms: int | None = None
    is_polling: bool = True
    links: tuple[Link, ...] = ()
    cluster: Cluster = Cluster()
    membership: Membership = Membership()
    memory: Memory = NO_MEMORY
    reading: Reading = Reading()
    committing: Committing | None = None
    auto_commit_ms: int | None = None
    leaving: str | None = None
    close_by_ms: int | None = None
    failure: ErrorTold | None = None
    was_told: bool = False


class ClientWork:
    """What the concerns of a client work on, one after the other."""

    __slots__ = ("events", "now_ms", "requests", "settings", "state")

    def __init__(self, settings: ClientSettings, state: ClientState, now_ms: int) -> None:
        self.settings = settings
        self.state = state
        self.now_ms = now_ms
        self.requests: list[Asked | HangUp] = []
        self.events: list[UserEvent] = []

    @property
    def conduct(self) -> Conduct:
        """How this client conducts itself."""
        return self.settings.conduct

    @property
    def is_static(self) -> bool:
        """Whether this client takes itself for a static member."""
        return self.settings.group_instance_id is not None and bool(self.conduct.identified)

    def change(self, **changes: Any) -> None:
        """Change fields of the state."""
        self.state = replace(self.state, **changes)

    def change_member(self, **changes: Any) -> None:
        """Change fields of the membership."""
        self.change(membership=replace(self.state.membership, **changes))

    def change_cluster(self, **changes: Any) -> None:
        """Change fields of what is known of the cluster."""
        self.change(cluster=replace(self.state.cluster, **changes))

    def change_reading(self, **changes: Any) -> None:
        """Change fields of what the user reads."""
        self.change(reading=replace(self.state.reading, **changes))

    def tell(self, event: UserEvent) -> None:
        """Let the user see an event."""
        self.events.append(event)

    def failed(self, backoff: Backoff, *, at_once: bool = False) -> Backoff:
        """Something failed once more: the pause doubles each time, up to the settings' longest.

        `at_once`: the first failure in a row has no pause, as it is part of the protocol.
        """
        settings, failures = self.settings, backoff.failures
        pause = 0
        if self.conduct.backs_off and not (at_once and failures == 0):
            doubled = settings.retry_backoff_ms << min(failures - at_once, 20)
            pause = min(doubled, settings.retry_backoff_max_ms)
        return Backoff(failures + 1, self.now_ms + pause)

    def fail(self, code: int | str, where: str) -> None:
        """Come to a fatal error: nothing is done by itself any more, and the user is told."""
        told = ErrorTold(error_name(code), fatal=True, where=where)
        self.end_commit(told.code)
        if self.state.life is Life.CLOSING:
            self.tell(told)
            self.change(membership=Membership(), leaving=None)
            return
        self.change(life=Life.FAILED, failure=told, was_told=False)
        if not (self.conduct.reads_when_fenced or self.conduct.commits_when_fenced):
            self.change(membership=Membership(), leaving=None)
            self.hang_up_all()

    def hang_up_all(self) -> None:
        """End all connections."""
        self.requests += [HangUp(link.endpoint) for link in self.state.links if link.is_up]
        self.change(links=())

    def end_commit(self, error: str) -> None:
        """What is being committed is over; the user, if it waits, is told how."""
        if (current := self.state.committing) is not None:
            for _ in range(current.waiting):
                self.tell(Committed(error))
            self.change(committing=None)

    def tell_lost(self) -> None:
        """The user may own nothing of what it was given any more."""
        if owned := self.state.reading.owned:
            if self.conduct.tells_loss:
                self.tell(Lost(owned))
            self.change(reading=Reading())

    def tell_error(self, code: int | str, where: str) -> None:
        """Tell the user an error that the client goes on after."""
        self.tell(ErrorTold(error_name(code), fatal=False, where=where))


def is_fenced(state: ClientState) -> bool:
    """Whether the fatal error is that another process has the instance."""
    return state.failure is not None and state.failure.code == Error.FENCED_INSTANCE_ID.name
