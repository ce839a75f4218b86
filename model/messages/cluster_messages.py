"""Define the messages between a consumer and a cluster besides the group protocol, as plain data.

The least that a consumer needs of ApiVersions, FindCoordinator, Metadata, ListOffsets and Fetch,
and the producer beside it that commits its offsets in a transaction.
The driver of a real broker turns these into bodies of the negotiated version.

Source: Kafka's message definitions.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from fencepost.model.messages.subscription import TopicPartition


class VersionRange(NamedTuple):
    """The lowest and the highest version of an API that a broker has."""

    api: str
    lowest: int
    highest: int


class BrokerNode(NamedTuple):
    """A broker of the cluster, and where it listens."""

    node: int
    host: str
    port: int


class TopicLeaders(NamedTuple):
    """A topic: its error code, and the leading node of each partition (-1: none now).

    `racks`: of each partition, the racks of its replicas, as far as their brokers have them; or
    nothing.
    """

    topic: str
    error_code: int
    leaders: tuple[int, ...]
    racks: tuple[frozenset[str], ...] = ()


class OffsetRow(NamedTuple):
    """The offset of a partition, or an error code."""

    partition: TopicPartition
    error_code: int
    offset: int


class Batch(NamedTuple):
    """A record batch without its records: the first and last offset, and their number."""

    first: int
    last: int
    records: int


class FetchedLog(NamedTuple):
    """The fetched batches of a partition, or an error code."""

    partition: TopicPartition
    error_code: int
    batches: tuple[Batch, ...]


class ApiVersionsRequest(msgspec.Struct, frozen=True):
    """A request for the broker's versions."""


class ApiVersionsResponse(msgspec.Struct, frozen=True):
    """The versions of each API; where `error_code` is not 0, perhaps only of ApiVersions."""

    error_code: int
    versions: tuple[VersionRange, ...]


class FindCoordinatorRequest(msgspec.Struct, frozen=True):
    """A request for the group's coordinator."""

    group_id: str


class FindCoordinatorResponse(msgspec.Struct, frozen=True):
    """The group's coordinator; None beside an error."""

    error_code: int
    coordinator: BrokerNode | None


class FindTransactionCoordinatorRequest(msgspec.Struct, frozen=True):
    """A request for the coordinator of a transactional id; answered as that of a group."""

    transactional_id: str


class ProducerIdentity(NamedTuple):
    """A producer of transactions: its transactional id, its producer id, its epoch."""

    transactional_id: str
    producer_id: int = -1
    epoch: int = -1


class InitProducerIdRequest(msgspec.Struct, frozen=True):
    """A request to begin the next epoch of a transactional id."""

    transactional_id: str
    timeout_ms: int


class AddOffsetsRequest(msgspec.Struct, frozen=True):
    """A request to add a group to the producer's transaction."""

    producer: ProducerIdentity
    group_id: str


class EndTransactionRequest(msgspec.Struct, frozen=True):
    """A request to end the producer's transaction."""

    producer: ProducerIdentity
    committed: bool


class TransactionResponse(msgspec.Struct, frozen=True):
    """An answer to a producer; `producer_id` and `epoch` in that to InitProducerId."""

    error_code: int
    producer_id: int = -1
    epoch: int = -1


class MetadataRequest(msgspec.Struct, frozen=True):
    """A request for the leaders of these topics' partitions; None: of all topics."""

    topics: tuple[str, ...] | None


class MetadataResponse(msgspec.Struct, frozen=True):
    """All brokers, and the topics of the request."""

    brokers: tuple[BrokerNode, ...]
    topics: tuple[TopicLeaders, ...]


class ListOffsetsRequest(msgspec.Struct, frozen=True):
    """The first (`earliest`) or the next offset of each partition."""

    partitions: tuple[TopicPartition, ...]
    earliest: bool


class ListOffsetsResponse(msgspec.Struct, frozen=True):
    """A row for each partition."""

    rows: tuple[OffsetRow, ...]


class FetchRequest(msgspec.Struct, frozen=True):
    """Records from these offsets on; a broker that has none waits up to `max_wait_ms`."""

    positions: tuple[tuple[TopicPartition, int], ...]
    max_wait_ms: int


class FetchResponse(msgspec.Struct, frozen=True):
    """The fetched batches, by partition."""

    error_code: int
    logs: tuple[FetchedLog, ...]


ClusterRequest = (
    ApiVersionsRequest
    | FindCoordinatorRequest
    | FindTransactionCoordinatorRequest
    | InitProducerIdRequest
    | AddOffsetsRequest
    | EndTransactionRequest
    | MetadataRequest
    | ListOffsetsRequest
    | FetchRequest
)
ClusterResponse = (
    ApiVersionsResponse
    | FindCoordinatorResponse
    | TransactionResponse
    | MetadataResponse
    | ListOffsetsResponse
    | FetchResponse
)

CLUSTER_VERSIONS: dict[str, tuple[int, int]] = {
    "ApiVersions": (0, 3),
    "FindCoordinator": (0, 4),
    "Metadata": (1, 9),
    "ListOffsets": (1, 7),
    "Fetch": (4, 12),
    "InitProducerId": (0, 4),
    "AddOffsetsToTxn": (0, 3),
    "EndTxn": (0, 3),
}
"""The versions that this client knows, lowest and highest: those in which topics have names."""
