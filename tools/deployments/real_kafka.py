"""A Kafka that is started for deployments, behind a proxy that records what its clients ask."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from fencepost.conformance.serve.recording_proxy import RecordedKafka
from fencepost.conformance.targets.brokers.kafka_broker import QUICK_FAILOVER, KafkaBroker
from fencepost.conformance.targets.brokers.kafka_version import parse_kafka_version
from fencepost.conformance.targets.tcp.address import Address


@dataclass(frozen=True, slots=True)
class RealKafka:
    """A broker, and the proxy that records it."""

    broker: KafkaBroker
    proxy: RecordedKafka


@asynccontextmanager
async def started_kafka(
    version: str, folder: Path, initial_delay_ms: int
) -> AsyncIterator[RealKafka]:
    """Start a Kafka with its data and its log in a folder; it ends with this.

    Raises TargetUnavailableError.
    """
    properties = QUICK_FAILOVER | {"group.initial.rebalance.delay.ms": str(initial_delay_ms)}
    release = parse_kafka_version(version)
    broker = KafkaBroker(release, folder, folder / "server.log", properties)
    try:
        await broker.start()
        host, _, port = broker.address.rpartition(":")
        async with RecordedKafka(Address(host, int(port))) as proxy:
            yield RealKafka(broker, proxy)
    finally:
        await broker.end()
