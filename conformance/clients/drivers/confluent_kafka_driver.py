"""Drive confluent-kafka (librdkafka), as its README's consumer polls."""

from __future__ import annotations

from functools import partial
from itertools import starmap
from typing import Any, ClassVar

import confluent_kafka
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from fencepost.conformance.clients.drivers.driver_user import User, drive

_POLL_S = 0.1
_TRANSACTION_S = 5.0
_WITH_GROUP_PROTOCOL = 0x02040000
"""The first librdkafka that has it."""

_FEATURES = ["static", "cooperative", "auto-commit", "manual-commit", "pause", "seek"]
_FEATURES += ["commit-on-revoke", "metadata-age", "transactions", "pattern", "close-twice"]
if confluent_kafka.libversion()[1] >= _WITH_GROUP_PROTOCOL:
    _FEATURES.append("next-generation")


class ConfluentUser(User):
    """A user of confluent_kafka.Consumer."""

    introduction: ClassVar[dict[str, Any]] = {
        "client": "confluent-kafka",
        "version": f"{confluent_kafka.__version__}, librdkafka {confluent_kafka.libversion()[0]}",
        "features": _FEATURES,
        "assignors": ["range", "roundrobin", "cooperative-sticky"],
    }

    async def start(self, command: dict[str, Any]) -> None:
        """Make the consumer and subscribe it."""
        config = {
            "bootstrap.servers": command["bootstrap"],
            "group.id": command["group"],
            "session.timeout.ms": command["session_timeout_ms"],
            "heartbeat.interval.ms": command["heartbeat_interval_ms"],
            "max.poll.interval.ms": command["max_poll_interval_ms"],
            "partition.assignment.strategy": command["assignor"],
            "auto.offset.reset": command["auto_offset_reset"],
            "client.id": command["client_id"],
            "enable.auto.commit": command["auto_commit_ms"] is not None,
            "error_cb": partial(self._tell_error, "error_cb"),
        }
        if command["instance"] is not None:
            config["group.instance.id"] = command["instance"]
        if command["rack"] is not None:
            config["client.rack"] = command["rack"]
        if command["auto_commit_ms"] is not None:
            config["auto.commit.interval.ms"] = command["auto_commit_ms"]
        if "metadata_max_age_ms" in command:
            config["topic.metadata.refresh.interval.ms"] = command["metadata_max_age_ms"]
        self._consumer = Consumer(config | command["settings"])
        pattern = [command["pattern"]] if "pattern" in command else None
        await self.subscribe(pattern or command["topics"])

    async def subscribe(self, topics: list[str]) -> None:
        """Subscribe, with callbacks."""
        self._consumer.subscribe(
            topics,
            on_assign=lambda _, partitions: self.tell_partitions("assigned", partitions),
            on_revoke=self._revoked,
            on_lost=lambda _, partitions: self.tell_partitions("lost", partitions),
        )

    def _revoked(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.tell_partitions("revoked", partitions)
        if not self.commits_on_revoke:
            return
        try:
            self._commit()
        except KafkaException as error:
            self._tell_error("commit", error.args[0])

    async def poll(self) -> None:
        """Poll for one message, or an error in its place."""
        message = self._consumer.poll(_POLL_S)
        if message is None:
            return
        if (error := message.error()) is None:
            self.tell_records(message.topic(), message.partition(), [message.offset()])
        elif error.fatal():
            raise KafkaException(error)
        else:
            self._tell_error("poll", error)

    async def commit(self) -> None:
        """Commit and wait."""
        self._commit()

    def _commit(self) -> None:
        for partition in self._consumer.commit(asynchronous=False):
            if partition.error is not None:
                raise KafkaException(partition.error)

    async def commit_in_transaction(self) -> None:
        """Send the positions to a transaction, and commit it."""
        producer = Producer(
            {
                "bootstrap.servers": self.started["bootstrap"],
                "client.id": self.started["client_id"],
                "transactional.id": self.transactional_id,
            }
        )
        producer.init_transactions(_TRANSACTION_S)
        producer.begin_transaction()
        try:
            read = self._consumer.position(self._consumer.assignment())
            producer.send_offsets_to_transaction(
                [partition for partition in read if partition.offset >= 0],
                self._consumer.consumer_group_metadata(),
                _TRANSACTION_S,
            )
            producer.commit_transaction(_TRANSACTION_S)
        except KafkaException as error:
            if error.args[0].txn_requires_abort():
                producer.abort_transaction(_TRANSACTION_S)
            raise

    async def unsubscribe(self) -> None:
        """Unsubscribe from all topics."""
        self._consumer.unsubscribe()

    async def pause(self, partitions: list[list[Any]]) -> None:
        """Pause partitions."""
        self._consumer.pause(list(starmap(TopicPartition, partitions)))

    async def resume(self, partitions: list[list[Any]]) -> None:
        """Resume partitions."""
        self._consumer.resume(list(starmap(TopicPartition, partitions)))

    async def close(self, timeout_ms: int) -> None:  # noqa: ARG002  (it has none)
        """Close the consumer."""
        self._consumer.close()

    def error(self, error: Exception) -> dict[str, Any]:
        """Return the fields of a KafkaException, or of another exception."""
        if isinstance(error, KafkaException):
            return _fields(error.args[0])
        return {"code": type(error).__name__, "fatal": True, "message": str(error)}

    def _tell_error(self, where: str, error: KafkaError) -> None:
        self.tell("error", where=where, **_fields(error))


def _fields(error: KafkaError) -> dict[str, Any]:
    fatal = error.fatal() or error.code() == KafkaError._FATAL  # noqa: SLF001  (a public code)
    return {"code": error.name(), "fatal": fatal, "message": error.str()}


if __name__ == "__main__":
    drive(ConfluentUser)
