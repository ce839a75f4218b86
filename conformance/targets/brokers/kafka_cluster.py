"""A Kafka of several nodes, whose leadership of the groups can be moved between them.

All groups are in one partition of the offsets topic, which has a replica on each node.  Moving it
is a failover in which no process ends: the old coordinator resigns while requests are parked.

Source: Kafka's protocol guide, AlterPartitionReassignments (KIP-455) and ElectLeaders (KIP-460).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path

from fencepost.conformance.runtime.toolchain.child import free_ports
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.brokers.kafka_broker import READY_S, KafkaBroker
from fencepost.conformance.targets.brokers.kafka_properties import HOST, new_cluster_id
from fencepost.conformance.targets.brokers.kafka_version import KafkaVersion
from fencepost.conformance.targets.tcp.address import Address, parse_address
from fencepost.conformance.targets.tcp.cluster_admin import Admin, AdminError, Deadlines
from fencepost.model.messages.errors import Error, error_name

OFFSETS = "__consumer_offsets"
_PREFERRED = 0
_MOVE_S = 30.0
_PAUSE_S = 0.02
_NOT_NEEDED = 84
"""ELECTION_NOT_NEEDED: it leads already."""
_ANY_GROUP = "fencepost-moved"


class KafkaCluster:
    """Nodes that are brokers and controllers at once; `start` first, `end` last.

    `properties`: of each node.
    """

    def __init__(
        self, version: KafkaVersion, folder: Path, log: Path, properties: Mapping[str, str]
    ) -> None:
        ports = free_ports(2 * version.nodes)
        pairs = list(zip(ports[: version.nodes], ports[version.nodes :], strict=True))
        voters = ",".join(f"{n}@{HOST}:{port}" for n, (_, port) in enumerate(pairs, start=1))
        cluster_id = new_cluster_id()
        self._leader = 1
        self.nodes: dict[int, KafkaBroker] = {}
        for number, pair in enumerate(pairs, start=1):
            home = folder / str(number)
            home.mkdir()
            own = {
                "node.id": str(number),
                "controller.quorum.voters": voters,
                "offsets.topic.replication.factor": str(version.nodes),
                "auto.leader.rebalance.enable": "false",
            }
            node_log = log.with_name(f"{log.stem}-{number}{log.suffix}")
            self.nodes[number] = KafkaBroker(
                version, home, node_log, own | dict(properties), ports=pair, cluster_id=cluster_id
            )

    @property
    def address(self) -> str:
        """Where the first node listens, as `HOST:PORT`."""
        return self.nodes[1].address

    async def start(self, ready_s: float = READY_S) -> None:
        """Start all nodes; the first one leads the groups.  Raises TargetUnavailableError."""
        async with asyncio.TaskGroup() as group:
            for node in self.nodes.values():
                group.create_task(node.start(ready_s))
        await self._lead(1)
        await self.loaded()

    async def end(self) -> None:
        """End all nodes."""
        await asyncio.gather(*(node.end() for node in self.nodes.values()))

    async def resign(self) -> None:
        """Give the groups to the next node; returns when the old one has resigned.

        Raises TargetUnavailableError.
        """
        old = self._leader
        await self._lead(old % len(self.nodes) + 1)
        await self._until(old, Error.NOT_COORDINATOR.value)

    async def loaded(self) -> None:
        """Return when the node that leads has read the groups.  Raises TargetUnavailableError."""
        await self._until(self._leader, Error.NONE.value)

    def _at(self, number: int) -> Address:
        return parse_address(self.nodes[number].address)

    async def _admin(self, number: int) -> Admin:
        patience = Deadlines(connect_s=2.0, answer_s=5.0, coordinator_s=10.0)
        admin = Admin(self._at(number), remote=False, deadlines=patience)
        await admin.open()
        return admin

    async def _lead(self, number: int) -> None:
        """Make a node the first choice, then let the first choice lead."""
        others = [n for n in self.nodes if n != number]
        replicas = {"partitionIndex": 0, "replicas": [number, *others]}
        wanted = {"name": OFFSETS, "partitions": [replicas]}
        named = {"topic": OFFSETS, "partitions": [0]}
        election = {"electionType": _PREFERRED, "topicPartitions": [named], "timeoutMs": 5000}
        problem = "nobody answered"
        end = time.monotonic() + _MOVE_S
        while time.monotonic() < end:
            try:
                admin = await self._admin(number)
                said = await admin.call(
                    "AlterPartitionReassignments", {"topics": [wanted], "timeoutMs": 5000}
                )
                codes = [p["errorCode"] for r in said["responses"] for p in r["partitions"]]
                answer = await admin.call("ElectLeaders", election)
                rows = answer["replicaElectionResults"]
                codes += [p["errorCode"] for r in rows for p in r["partitionResult"]]
            except (AdminError, OSError) as error:
                problem = str(error)
            else:
                wrong = [
                    code for code in (said["errorCode"], *codes) if code not in {0, _NOT_NEEDED}
                ]
                if not wrong:
                    self._leader = number
                    return
                problem = f"it was answered {error_name(wrong[0])}"
            await asyncio.sleep(_PAUSE_S)
        raise TargetUnavailableError(f"node {number} can't be made the coordinator: {problem}")

    async def _until(self, number: int, code: int) -> None:
        """Ask a node about a group until it answers so.  Raises TargetUnavailableError."""
        seen = "nothing"
        end = time.monotonic() + _MOVE_S
        while time.monotonic() < end:
            try:
                admin = await self._admin(number)
                answer = await admin.call("DescribeGroups", {"groups": [_ANY_GROUP]})
            except (AdminError, OSError) as error:
                seen = str(error)
            else:
                found = {group["errorCode"] for group in answer["groups"]}
                if found == {code}:
                    return
                seen = " and ".join(sorted(map(error_name, found)))
            await asyncio.sleep(_PAUSE_S)
        raise TargetUnavailableError(
            f"node {number} should answer {error_name(code)} about a group, and answered {seen}"
        )
