"""Real clients with a served model: consumers join a group, get partitions, and keep them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import closing

import confluent_kafka
from kafka import KafkaConsumer
from support.served import PATIENCE_S, QUICK

from fencepost.conformance.serve.broker import ModelBroker
from fencepost.model.revisions import revisions

TOPIC = "topic"
STATIC = {"group.id": "g", "session.timeout.ms": 6000, "enable.auto.commit": False}


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


async def test_what_nobody_speaks_ends_the_connection_and_nothing_else() -> None:
    async with ModelBroker(revisions.find("kafka-4"), QUICK, topics={TOPIC: 4}) as broker:
        address = str(broker.address)

        def produce() -> int:
            producer = confluent_kafka.Producer(
                {"bootstrap.servers": address, "message.timeout.ms": 500, "log_level": 0}
            )
            producer.produce(TOPIC, b"nothing can be produced")
            return producer.flush(0.6)

        await asyncio.to_thread(produce)
        consumer = await asyncio.to_thread(librdkafka, address, "A")
        await asyncio.to_thread(
            until, lambda: consumer.poll(0.1) is None and len(consumer.assignment()) == 4
        )
        await asyncio.to_thread(consumer.close)
