"""One Kafka broker as a process, with its data, which survives a restart.

A broker is ready when it names a coordinator that has read its groups.  In a failover the process
is killed and started again on the same data, at the same port.

The class path of a release is the broker's jar with all that it needs, as Maven resolves it, at
the versions that it was released with, and one binding for its log.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from fencepost.conformance.runtime.toolchain.cache import cached
from fencepost.conformance.runtime.toolchain.child import Child, free_ports
from fencepost.conformance.runtime.toolchain.found_tools import find_java, run_tool
from fencepost.conformance.runtime.toolchain.maven import copy_jars, jars_in, pom
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.brokers.kafka_properties import (
    HOST,
    logging_properties,
    new_cluster_id,
    server_properties,
    write_properties,
    zookeeper_properties,
)
from fencepost.conformance.targets.brokers.kafka_version import KafkaVersion
from fencepost.conformance.targets.brokers.started import until_ready
from fencepost.conformance.targets.tcp.address import Address
from fencepost.conformance.targets.tcp.cluster_admin import Admin, AdminError, Deadlines
from fencepost.model.coordinator import codes_in
from fencepost.model.messages.errors import MOVING
from fencepost.traces.files.bounded import last_bytes

READY_S = 90.0
_LOGGING = "org.slf4j:slf4j-reload4j:1.7.36"
_FORMAT_S = 60.0
_ATTEMPTS = 5
_JVM = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")
_BAD_LUCK = ("Address already in use", "Timed out waiting for connection while in state")
"""Why a broker may be started anew: somebody took the port between our look at it and the broker's,
or its connection came before ZooKeeper was ready, which then never answers it."""

_ZOOKEEPER = ("org.apache.zookeeper.server.quorum.QuorumPeerMain",)

QUICK_FAILOVER = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "zookeeper.session.timeout.ms": "3000",
}
"""Properties of a broker that is going to be killed: the cluster takes it back that much sooner."""


class KafkaBroker:
    """A broker (and its ZooKeeper, where it needs one) in a folder; `start` first, `end` last.

    `ports`: its own and the controller's (or ZooKeeper's), where other nodes must know them, and
    then `cluster_id` too; None: any that are free.  `request_log`: an absolute path, where each
    request that it answers is added.
    """

    def __init__(
        self,
        version: KafkaVersion,
        folder: Path,
        log: Path,
        properties: Mapping[str, str],
        *,
        ports: tuple[int, int] | None = None,
        cluster_id: str | None = None,
        request_log: Path | None = None,
    ) -> None:
        self.version = version
        self.log = log
        self._folder = folder
        self._extra = properties
        self._ports = ports
        self._cluster_id = cluster_id
        self._request_log = request_log
        self._port = 0
        self._java: list[str] = []
        self._zookeeper: Child | None = None
        self._broker: Child | None = None

    @property
    def address(self) -> str:
        """Where it listens, as `HOST:PORT`."""
        return f"{HOST}:{self._port}"

    async def start(self, ready_s: float = READY_S) -> None:
        """Start it and wait until it is ready.  Raises TargetUnavailableError."""
        java = await find_java(self.version.java)
        jars = await class_path(self.version)
        logging = self._folder / "log4j.properties"
        logging.write_text(logging_properties(self._request_log), encoding="utf-8")
        self._java = [java, *_JVM, f"-Dlog4j.configuration=file:{logging}"]
        self._java += ["-Dzookeeper.jmx.log4j.disable=true", "-cp", ":".join(map(str, jars))]
        for attempt in range(1, _ATTEMPTS + 1):
            await self._set_up()
            try:
                await self._run(ready_s)
            except TargetUnavailableError:
                await self.end()
                if attempt == _ATTEMPTS or not self._had_bad_luck():
                    raise
            else:
                return

    async def kill(self) -> None:
        """End the broker as a crash does; its data stays, and its ZooKeeper."""
        if self._broker is not None:
            await self._broker.end()

    async def run_again(self, ready_s: float = READY_S) -> None:
        """Start it again on the same data, unless it runs; wait until it is ready.

        Raises TargetUnavailableError.
        """
        if self._broker is not None and not self._broker.ended:
            return await self._until_ready(self._broker, ready_s)
        # ZooKeeper takes the killed broker for alive until its session is over, and the next one
        # for a double.
        attempts = _ATTEMPTS if self.version.has_zookeeper else 1
        for attempt in range(1, attempts + 1):
            try:
                return await self._run(ready_s)
            except TargetUnavailableError:
                if attempt == attempts:
                    raise
        return None

    async def end(self) -> None:
        """End it, and what it needed."""
        for child in (self._broker, self._zookeeper):
            if child is not None:
                await child.end()
        self._broker = self._zookeeper = None

    async def _set_up(self) -> None:
        """Ports, files and, for KRaft, formatted data."""
        self._port, other = self._ports or free_ports(2)
        data = self._folder / f"data-{self._port}"
        known = server_properties(self.version, data, self._port, other, self._extra)
        write_properties(self._server_file, known)
        if not self.version.has_zookeeper:
            cluster_id = self._cluster_id or new_cluster_id()
            tool = [*self._java, "kafka.tools.StorageTool", "format", "-t", cluster_id]
            await run_tool([*tool, "-c", str(self._server_file)], _FORMAT_S, self._folder)
            return
        file = self._folder / "zoo.cfg"
        write_properties(file, zookeeper_properties(self._folder / f"zookeeper-{other}", other))
        self._zookeeper = await self._child([*_ZOOKEEPER, str(file)])

    @property
    def _server_file(self) -> Path:
        return self._folder / "server.properties"

    async def _child(self, arguments: Sequence[str]) -> Child:
        try:
            return await Child.start([*self._java, *arguments], self.log, folder=self._folder)
        except OSError as error:
            raise TargetUnavailableError(f"Java can't be started ({error})") from error

    async def _run(self, ready_s: float) -> None:
        self._broker = await self._child(["kafka.Kafka", str(self._server_file)])
        await self._until_ready(self._broker, ready_s)

    async def _until_ready(self, broker: Child, ready_s: float) -> None:
        await until_ready(
            broker,
            self._ask_ready,
            f"Kafka {self.version}",
            ready_s,
            interesting=_is_trouble,
            hint=f"; its log is {self.log}",
        )

    async def _ask_ready(self) -> None:
        """Raises AdminError while it isn't."""
        patience = Deadlines(connect_s=1.0, answer_s=5.0, coordinator_s=5.0)
        admin = Admin(Address(HOST, self._port), remote=False, deadlines=patience)
        await admin.open()
        at = await admin.find_coordinator("fencepost-ready")
        answer = await admin.call("DescribeGroups", {"groups": ["fencepost-ready"]}, at)
        if not MOVING.isdisjoint(codes_in(answer)):
            raise AdminError("its coordinator still reads the groups")

    def _had_bad_luck(self) -> bool:
        with contextlib.suppress(OSError):
            end = last_bytes(self.log)
            return any(words in end for words in _BAD_LUCK)
        return False


def _is_trouble(line: str) -> bool:
    """A line of the log that tells what went wrong, not where in the code."""
    return not line.startswith("at ") and any(w in line for w in ("Exception", "ERROR", "FATAL"))


async def class_path(version: KafkaVersion) -> list[Path]:
    """The jars of a release, from the cache.  Raises TargetUnavailableError."""

    async def resolve(folder: Path) -> None:
        await copy_jars(folder, pom_of(version))

    return jars_in(await cached("kafka", version.release, resolve))


def pom_of(version: KafkaVersion) -> bytes:
    """A pom that asks for the broker, the log's binding and the pinned versions."""
    broker = f"org.apache.kafka:kafka_{version.scala}:{version.release}"
    pins = [f"{name}:{number}" for name, number in version.pins.items()]
    return pom("kafka", [broker, _LOGGING, *pins])
