"""The broker for applications beside real Kafkas, and with many consumers.

A quarter of an hour: `tox -e clients`.  What a release advertises is asked of it.  A consumer that
is served sends what it sends to a real Kafka, through the proxy.  With 50 static consumers under
traffic, memory grows with the requests that are recorded, and with nothing else.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from kafka.protocol.broker_version_data import BROKER_API_VERSIONS
from support.static_consumers import GROUP, TOPIC

from fencepost.conformance.serve.application_broker import ApplicationBroker, Recorded
from fencepost.conformance.serve.broker_apis import VERSIONS, parse_release, tells_which
from fencepost.conformance.serve.broker_history import History
from fencepost.conformance.serve.recording_proxy import RecordedKafka
from fencepost.conformance.targets.brokers.kafka import KafkaBroker
from fencepost.conformance.targets.brokers.kafka_version import parse_kafka_version
from fencepost.conformance.targets.tcp.security import Address
from fencepost.conformance.wire.codec import API_KEYS, decode_message, encode_message
from fencepost.model.messages.messages import APIS
from fencepost.model.revisions import revisions

KAFKA_4 = revisions.find("kafka-4")
SETTINGS = {"group.initial.rebalance.delay.ms": 500}
RELEASES = ("2.3.0", "2.4.1", "2.8.0", "3.1.2", "3.3.1", "3.6.0", "3.9.1", "4.1.1", "4.3.0")
WAIT_S = 120.0
SECONDS = 60
LONGEST_S = 600.0
QUICK_MS = 5000
"""A machine that is slower may end sessions, and what was read then is read again."""
EACH_BYTES, SPARE_BYTES = 3000, 3 << 20
"""Of memory: for each exchange that is kept, and beside them; an allocator gives nothing back."""
CONSUMERS, PROCESSES = 50, 5
PAGE = os.sysconf("SC_PAGE_SIZE")
TESTS = Path(__file__).resolve().parents[2]


async def started(version: str, folder: Path) -> KafkaBroker:
    broker = KafkaBroker(parse_kafka_version(version), folder, folder / "server.log", {})
    await broker.start()
    return broker


def address_of(broker: KafkaBroker) -> Address:
    host, _, port = broker.address.rpartition(":")
    return Address(host, int(port))


async def versions_at(address: Address, version: int) -> dict[str, Any]:
    """What is answered to a version of ApiVersions, by the header alone if it is too high."""
    reader, writer = await asyncio.open_connection(address.host, address.port)
    body = {"clientSoftwareName": "c", "clientSoftwareVersion": "1"} if version else {}
    frame = encode_message("ApiVersions", "Request", min(version, 4), 7, body, client_id="c")
    writer.write(frame[:6] + version.to_bytes(2) + frame[8:])
    async with asyncio.timeout(WAIT_S):
        size = int.from_bytes(await reader.readexactly(4))
        answer = decode_message("ApiVersions", 0, await reader.readexactly(size)).body
    writer.transport.abort()
    assert answer is not None
    return answer


@pytest.mark.needs("java")
@pytest.mark.parametrize("version", RELEASES)
async def test_a_release_advertises_what_the_table_says(version: str, tmp_path: Path) -> None:
    number = parse_release(version)
    broker = await started(version, tmp_path)
    try:
        told = await versions_at(address_of(broker), 0)
        too_high = await versions_at(address_of(broker), 9)
    finally:
        await broker.end()
    there = {row["apiKey"]: (row["minVersion"], row["maxVersion"]) for row in told["apiKeys"]}
    keys = [API_KEYS[api] for api in (*VERSIONS, *APIS)]
    table = BROKER_API_VERSIONS[number]
    assert {key: there.get(key) for key in keys} == {key: table.get(key) for key in keys}
    assert bool(too_high["apiKeys"]) is tells_which(number)


# A consumer that is served, and the same at a real Kafka.


def consume(address: str, count: int) -> list[bytes]:
    """A static consumer: reads so many records, commits, closes; so does its successor."""
    found: list[bytes] = []
    for upto in (count, 2 * count):
        given = {
            "bootstrap.servers": address,
            "group.id": GROUP,
            "group.instance.id": "i1",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
        consumer = confluent_kafka.Consumer(given)
        consumer.subscribe([TOPIC])
        while len(found) < upto:
            message = consumer.poll(WAIT_S)
            assert message is not None
            assert message.error() is None
            found.append(message.value() or b"")
        consumer.commit(asynchronous=False)
        consumer.close()
        if upto == count:
            producer = confluent_kafka.Producer({"bootstrap.servers": address})
            for number in range(count):
                producer.produce(TOPIC, f"later {number}".encode(), partition=number % 3)
            assert producer.flush(WAIT_S) == 0
    return found


def group_side(history: History) -> list[tuple[str, int, int | None]]:
    """What the group was asked, once each, and how it was answered; heartbeats aside."""
    seen = [
        (e.api, e.version, None if e.answer_body is None else e.answer_body.get("errorCode"))
        for e in history.exchanges
        if e.api in APIS and e.api != "Heartbeat"
    ]
    return list(dict.fromkeys(seen))


async def consumed(broker: Recorded) -> list[bytes]:
    await broker.create_topics({TOPIC: 3})
    for partition in range(3):
        await broker.produce(TOPIC, partition, 4)
    return sorted(await asyncio.to_thread(consume, broker.bootstrap, 12))


@pytest.mark.needs("java")
async def test_a_consumer_asks_a_served_broker_as_it_asks_kafka(tmp_path: Path) -> None:
    broker = await started("4.3.0", tmp_path)
    try:
        async with RecordedKafka(address_of(broker)) as real:
            there, real_side = await consumed(real), group_side(real.history)
            assert await real.remove(GROUP, "i1") == 0
    finally:
        await broker.end()
    async with ApplicationBroker(KAFKA_4, SETTINGS) as served:
        here, served_side = await consumed(served), group_side(served.history)
        assert await served.remove(GROUP, "i1") == 0
    assert len(here) == len(there) == 24
    assert [value for value in here if b"later" in value] == [v for v in there if b"later" in v]
    assert served_side == real_side


# Memory.


def resident() -> int:
    """Bytes of memory that this process has."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * PAGE


