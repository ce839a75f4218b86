"""Drive kafka-python."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterable
from itertools import starmap
from typing import Any, ClassVar

import kafka
from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

from fencepost.conformance.clients.drivers.driver_user import (
    COOPERATIVE,
    STATIC,
    UnsupportedError,
    User,
    assignors_in,
    drive,
)

_POLL_MS = 100
_ASSIGNORS = assignors_in(
    {
        "kafka.coordinator.assignors.range": "RangePartitionAssignor",
        "kafka.coordinator.assignors.roundrobin": "RoundRobinPartitionAssignor",
        "kafka.coordinator.assignors.sticky.sticky_assignor": "StickyPartitionAssignor",
        "kafka.coordinator.assignors.cooperative_sticky": "CooperativeStickyAssignor",
    }
)
_OPTIONS = KafkaConsumer.DEFAULT_CONFIG
_FEATURES = [
    *([STATIC] if "group_instance_id" in _OPTIONS else []),
    *([COOPERATIVE] if any(name.startswith(COOPERATIVE) for name in _ASSIGNORS) else []),
    *("auto-commit", "manual-commit", "pause", "seek", "commit-on-revoke", "metadata-age"),
    *("pattern", "close-twice"),
]
_TRANSACTS = hasattr(KafkaConsumer, "group_metadata")
if _TRANSACTS:
    _FEATURES.append("transactions")
_CLOSES_IN_TIME = "timeout_ms" in inspect.signature(KafkaConsumer.close).parameters


class KafkaPythonUser(User):
    """A user of kafka.KafkaConsumer."""

    introduction: ClassVar[dict[str, Any]] = {
        "client": "kafka-python",
        "version": kafka.__version__,
        "features": _FEATURES,
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
        if "metadata_max_age_ms" in command:
            config["metadata_max_age_ms"] = command["metadata_max_age_ms"]
        self.refuse_unknown(config, _OPTIONS)
        self._consumer = KafkaConsumer(**config | command["settings"])
        if "pattern" in command:
            self._consumer.subscribe(pattern=command["pattern"], listener=_Listener(self))
        else:
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

    async def commit_in_transaction(self) -> None:
        """Send the positions to a transaction, and commit it."""
        if not _TRANSACTS:
            raise UnsupportedError("a consumer has no group_metadata")
        producer = KafkaProducer(
            bootstrap_servers=self.started["bootstrap"],
            client_id=self.started["client_id"],
            transactional_id=self.transactional_id,
        )
        try:
            producer.init_transactions()
            producer.begin_transaction()
            try:
                producer.send_offsets_to_transaction(
                    {
                        partition: OffsetAndMetadata(offset, "", -1)
                        for partition in self._consumer.assignment()
                        if (offset := self._consumer.position(partition)) is not None
                    },
                    self._consumer.group_metadata(),
                )
                producer.commit_transaction()
            except Exception:
                with contextlib.suppress(Exception):  # the first error is the one that counts
                    producer.abort_transaction()
                raise
        finally:
            producer.close()

    def commit_now(self) -> None:
        """Commit in the callback that takes partitions away, if the user does so."""
        if not self.commits_on_revoke:
            return
        try:
            self._consumer.commit()
        except Exception as error:  # noqa: BLE001  (any error that a user would get)
            self.tell("error", where="commit", **self.error(error))

    async def unsubscribe(self) -> None:
        """Unsubscribe from all topics."""
        self._consumer.unsubscribe()

    async def pause(self, partitions: list[list[Any]]) -> None:
        """Pause partitions."""
        self._consumer.pause(*starmap(TopicPartition, partitions))

    async def resume(self, partitions: list[list[Any]]) -> None:
        """Resume partitions."""
        self._consumer.resume(*starmap(TopicPartition, partitions))

    async def close(self, timeout_ms: int) -> None:
        """Close the consumer."""
        self._consumer.close(**{"timeout_ms": timeout_ms} if _CLOSES_IN_TIME else {})


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # it has no types
    def __init__(self, user: KafkaPythonUser) -> None:
        self._user = user

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self._user.tell_partitions("assigned", assigned)

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        self._user.tell_partitions("revoked", revoked)
        self._user.commit_now()

    def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        self._user.tell_partitions("lost", lost)


if __name__ == "__main__":
    drive(KafkaPythonUser)
