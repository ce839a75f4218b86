"""Drive aiokafka."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from importlib.util import find_spec
from itertools import starmap
from typing import Any, ClassVar

import aiokafka
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition

from fencepost.conformance.clients.drivers.driver_user import STATIC, User, assignors_in, drive

_POLL_MS = 100
# Before 0.9 the assignors are those of kafka-python, on which it is built.
_HOME = "aiokafka" if find_spec("aiokafka.coordinator") is not None else "kafka"
_ASSIGNORS = assignors_in(
    {
        f"{_HOME}.coordinator.assignors.range": "RangePartitionAssignor",
        f"{_HOME}.coordinator.assignors.roundrobin": "RoundRobinPartitionAssignor",
        f"{_HOME}.coordinator.assignors.sticky.sticky_assignor": "StickyPartitionAssignor",
    }
)
_OPTIONS = inspect.signature(AIOKafkaConsumer).parameters
_FEATURES = [
    *([STATIC] if "group_instance_id" in _OPTIONS else []),
    *("auto-commit", "manual-commit", "pause", "seek", "commit-on-revoke", "metadata-age"),
    *("pattern", "close-twice"),
]


class AiokafkaUser(User):
    """A user of aiokafka.AIOKafkaConsumer."""

    introduction: ClassVar[dict[str, Any]] = {
        "client": "aiokafka",
        "version": aiokafka.__version__,
        "features": _FEATURES,
        "assignors": list(_ASSIGNORS),
    }

    async def start(self, command: dict[str, Any]) -> None:
        """Make the consumer, subscribe and start it."""
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
        self._consumer = AIOKafkaConsumer(**config | command["settings"])
        if "pattern" in command:
            self._consumer.subscribe(pattern=command["pattern"], listener=_Listener(self))
        else:
            await self.subscribe(command["topics"])
        await self._consumer.start()

    async def subscribe(self, topics: list[str]) -> None:
        """Subscribe, with a listener."""
        self._consumer.subscribe(topics, listener=_Listener(self))

    async def poll(self) -> None:
        """Poll for records of some partitions."""
        for partition, records in (await self._consumer.getmany(timeout_ms=_POLL_MS)).items():
            offsets = [record.offset for record in records]
            self.tell_records(partition.topic, partition.partition, offsets)

    async def commit(self) -> None:
        """Commit and wait."""
        await self._consumer.commit()

    async def commit_now(self) -> None:
        """Commit in the callback that takes partitions away, if the user does so."""
        if not self.commits_on_revoke:
            return
        try:
            await self._consumer.commit()
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

    async def close(self, timeout_ms: int) -> None:  # noqa: ARG002  (it has none)
        """Close the consumer."""
        await self._consumer.stop()


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # it has no types
    def __init__(self, user: AiokafkaUser) -> None:
        self._user = user

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self._user.tell_partitions("assigned", assigned)

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        self._user.tell_partitions("revoked", revoked)
        await self._user.commit_now()


if __name__ == "__main__":
    drive(AiokafkaUser)