def say(text: str) -> None:
    """A line of the table that `pytest -s` shows."""
    sys.stdout.write(text)


@dataclass(frozen=True)
class Sample:
    """Bytes of memory, of them those of the log, and how many exchanges there were."""

    memory: int
    log: int
    exchanges: int


def sample(broker: ApplicationBroker) -> Sample:
    logs = broker.topics[TOPIC].partitions
    return Sample(resident(), sum(log._size for log in logs), len(broker.history.exchanges))


def committed(broker: ApplicationBroker) -> int:
    group = broker.groups.running.groups.get(GROUP)
    return 0 if group is None else sum(offset.offset for offset in group.offsets)


async def with_fifty(broker: ApplicationBroker) -> tuple[list[Sample], int, list[Any]]:
    """A sample every ten seconds; what was produced, and what the consumers saw."""
    each = CONSUMERS // PROCESSES
    children = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "support.static_consumers", broker.bootstrap),
            *(str(number * each), str(each), "12"),
            cwd=TESTS,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        for number in range(PROCESSES)
    ]
    samples, produced = [], 0
    try:
        for second in range(SECONDS):
            for partition in range(2 * CONSUMERS):
                await broker.produce(TOPIC, partition, 2)
                produced += 2
            await asyncio.sleep(1)
            if second % 10 == 9:
                samples.append(sample(broker))
        async with asyncio.timeout(LONGEST_S):
            while committed(broker) < produced:  # noqa: ASYNC110  (nobody tells)
                await asyncio.sleep(0.1)
        samples.append(sample(broker))
        told = [json.loads((await child.communicate(b""))[0]) for child in children]
    finally:
        for child in children:
            if child.returncode is None:
                child.kill()
    return samples, produced, told


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "written"])
async def test_memory_grows_with_what_is_recorded(kept: bool) -> None:
    broker = ApplicationBroker(KAFKA_4, SETTINGS, topics={TOPIC: 2 * CONSUMERS})
    if not kept:
        broker.history.sink = len
    async with broker:
        samples, produced, told = await with_fifty(broker)
        generation = broker.groups.running.groups[GROUP].generation_id
        worst_ms = broker.history.worst_ms(0, broker.history.now_ms())
    read = sum(one["read"] for one in told)
    twice = [record for one in told for record in one["twice"]]
    first, last = samples[1], samples[-1]
    exchanges = last.exchanges - first.exchanges
    rest = last.memory - first.memory - (last.log - first.log)
    say(
        f"\n{'kept' if kept else 'written'}: {samples}\nproduced {produced}, read {read}, "
        f"{len(twice)} twice; generation {generation}; {exchanges} exchanges, {rest} bytes; "
        f"the control waited for {worst_ms} ms at most\n"
    )
    assert read >= produced
    if worst_ms < QUICK_MS:
        assert (read, twice) == (produced, [])
    assert rest < EACH_BYTES * exchanges + SPARE_BYTES
