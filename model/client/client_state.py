"""Define the state of one client (immutable, hashable, complete), and the work of one step.

Two clients with equal settings and equal states do the same from then on.  Deadlines are ms on the
caller's clock; None: never.  The work holds the state during a step, and its outputs.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from fencepost.model.assignors.sticky import NO_MEMORY, Memory
from fencepost.model.client.behaviour import ClientSettings, Conduct
from fencepost.model.client.client_interface import (
    Committed,
    Endpoint,
    ErrorReported,
    HangUp,
    Lost,
    Outgoing,
    UserEvent,
)
from fencepost.model.messages.cluster_messages import (
    BrokerNode,
    ClusterRequest,
    ProducerIdentity,
    TopicLeaders,
    VersionRange,
)
from fencepost.model.messages.errors import Error, kafka_error
from fencepost.model.messages.messages import JoinMember
from fencepost.model.messages.shapes import Message
from fencepost.model.messages.subscription import TopicPartition


class Stage(Enum):
    """The stage of a client between start and end."""

    NEW = "new"
    RUNNING = "running"
    FAILED = "failed"
    CLOSING = "closing"
    CLOSED = "closed"


class Phase(Enum):
    """The phase of a client on its way into the group."""

    OUT = "out"
    JOINING = "joining"
    SYNCING = "syncing"
    STABLE = "stable"


class Backoff(msgspec.Struct, frozen=True):
    """Failures since the last success, and the time of the next attempt."""

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
    """A topic as a leader knows it: of each partition the racks of its replicas, if they matter."""

    topic: str
    racks: tuple[frozenset[str], ...]


class Membership(msgspec.Struct, frozen=True):
    """The client's knowledge of itself as a member.

    `generation_id` -1: it is no member, and its partitions are lost.  `needs_join`: it is a member,
    but shall join again; `prepared`: the records read before are committed.  `to_lead`: the members
    that it has to assign to, until the sync is answered; `skips`: the coordinator has their
    assignment.  `layouts`: the topics when it assigned, as a leader.  `target`: its assignment of
    the generation `assigned_in`; `target_before`: that of the one before; `is_handed_out`: the user
    has it; `owes_join`: it gave partitions back that nobody gets before it joins again.
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
    layouts: tuple[TopicLayout, ...] | None = None
    target: tuple[TopicPartition, ...] = ()
    target_before: tuple[TopicPartition, ...] = ()
    assigned_in: int = -1
    is_handed_out: bool = False
    owes_join: bool = False
    was_stable: bool = False
    was_removed: bool = False
    heartbeat_ms: int = 0
    backoff: Backoff = Backoff()


class Cluster(msgspec.Struct, frozen=True):
    """The client's knowledge of the cluster; `read_ms` None: nothing yet."""

    brokers: tuple[BrokerNode, ...] = ()
    topics: tuple[TopicLeaders, ...] = ()
    read_ms: int | None = None
    is_stale: bool = False
    backoff: Backoff = Backoff()
    coordinator: Endpoint | None = None
    coordinator_backoff: Backoff = Backoff()


class Position(msgspec.Struct, frozen=True):
    """A partition of the user: the next offset (None: not known yet) and the last committed one.

    `resets`: no offset was committed, or it is out of range; the log's own is requested.
    """

    partition: TopicPartition
    offset: int | None = None
    committed: int | None = None
    resets: bool = False


class Reading(msgspec.Struct, frozen=True):
    """The user's partitions, and their positions.

    `given_back`: those that a lying client reads though it gave them back.  `paused`: the user
    wants no records of them now.
    """

    positions: tuple[Position, ...] = ()
    given_back: tuple[Position, ...] = ()
    paused: frozenset[TopicPartition] = frozenset()
    backoff: Backoff = Backoff()
    fetch_backoff: Backoff = Backoff()

    @property
    def owned(self) -> tuple[TopicPartition, ...]:
        """The partitions that the user has."""
        return tuple(position.partition for position in self.positions)


class Committing(msgspec.Struct, frozen=True):
    """A commit under way: its offsets, its deadline, and the number of waiting calls of the user.

    `request_id`: the correlation id of its last request.  `generation_id`, `member_id`: of a client
    that commits as the member that it was; -1 and "": as the one that it is.
    """

    offsets: tuple[tuple[TopicPartition, int], ...]
    deadline_ms: int
    waiting: int = 0
    request_id: int | None = None
    generation_id: int = -1
    member_id: str = ""
    backoff: Backoff = Backoff()


class Transacting(msgspec.Struct, frozen=True):
    """A transaction under way: its producer, its offsets, its deadline, and the member it is of.

    `coordinator`: the transaction's; `has_group`: the group was added to it; `outcome`: of the
    offsets, a name of Kafka's, "" before.  `request_id`: the correlation id of its open request;
    `waiting`: the number of calls of the user.
    """

    producer: ProducerIdentity
    offsets: tuple[tuple[TopicPartition, int], ...]
    deadline_ms: int
    member_id: str
    generation_id: int
    coordinator: Endpoint | None = None
    has_group: bool = False
    outcome: str = ""
    waiting: int = 1
    request_id: int | None = None
    backoff: Backoff = Backoff()


