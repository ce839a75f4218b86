"""Start two Kafka brokers of which one leads all groups, until the other has to; both write logs.

With KRaft the leadership moves, and no process ends: two controllers can't lose one of them.  Kafka
before 3.3 is run with ZooKeeper, and there the coordinator is killed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from support.kafka.admin import open_admin

from fencepost.conformance.runtime.toolchain.child import free_ports
from fencepost.conformance.targets.brokers.kafka import (
    HOST,
    QUICK_FAILOVER,
    KafkaBroker,
    KafkaCluster,
)
from fencepost.conformance.targets.brokers.kafka_version import KafkaVersion

_ANY_GROUP = "fencepost-moved"


@dataclass(frozen=True)
class TwoBrokers:
    """`bootstrap`: both addresses.  `fail_over` returns an address that stays."""

    bootstrap: str
    fail_over: Callable[[], Awaitable[str]]


@asynccontextmanager
async def two_brokers(version: KafkaVersion, folder: Path) -> AsyncIterator[TwoBrokers]:
    """Start them; `server-N.log` and `requests-N.log` in the folder are their logs."""
    start = _with_zookeeper if version.has_zookeeper else _with_kraft
    async with start(version, folder) as brokers:
        yield brokers


@asynccontextmanager
async def _with_kraft(version: KafkaVersion, folder: Path) -> AsyncIterator[TwoBrokers]:
    both = replace(version, nodes=2)
    logs = folder / "server.log", folder / "requests.log"
    cluster = KafkaCluster(both, folder, logs[0], {}, request_log=logs[1])

    async def fail_over() -> str:
        await cluster.resign()
        await cluster.loaded()
        return cluster.address

    try:
        await cluster.start()
        addresses = [node.address for node in cluster.nodes.values()]
        yield TwoBrokers(",".join(addresses), fail_over)
    finally:
        await cluster.end()


@asynccontextmanager
async def _with_zookeeper(version: KafkaVersion, folder: Path) -> AsyncIterator[TwoBrokers]:
    ports = free_ports(4)
    brokers: dict[str, KafkaBroker] = {}
    for number in (1, 2):
        home = folder / str(number)
        home.mkdir()
        own = {
            "broker.id": str(number),
            "zookeeper.connect": f"{HOST}:{ports[1]}",
            "offsets.topic.replication.factor": "2",
        }
        pair = (ports[2 * number - 2], ports[2 * number - 1])
        brokers[f"{HOST}:{pair[0]}"] = KafkaBroker(
            *(version, home, folder / f"server-{number}.log", QUICK_FAILOVER | own),
            ports=pair,
            request_log=folder / f"requests-{number}.log",
        )

    async def fail_over() -> str:
        admin = await open_admin(next(iter(brokers)))
        leader = str(await admin.find_coordinator(_ANY_GROUP))
        await brokers[leader].kill()
        return next(address for address in brokers if address != leader)

    try:
        async with asyncio.TaskGroup() as tasks:
            for broker in brokers.values():
                tasks.create_task(broker.start())
        yield TwoBrokers(",".join(brokers), fail_over)
    finally:
        # The first has the ZooKeeper of both, without which the other one ends slowly.
        for broker in reversed(brokers.values()):
            await broker.end()
