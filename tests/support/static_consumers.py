"""Static consumers of librdkafka under traffic: `python -m support.static_consumers ADDRESS …`.

Each is closed and made again every so often, until the input ends.  Then a line of JSON: how many
records were `read`, and which of them more than once, `twice`, as `PARTITION/OFFSET`.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter

import confluent_kafka

TOPIC = "t"
GROUP = "g"
POLL_S = 0.2


def consume(
    address: str, name: str, restart_s: float, over: threading.Event, seen: Counter[str]
) -> None:
    """One consumer, restarted, until it is over; then closed."""

    def start() -> confluent_kafka.Consumer:
        given = {
            "bootstrap.servers": address,
            "group.id": GROUP,
            "group.instance.id": name,
            "client.id": name,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 30_000,
            "heartbeat.interval.ms": 1000,
            "auto.commit.interval.ms": 500,
        }
        consumer = confluent_kafka.Consumer(given)
        consumer.subscribe([TOPIC])
        return consumer

    consumer, restart = start(), time.monotonic() + restart_s
    while not over.is_set():
        for message in consumer.consume(100, POLL_S):
            if message.error() is None:
                seen[f"{message.partition()}/{message.offset()}"] += 1
        if time.monotonic() > restart:
            consumer.close()
            consumer, restart = start(), time.monotonic() + restart_s
    consumer.close()


def main(address: str, first: int, count: int, restart_s: float) -> None:
    """So many consumers, the instances `i{first}` and so on."""
    over = threading.Event()
    seen: list[Counter[str]] = [Counter() for _ in range(count)]
    threads = [
        threading.Thread(
            target=consume,
            args=(address, f"i{first + n}", restart_s * (1 + n / count), over, seen[n]),
        )
        for n in range(count)
    ]
    for thread in threads:
        thread.start()
    sys.stdin.read()
    over.set()
    for thread in threads:
        thread.join()
    total = sum(seen, Counter())
    twice = [record for record, times in total.items() if times > 1]
    sys.stdout.write(json.dumps({"read": len(total), "twice": twice}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
