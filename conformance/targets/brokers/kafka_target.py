"""`kafka:VERSION`: Apache Kafka, started here; it can fail over and be given any setting.

In a failover of one node the process is killed and started again; in a cluster (`*NODES`) another
node becomes the coordinator.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fencepost.conformance.targets.brokers.kafka_broker import QUICK_FAILOVER, KafkaBroker
from fencepost.conformance.targets.brokers.kafka_cluster import KafkaCluster
from fencepost.conformance.targets.brokers.kafka_version import KafkaVersion
from fencepost.conformance.targets.brokers.started import FIRST, BrokerPlace, StartedTarget
from fencepost.conformance.targets.tcp.failovers import Failovers
from fencepost.conformance.targets.tcp.tcp import TcpTarget
from fencepost.model.coordinator import CONFIG_DEFAULTS
from fencepost.properties.departures.departure import coordinator_of

IMPLEMENTATION = "Apache Kafka"
_FEATURES = frozenset({"disconnect", "missing-topics", "delete-topics", "restart"})


class KafkaTarget(StartedTarget):
    """A Kafka of one node, or a cluster.

    `request_log`: where the first broker of one node adds each answered request.
    """

    settable = frozenset(CONFIG_DEFAULTS)

    def __init__(
        self,
        version: KafkaVersion,
        *,
        properties: Mapping[str, str] | None = None,
        logs: Path | None = None,
        capacity: int = 8,
        request_log: Path | None = None,
    ) -> None:
        super().__init__(f"kafka:{version}", properties, logs, capacity)
        if version.nodes > 1:  # each kind of broker would be another cluster
            self.settable = frozenset()
        self.version = version
        self._request_log = request_log

    @property
    def aliases(self) -> frozenset[str]:
        """What else it is called in lists of known failures: Kafka by its coordinator."""
        return frozenset({coordinator_of(self.name)})

    async def start_broker(self, place: BrokerPlace) -> TcpTarget:
        """A broker, and its ZooKeeper where it needs one.  Raises TargetUnavailableError."""
        kind, stack = place.kind, place.stack
        if self.version.nodes > 1:
            return await self._start_cluster(place)
        quick = QUICK_FAILOVER if kind.restarts else {}
        properties = quick | self._properties | kind.properties()
        request_log = self._request_log if kind == FIRST else None
        broker = KafkaBroker(
            self.version, place.folder, place.log, properties, request_log=request_log
        )
        stack.push_async_callback(broker.end)
        await broker.start()
        failovers = None
        if kind.restarts:
            failovers = Failovers(broker.kill, broker.run_again)
            stack.push_async_callback(failovers.close)
        return await self._reached(place, broker.address, failovers)

    async def _start_cluster(self, place: BrokerPlace) -> TcpTarget:
        """Nodes of which one after the other coordinates all groups."""
        properties = self._properties | place.kind.properties()
        cluster = KafkaCluster(self.version, place.folder, place.log, properties)
        place.stack.push_async_callback(cluster.end)
        await cluster.start()
        failovers = None
        if place.kind.restarts:
            failovers = Failovers(cluster.resign, cluster.loaded, keeps_connections=True)
            place.stack.push_async_callback(failovers.close)
        return await self._reached(place, cluster.address, failovers)

    async def _reached(
        self, place: BrokerPlace, address: str, failovers: Failovers | None
    ) -> TcpTarget:
        version, options = str(self.version), {"features": _FEATURES, "failovers": failovers}
        return await self.connected(
            place, address, implementation=IMPLEMENTATION, version=version, **options
        )
