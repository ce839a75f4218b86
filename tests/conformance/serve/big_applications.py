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
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from kafka.protocol.broker_version_data import BROKER_API_VERSIONS
from support.static_consumers import GROUP, TOPIC

from fencepost.conformance.serve.apis import VERSIONS
from fencepost.conformance.serve.application_broker import ApplicationBroker, Recorded
from fencepost.conformance.serve.history import History
from fencepost.conformance.serve.recording_proxy import RecordedKafka
from fencepost.conformance.serve.releases import parse_release, tells_which
from fencepost.conformance.targets.brokers.kafka_broker import KafkaBroker
from fencepost.conformance.targets.brokers.kafka_version import parse_kafka_version
from fencepost.conformance.targets.tcp.address import Address
from fencepost.conformance.targets.tcp.wire import API_KEYS, decode_message, encode_message
from fencepost.model.messages.messages import APIS
from fencepost.model.revisions import revisions

KAFKA_4 = revisions.find("kafka-4")
SETTINGS = {"group.initial.rebalance.delay.ms": 500}
RELEASES = ("2.3.0", "2.4.1", "2.8.0", "3.1.2", "3.3.1", "3.6.0", "3.9.1", "4.1.1", "4.3.0")
WAIT_S = 120.0
SECONDS = 60
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
        (e.api, e.version, None if e.answer is None else e.answer.get("errorCode"))
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


async def with_fifty(broker: ApplicationBroker) -> tuple[list[tuple[int, int]], int, list[Any]]:
    """Memory and exchanges every ten seconds; what was produced, and what the consumers saw."""
    each = CONSUMERS // PROCESSES
    children = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "support.static_consumers", broker.bootstrap),
            *(str(number * each), str(each), str(SECONDS + 20), "12"),
            cwd=TESTS,
            stdout=asyncio.subprocess.PIPE,
        )
        for number in range(PROCESSES)
    ]
    samples, produced = [], 0
    for second in range(SECONDS):
        for partition in range(2 * CONSUMERS):
            await broker.produce(TOPIC, partition, 2)
            produced += 2
        await asyncio.sleep(1)
        if second % 10 == 9:
            samples.append((resident(), len(broker.history.exchanges)))
    told = [json.loads((await child.communicate())[0]) for child in children]
    return samples, produced, told


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "written"])
async def test_memory_grows_with_what_is_recorded(kept: bool) -> None:
    broker = ApplicationBroker(KAFKA_4, SETTINGS, topics={TOPIC: 2 * CONSUMERS})
    if not kept:
        broker.history.sink = len
    async with broker:
        samples, produced, told = await with_fifty(broker)
        generations = {
            e.answer["generationId"]
            for e in broker.history.exchanges
            if e.api == "JoinGroup" and e.answer is not None
        }
    read = sum(one["read"] for one in told)
    twice = sum(len(one["twice"]) for one in told)
    how = "kept" if kept else "written"
    say(f"\n{how}: {samples}; produced {produced}, read {read}, {twice} of them twice\n")
    assert (read, twice) == (produced, 0)
    grown, exchanges = (samples[-1][n] - samples[1][n] for n in (0, 1))
    if kept:
        assert len(generations - {-1}) <= 2  # formed at once, or in two steps: no restart counts
        assert grown < 3000 * exchanges
    else:
        assert exchanges == 0
        assert grown < 6 << 20  # the records, which share 64 MiB, and the control
