"""Drive kafka-python."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import kafka
from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from fencepost.conformance.clients.drivers.driver_user import User, drive

_POLL_MS = 100
_ASSIGNORS = {
    kind.name: kind
    for kind in (
        RangePartitionAssignor,
        RoundRobinPartitionAssignor,
        StickyPartitionAssignor,
        CooperativeStickyAssignor,
    )
}


class KafkaPythonUser(User):
    """A user of kafka.KafkaConsumer."""

    introduction: ClassVar[dict[str, Any]] = {
        "client": "kafka-python",
        "version": kafka.__version__,
        "features": ["static", "cooperative", "auto-commit", "manual-commit", "pause", "seek"],
        "assignors": list(_ASSIGNORS),
    }

    async def start(self, command: dict[str, Any]) -> None:
        """Make the consumer and subscribe it."""
        config = {
            "bootstrap_servers": command["bootstrap"],
            "group_id": command["group"],
            "session_timeout_ms": command["session_timeout_ms"],
            "heartbeat_interval_ms": command["heartbeat_interval_ms"],
            "max_poll_interval_ms": command["max_poll_interval_ms"],
            "partition_assignment_strategy": [_ASSIGNORS[command["assignor"]]],
            "auto_offset_reset": command["auto_offset_reset"],
            "client_id": command["client_id"],
            "enable_auto_commit": command["auto_commit_ms"] is not None,
        }
        if command["instance"] is not None:
            config["group_instance_id"] = command["instance"]
        if command["rack"] is not None:
            config["client_rack"] = command["rack"]
        if command["auto_commit_ms"] is not None:
            config["auto_commit_interval_ms"] = command["auto_commit_ms"]
        self._consumer = KafkaConsumer(**config | command["settings"])
        await self.subscribe(command["topics"])

    async def subscribe(self, topics: list[str]) -> None:
        """Subscribe, with a listener."""
        self._consumer.subscribe(topics, listener=_Listener(self))

    async def poll(self) -> None:
        """Poll for records of some partitions."""
        for partition, records in self._consumer.poll(timeout_ms=_POLL_MS).items():
            offsets = [record.offset for record in records]
            self.tell_records(partition.topic, partition.partition, offsets)

    async def commit(self) -> None:
        """Commit and wait."""
        self._consumer.commit()

    async def unsubscribe(self) -> None:
        """Unsubscribe from all topics."""
        self._consumer.unsubscribe()

    async def close(self, timeout_ms: int) -> None:
        """Close the consumer."""
        self._consumer.close(timeout_ms=timeout_ms)


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # it has no types
    def __init__(self, user: User) -> None:
        self._user = user

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self._user.tell_partitions("assigned", assigned)

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        self._user.tell_partitions("revoked", revoked)

    def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        self._user.tell_partitions("lost", lost)


if __name__ == "__main__":
    drive(KafkaPythonUser)
