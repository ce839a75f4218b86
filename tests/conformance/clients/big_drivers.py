"""Each driver keeps the contract, with its library, against a real Kafka: a table of what was done.

`tox -e clients`: some minutes, most of them the first builds.  What a library does wrong is told in
the table and judged elsewhere; a driver fails here where it breaks the protocol.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from support.clients.contract import EACH, PARTITIONS, Broker, Contract, try_out

from fencepost.conformance.clients.driver_programs import LIBRARIES, find_client
from fencepost.conformance.targets.brokers.kafka import KafkaTarget
from fencepost.conformance.targets.brokers.kafka_version import parse_kafka_version

pytestmark = [
    pytest.mark.needs("java", "javac", "go", "node"),
    pytest.mark.asyncio(loop_scope="module"),
]

NAMES = [f"{kind}:{version}" for kind, library in LIBRARIES.items() for version in library.versions]
RUNS = [(name, "range") for name in NAMES]
RUNS += [
    (f"{kind}:{LIBRARIES[kind].versions[0]}", "cooperative-sticky")
    for kind in ("java", "confluent-kafka", "kafka-python", "franz-go", "sarama", "platformatic")
]
WITHOUT_STATIC = {"kafka-go", "kafkajs"}
ALL = str(PARTITIONS * EACH)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def address() -> AsyncIterator[str]:
    async with KafkaTarget(parse_kafka_version("4.3.0")) as kafka:
        yield kafka.address


@pytest.mark.parametrize(("name", "assignor"), RUNS)
async def test_a_driver_keeps_the_contract(name: str, assignor: str, address: str) -> None:
    contract = Contract(find_client(name), Broker(address), assignor)
    await try_out(contract)
    for step, result in contract.rows:
        print(f"{name:24} {contract.assignor:18} {step:24} {result}")  # noqa: T201  (the table)

    rows = dict(contract.rows)
    kind = name.partition(":")[0]
    assert ("another takes i1" in rows) == (kind not in WITHOUT_STATIC)
    assert rows["records"] == rows["records after restart"] == ALL
    assert rows["records after poll-on"] == str(2 * PARTITIONS * EACH)
    for step in ("start", "commit", "stop-polling", "poll-on", "close", "start again"):
        assert rows[step].startswith("Done("), (step, rows[step])
