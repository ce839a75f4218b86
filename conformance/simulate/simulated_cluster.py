"""Simulate a cluster on a virtual clock: the model coordinator, brokers, topics, records.

Records are counted, not kept.  Each group has a coordinator, which can be moved; the other brokers
answer NOT_COORDINATOR.  A broker can have older versions of its APIs.  Offsets in a transaction are
stored at once, as in the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fencepost.conformance.targets.model_coordinator import RunningModel, first
from fencepost.model.assignors.assignor_input import NO_RACKS, Racks
from fencepost.model.coordinator import Answer, Config, Send
from fencepost.model.machine import Machine
from fencepost.model.messages.cluster_messages import (
    CLUSTER_VERSIONS,
    AddOffsetsRequest,
    ApiVersionsRequest,
    ApiVersionsResponse,
    Batch,
    BrokerNode,
    ClusterRequest,
    ClusterResponse,
    EndTransactionRequest,
    FetchedLog,
    FetchRequest,
    FetchResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    FindTransactionCoordinatorRequest,
    InitProducerIdRequest,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetRow,
    TopicLeaders,
    TransactionResponse,
    VersionRange,
)
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import APIS, LeaveGroupRequest, LeavingMember, groups_of
from fencepost.model.messages.shapes import Message
from fencepost.model.messages.subscription import TopicPartition
from fencepost.model.revision import Revision
from fencepost.model.work import Outcome

_PORT = 9092
_FETCHED_AT_MOST = 500
_NOWHERE: frozenset[str] = frozenset()


class VirtualCluster:
    """The brokers of a simulation.  `topics`: the number of partitions of each."""

    def __init__(
        self,
        revision: Revision,
        config: Config | None,
        topics: Mapping[str, int],
        nodes: int,
    ) -> None:
        self.model = RunningModel(Machine(revision, config, self._is_missing), choose=self._chosen)
        self.applied: set[str] = set()
        """The ids of the rules that applied so far."""
        self.topics = dict(topics)
        self.racks: Racks = NO_RACKS
        """The racks of the partitions' replicas."""
        self.ends: dict[TopicPartition, int] = {}
        """The next offset of each partition that holds records."""
        self.highest: dict[str, int] = {}
        """Versions that the brokers don't go beyond, by API."""
        self.nodes = tuple(BrokerNode(n, f"broker-{n}", _PORT) for n in range(1, nodes + 1))
        self._coordinators: dict[str, int] = {}
        self._requests = 0
        self._producers = 0

    def _chosen(self, outcomes: Sequence[Outcome]) -> Outcome:
        outcome = first(outcomes)
        self.applied.update(outcome.rules)
        return outcome

    def produce(self, partition: TopicPartition, records: int) -> None:
        """Append records."""
        self.ends[partition] = self.ends.get(partition, 0) + records

    def coordinator_of(self, group_id: str) -> BrokerNode:
        """Return the broker that coordinates a group: the first, until it is moved."""
        return self.nodes[self._coordinators.get(group_id, 1) - 1]

    def move_coordinator(self, now_ms: int, group_id: str, node: int) -> list[Answer]:
        """Let another broker coordinate a group; parked requests get NOT_COORDINATOR."""
        self._coordinators[group_id] = node
        return self.model.fail_over(at_ms=now_ms)

    # Requests.

    def handle(
        self, now_ms: int, connection: str, client_id: str, api: str, version: int, message: Message
    ) -> tuple[str, list[Answer]]:
        """Handle a request of the group protocol; return its id, and the answers that it led to."""
        self._requests += 1
        request_id = f"request-{self._requests}"
        body = message.to_body(version)
        read = APIS[api].request.from_body(body, version)
        send = Send(request_id, connection, client_id, api, version, body)
        return request_id, self.model.handle(send, read, now_ms)

    def remove(self, now_ms: int, group_id: str, instance: str) -> list[Answer]:
        """Remove a static member, as an administrator does."""
        row = LeavingMember(member_id="", group_instance_id=instance)
        message = LeaveGroupRequest(group_id=group_id, members=(row,))
        return self.handle(now_ms, "admin", "admin", "LeaveGroup", 4, message)[1]

    def misses(self, message: Message, version: int, node: int) -> bool:
        """Return True if a request came to a broker that doesn't coordinate its group."""
        named = groups_of(message, version) or []
        return any(self.coordinator_of(group_id).node != node for group_id in named)

    def answer(self, message: ClusterRequest) -> ClusterResponse:
        """Answer a request outside the group protocol."""
        match message:
            case ApiVersionsRequest():
                return ApiVersionsResponse(0, tuple(self._versions()))
            case FindCoordinatorRequest():
                return FindCoordinatorResponse(0, self.coordinator_of(message.group_id))
            case FindTransactionCoordinatorRequest():
                return FindCoordinatorResponse(0, self.nodes[0])
            case InitProducerIdRequest():
                self._producers += 1
                return TransactionResponse(0, self._producers, 0)
            case AddOffsetsRequest() | EndTransactionRequest():
                return TransactionResponse(0)
            case MetadataRequest():
                topics = self.topics if message.topics is None else message.topics
                return MetadataResponse(self.nodes, tuple(map(self._leaders, topics)))
            case ListOffsetsRequest():
                rows = (
                    OffsetRow(p, 0, 0 if message.earliest else self.ends.get(p, 0))
                    for p in message.partitions
                )
                return ListOffsetsResponse(tuple(rows))
            case FetchRequest():
                return FetchResponse(0, tuple(self._fetched(*row) for row in message.positions))

    def has_records(self, message: FetchRequest) -> bool:
        """Return True if there is anything to fetch."""
        return any(
            self.ends.get(partition, 0) > at or self._is_missing(partition.topic)
            for partition, at in message.positions
        )

    def _versions(self) -> Iterable[VersionRange]:
        known = {**self.model.machine.revision.apis, **CLUSTER_VERSIONS}
        for api, (low, high) in known.items():
            yield VersionRange(api, low, min(high, self.highest.get(api, high)))

    def _leaders(self, topic: str) -> TopicLeaders:
        if topic not in self.topics:
            return TopicLeaders(topic, Error.UNKNOWN_TOPIC_OR_PARTITION.value, ())
        numbers = range(self.topics[topic])
        leaders = (self.nodes[n % len(self.nodes)].node for n in numbers)
        racks = (self.racks.get(TopicPartition(topic, n), _NOWHERE) for n in numbers)
        return TopicLeaders(topic, 0, tuple(leaders), tuple(racks) if self.racks else ())

    def _fetched(self, partition: TopicPartition, at: int) -> FetchedLog:
        if self._is_missing(partition.topic):
            return FetchedLog(partition, Error.UNKNOWN_TOPIC_OR_PARTITION.value, ())
        end = min(self.ends.get(partition, 0), at + _FETCHED_AT_MOST)
        return FetchedLog(partition, 0, (Batch(at, end - 1, end - at),) if end > at else ())

    def _is_missing(self, topic: str) -> bool:
        return topic not in self.topics
