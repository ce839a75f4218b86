"""A consumer of a real library as a process: `python -m support.logs.real_consumer LIBRARY …`.

It polls until SIGTERM, then closes.  What happens to it is written to its output, a line of JSON
for each event: `assigned`, `logged` (what the library logs as an error), `fatal` (what it raised),
`closed`.  It ends by itself only where its library raises an error.
"""

from __future__ import annotations

import json
import logging
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

TOPIC = "orders"
SESSION_MS = 20_000
POLL_S = 0.2
_stopped: list[int] = []


def say(event: str, **more: object) -> None:
    """Write an event."""
    row = {"at_ms": int(time.time() * 1000), "event": event, **more}
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()


class Logged(logging.Handler):
    """Writes what a library logs as an error."""

    def emit(self, record: logging.LogRecord) -> None:
        say("logged", error=record.getMessage())


def kafka_python(
    address: str, group: str, client_id: str, instance: str | None
) -> Callable[[], None]:
    """A consumer of kafka-python; returns what polls once, or closes once it is stopped."""
    from kafka import ConsumerRebalanceListener, KafkaConsumer  # noqa: PLC0415 (one of two)

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
        def on_partitions_revoked(self, revoked: Any) -> None:
            del revoked

        def on_partitions_assigned(self, assigned: Any) -> None:
            say("assigned", partitions=len(assigned))

    consumer = KafkaConsumer(
        bootstrap_servers=address,
        group_id=group,
        group_instance_id=instance,
        client_id=client_id,
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=1000,
        enable_auto_commit=False,
    )
    consumer.subscribe([TOPIC], listener=Listener())

    def step() -> None:
        if _stopped:
            consumer.close()
        else:
            consumer.poll(timeout_ms=int(POLL_S * 1000))

    return step


def confluent_kafka(
    address: str, group: str, client_id: str, instance: str | None
) -> Callable[[], None]:
    """A consumer of confluent-kafka; as above."""
    from confluent_kafka import Consumer, KafkaException  # noqa: PLC0415 (one of two)

    settings: dict[str, Any] = {
        "bootstrap.servers": address,
        "group.id": group,
        "client.id": client_id,
        "session.timeout.ms": SESSION_MS,
        "heartbeat.interval.ms": 1000,
        "enable.auto.commit": False,
        "error_cb": lambda error: say("logged", error=str(error)),
    }
    if instance is not None:
        settings["group.instance.id"] = instance
    consumer = Consumer(settings)
    consumer.subscribe([TOPIC], on_assign=lambda _, got: say("assigned", partitions=len(got)))

    def step() -> None:
        if _stopped:
            consumer.close()
            return
        message = consumer.poll(POLL_S)
        if message is not None and (error := message.error()) is not None:
            raise KafkaException(error)

    return step


LIBRARIES = {"kafka-python": kafka_python, "confluent-kafka": confluent_kafka}


def main(library: str, address: str, group: str, client_id: str, instance: str = "") -> None:
    """Consume until a signal, or a fatal error."""
    logging.getLogger().addHandler(Logged(logging.ERROR))
    signal.signal(signal.SIGTERM, lambda *_: _stopped.append(1))
    try:
        step = LIBRARIES[library](address, group, client_id, instance or None)
        while not _stopped:
            step()
        step()
    except Exception as error:  # noqa: BLE001 - whatever a library raises happened to the process
        say("fatal", error=f"{type(error).__name__}: {error}")
    else:
        say("closed")


if __name__ == "__main__":
    main(*sys.argv[1:])
