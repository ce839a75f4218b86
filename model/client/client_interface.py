"""Define the inputs of a client, its requests, and the events for its user.

The user's events have the words of the driver protocol (`conformance/clients`).  Times are ms on
the caller's clock.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import msgspec

from fencepost.model.messages.cluster_messages import ClusterRequest, ClusterResponse
from fencepost.model.messages.shapes import Message
from fencepost.model.messages.subscription import TopicPartition
from fencepost.model.plans.steps import Start, UserStep


class Role(Enum):
    """The purpose of a connection; each role has its own, as a parked join needs."""

    BOOTSTRAP = "bootstrap"
    COORDINATOR = "coordinator"
    LEADER = "leader"
    PRODUCER = "producer"


class Endpoint(NamedTuple):
    """The address of a connection.  The bootstrap's host and port are the caller's business."""

    role: Role
    node: int = -1
    host: str = ""
    port: int = 0


BOOTSTRAP = Endpoint(Role.BOOTSTRAP)


# Inputs.


class AnswerRead(msgspec.Struct, frozen=True):
    """The answer to a request was read."""

    correlation_id: int
    message: Message | ClusterResponse


class ConnectionLost(msgspec.Struct, frozen=True):
    """A connection ended, or could not be made; what was open on it gets no answer."""

    endpoint: Endpoint


class Woken(msgspec.Struct, frozen=True):
    """Nothing but time has passed."""


Input = Start | UserStep | AnswerRead | ConnectionLost | Woken
"""The user makes the consumer and polls without end from `Start` on; a `Close` ends it."""


# Outputs.


class Outgoing(msgspec.Struct, frozen=True):
    """A request to send; the connection is made if there is none."""

    correlation_id: int
    to: Endpoint
    api: str
    version: int
    message: Message | ClusterRequest


class HangUp(msgspec.Struct, frozen=True):
    """End the connection, now; the client expects no answer on it, and no `ConnectionLost`."""

    to: Endpoint


class Assigned(msgspec.Struct, frozen=True):
    """The user is given these partitions, beside those it has."""

    partitions: tuple[TopicPartition, ...]


class Revoked(msgspec.Struct, frozen=True):
    """The user gives these partitions back; they are its own until this event."""

    partitions: tuple[TopicPartition, ...]


class Lost(msgspec.Struct, frozen=True):
    """These partitions may be somebody else's already."""

    partitions: tuple[TopicPartition, ...]


class Records(msgspec.Struct, frozen=True):
    """The user is given records: the offset of the first, and how many."""

    partition: TopicPartition
    first: int
    count: int


class ErrorReported(msgspec.Struct, frozen=True):
    """An error is reported to the user.  `code`: Kafka's name; `where`: the API of the answer.

    After a `fatal` one the client does nothing by itself; each poll reports it again.
    """

    code: str
    fatal: bool
    where: str


class Committed(msgspec.Struct, frozen=True):
    """The user's commit ended; `error` is a name of Kafka's, `NONE` if all is well."""

    error: str


class Transacted(msgspec.Struct, frozen=True):
    """The user's transaction ended; `error` is a name of Kafka's, `NONE` if it was committed."""

    error: str


class Closed(msgspec.Struct, frozen=True):
    """The consumer is closed; nothing comes any more."""


UserEvent = Assigned | Revoked | Lost | Records | ErrorReported | Committed | Transacted | Closed
