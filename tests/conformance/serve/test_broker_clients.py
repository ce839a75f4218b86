"""Real clients with a served model: consumers join a group, get partitions, and keep them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import closing

import confluent_kafka
from kafka import KafkaConsumer, KafkaProducer
from support.served import PATIENCE_S, QUICK

from fencepost.conformance.serve.broker import ModelBroker
from fencepost.model.revisions import revisions

TOPIC = "topic"
CODECS = ("gzip", "lz4", "snappy", "zstd")
STATIC = {
    "group.id": "g",
    "auto.offset.reset": "earliest",
    "session.timeout.ms": 6000,
    "enable.auto.commit": False,
}


def until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < end


def librdkafka(address: str, instance: str) -> confluent_kafka.Consumer:
    given = {"bootstrap.servers": address, "group.instance.id": instance, **STATIC}
    consumer = confluent_kafka.Consumer(given)
    consumer.subscribe([TOPIC])
    return consumer


def two_clients_share(address: str) -> tuple[set[int], set[int], set[int]]:
    """What two consumers hold, and the first one's successor under its instance id."""
    first = librdkafka(address, "A")
    until(lambda: first.poll(0.1) is None and len(first.assignment()) == 4)
    second = KafkaConsumer(
        TOPIC,
        bootstrap_servers=address,
        group_id="g",
        group_instance_id="B",
        session_timeout_ms=6000,
        enable_auto_commit=False,
    )
    with closing(second):

        def shared() -> bool:
            second.poll(100)
            first.poll(0.1)
            return len(second.assignment()) == len(first.assignment()) == 2

        until(shared)
        theirs = {p.partition for p in second.assignment()}
        before = {p.partition for p in first.assignment()}
        offset = confluent_kafka.TopicPartition(TOPIC, min(before), 7)
        first.commit(offsets=[offset], asynchronous=False)
        first.close()  # a static member doesn't leave
        again = librdkafka(address, "A")

        def back() -> bool:
            second.poll(100)
            again.poll(0.1)
            return len(again.assignment()) == 2

        until(back)
        after = {p.partition for p in again.assignment()}
        assert again.committed([offset], timeout=PATIENCE_S)[0].offset == 7
        again.close()
    return before, theirs, after


async def test_a_static_consumer_gets_back_what_it_had() -> None:
    async with ModelBroker(revisions.find("kafka-4"), QUICK, topics={TOPIC: 4}) as broker:
        serving = asyncio.create_task(broker.serve())
        before, theirs, after = await asyncio.to_thread(two_clients_share, str(broker.address))
        assert not serving.done()
        serving.cancel()
    assert before | theirs == {0, 1, 2, 3}
    assert after == before


def reads_what_is_produced(address: str) -> tuple[set[bytes], set[bytes]]:
    """What a static consumer reads of two clients' records, and its successor of the rest."""
    first = {f"{codec} {number}".ljust(500).encode() for codec in CODECS for number in range(5)}
    later = {f"later {number}".encode() for number in range(20)}
    given = {"bootstrap.servers": address, "enable.idempotence": True}
    for codec in CODECS:
        producer = confluent_kafka.Producer({**given, "compression.type": codec})
        for value in first:
            if value.startswith(codec.encode()):
                producer.produce(TOPIC, value)
        assert producer.flush(PATIENCE_S) == 0

    def read(count: int) -> set[bytes]:
        """By a consumer that commits and goes."""
        consumer = librdkafka(address, "A")
        got: set[bytes] = set()

        def enough() -> bool:
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                got.add(message.value() or b"")
            return len(got) >= count

        until(enough)
        consumer.commit(asynchronous=False)
        consumer.close()
        return got

    seen = read(20)
    with closing(KafkaProducer(bootstrap_servers=address)) as other:
        for value in later:
            other.send(TOPIC, value)
        other.flush(PATIENCE_S)
    return seen - first, read(20) ^ later


def consumer_of_kip_848(address: str, instance: str) -> confluent_kafka.Consumer:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "g",
            "group.protocol": "consumer",
            "group.instance.id": instance,
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([TOPIC])
    return consumer


def two_consumers_share(address: str) -> tuple[set[int], set[int]]:
    """Return the partitions of a consumer beside another one, and those of its successor."""
    first = consumer_of_kip_848(address, "A")
    until(lambda: first.poll(0.1) is None and len(first.assignment()) == 4)
    second = consumer_of_kip_848(address, "B")
    with closing(second):

        def shared(other: confluent_kafka.Consumer) -> bool:
            second.poll(0.1)
            other.poll(0.1)
            return len(second.assignment()) == len(other.assignment()) == 2

        until(lambda: shared(first))
        before = {p.partition for p in first.assignment()}
        offset = confluent_kafka.TopicPartition(TOPIC, min(before), 7)
        first.commit(offsets=[offset], asynchronous=False)
        first.close()  # with -2
        again = consumer_of_kip_848(address, "A")
        until(lambda: shared(again))
        after = {p.partition for p in again.assignment()}
        assert again.committed([offset], timeout=PATIENCE_S)[0].offset == 7
        again.close()
    return before, after


async def test_a_static_consumer_of_the_consumer_protocol_gets_back_what_it_had() -> None:
    settings = {
        "group.consumer.heartbeat.interval.ms": 200,
        "group.consumer.assignment.interval.ms": 0,
    }
    revision = revisions.find("consumer-4.3")
    async with ModelBroker(revision, settings, topics={TOPIC: 4}) as broker:
        address = str(broker.address)
        before, after = await asyncio.to_thread(two_consumers_share, address)
        group = broker.groups.running.groups["g"]
        assert len(group.members) == 2
        assert all(member.is_released for member in group.members)
    assert before == after


async def test_records_are_read_once_across_a_restart() -> None:
    async with ModelBroker(revisions.find("kafka-4"), QUICK, topics={TOPIC: 4}, nodes=2) as broker:
        serving = asyncio.create_task(broker.serve())
        strange, wrong = await asyncio.to_thread(reads_what_is_produced, str(broker.address))
        assert not serving.done()
        serving.cancel()
    assert (strange, wrong) == (set(), set())
