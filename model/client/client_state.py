"""The state of one client: immutable, hashable, complete.

Two clients with equal settings and equal states do the same from then on.  Deadlines are ms on the
caller's clock; None: never.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import msgspec

from fencepost.model.assignors.sticky_memory import NO_MEMORY, Memory
from fencepost.model.client.client_interface import Endpoint, ErrorTold
from fencepost.model.messages.cluster_messages import (
    BrokerNode,
    ClusterRequest,
    TopicLeaders,
    VersionRange,
)
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