class ClientState(msgspec.Struct, frozen=True):
    """A client.

    `next_id`: the next correlation id.  `topics`: that it subscribes to; `pattern`: that they match
    (None: they were named).  `poll_by_ms`: time at which the user exceeds the poll
    interval; None while it polls.  `memory`: the sticky assignor's message to the leader; a member
    that was removed still has it.  `leaving`: the member id that shall leave.  `failure`: the fatal
    error, once there is one; `is_reported`: since the user polled last.
    """

    stage: Stage = Stage.NEW
    next_id: int = 1
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    poll_by_ms: int | None = None
    is_polling: bool = True
    links: tuple[Link, ...] = ()
    cluster: Cluster = Cluster()
    membership: Membership = Membership()
    memory: Memory = NO_MEMORY
    reading: Reading = Reading()
    committing: Committing | None = None
    transacting: Transacting | None = None
    auto_commit_ms: int | None = None
    leaving: str | None = None
    close_by_ms: int | None = None
    failure: ErrorReported | None = None
    is_reported: bool = False


class ClientWork:
    """The work of one step, for the concerns of a client, one after the other."""

    __slots__ = ("events", "now_ms", "requests", "settings", "state")

    def __init__(self, settings: ClientSettings, state: ClientState, now_ms: int) -> None:
        self.settings = settings
        self.state = state
        self.now_ms = now_ms
        self.requests: list[Outgoing | HangUp] = []
        self.events: list[UserEvent] = []

    @property
    def conduct(self) -> Conduct:
        """The conduct of this client."""
        return self.settings.conduct

    @property
    def is_static(self) -> bool:
        """True if this client takes itself for a static member."""
        return self.settings.group_instance_id is not None and bool(self.conduct.identified)

    def change(self, **changes: Any) -> None:
        """Change fields of the state."""
        self.state = replace(self.state, **changes)

    def change_member(self, **changes: Any) -> None:
        """Change fields of the membership."""
        self.change(membership=replace(self.state.membership, **changes))

    def change_cluster(self, **changes: Any) -> None:
        """Change fields of the knowledge of the cluster."""
        self.change(cluster=replace(self.state.cluster, **changes))

    def change_reading(self, **changes: Any) -> None:
        """Change fields of the user's reading."""
        self.change(reading=replace(self.state.reading, **changes))

    def tell(self, event: UserEvent) -> None:
        """Let the user see an event."""
        self.events.append(event)

    def failed(self, backoff: Backoff, *, at_once: bool = False) -> Backoff:
        """Count one more failure: the pause doubles each time, up to the settings' longest.

        `at_once`: the first failure in a row has no pause, as it is part of the protocol.
        """
        settings, failures = self.settings, backoff.failures
        pause = 0
        if self.conduct.backs_off and not (at_once and failures == 0):
            doubled = settings.retry_backoff_ms << min(failures - at_once, 20)
            pause = min(doubled, settings.retry_backoff_max_ms)
        return Backoff(failures + 1, self.now_ms + pause)

    def fail(self, code: int | str, where: str) -> None:
        """Come to a fatal error: the client does nothing by itself any more, and reports it."""
        error = ErrorReported(kafka_error(code), fatal=True, where=where)
        self.end_commit(error.code)
        if self.state.stage is Stage.CLOSING:
            self.tell(error)
            self.change(membership=Membership(), leaving=None)
            return
        self.change(stage=Stage.FAILED, failure=error, is_reported=False)
        if not (self.conduct.reads_when_fenced or self.conduct.commits_when_fenced):
            self.change(membership=Membership(), leaving=None)
            self.hang_up_all()

    def hang_up_all(self) -> None:
        """End all connections."""
        self.requests += [HangUp(link.endpoint) for link in self.state.links if link.is_up]
        self.change(links=())

    def end_commit(self, error: str) -> None:
        """End the present commit; a waiting user gets the result."""
        if (current := self.state.committing) is not None:
            for _ in range(current.waiting):
                self.tell(Committed(error if self.conduct.tells_refusal else Error.NONE.name))
            self.change(committing=None)

    def tell_lost(self) -> None:
        """Report to the user that all its partitions may be lost."""
        if owned := self.state.reading.owned:
            if self.conduct.tells_loss:
                self.tell(Lost(owned))
            self.change(reading=Reading())

    def tell_error(self, code: int | str, where: str) -> None:
        """Report an error to the user, after which the client goes on."""
        self.tell(ErrorReported(kafka_error(code), fatal=False, where=where))


def is_fenced(state: ClientState) -> bool:
    """Return True if the fatal error is that another process has the instance."""
    return state.failure is not None and state.failure.code == Error.FENCED_INSTANCE_ID.name
