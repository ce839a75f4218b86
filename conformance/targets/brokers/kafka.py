"""Start Apache Kafka as processes: one broker, or a cluster whose group leadership moves.

A broker is ready when it names a coordinator that has read its groups.  In a failover of one node
the process is killed and started again on the same data, at the same port.  In a cluster (`*NODES`)
all groups are in one partition of the offsets topic, which has a replica on each node; leadership
moves to another node, so no process ends: the old coordinator resigns while requests are parked.

The configuration is that of the smallest broker that answers quickly: one partition of the offsets
topic, no initial rebalance delay and short sessions, so that timing cases take little time.  It
never removes unused groups, as other Kafkas do every ten minutes, so that cases can observe more.
Settings of the user come last and win.

The class path of a release is the broker's jar with all that it needs, as Maven resolves it, at the
versions that it was released with, and one binding for its log.

Source: Kafka's documentation, "Broker Configs"; ZooKeeper's administrator's guide; Kafka's protocol
guide, AlterPartitionReassignments (KIP-455) and ElectLeaders (KIP-460).
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fencepost.conformance.runtime.toolchain.child import Child, Server, free_ports
from fencepost.conformance.runtime.toolchain.found_tools import (
    cached,
    copy_jars,
    find_java,
    jars_in,
    pom,
    run_tool,
)
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.brokers.kafka_jvm import (
    DataTemplate,
    SharedJvm,
    class_archive,
    compiled,
    java_command,
    new_kafka_id,
)
from fencepost.conformance.targets.brokers.kafka_version import NEWEST, KafkaVersion
from fencepost.conformance.targets.brokers.started import (
    FIRST,
    BrokerPlace,
    StartedTarget,
    until_ready,
)
from fencepost.conformance.targets.tcp.cluster_admin import Admin, AdminError, Deadlines
from fencepost.conformance.targets.tcp.security import Address, parse_address
from fencepost.conformance.targets.tcp.tcp import Failovers, TcpTarget
from fencepost.model.consumer.settings import ALL_SETTINGS
from fencepost.model.coordinator import MOVES, codes_in
from fencepost.model.messages.errors import MOVING, Error, error_name
from fencepost.properties.departures.known_departures import coordinator_of
from fencepost.traces.files.bounded import last_bytes
from fencepost.traces.files.text_files import temporary_folder

HOST = "127.0.0.1"
_NEVER_MS = 10 * 365 * 24 * 60 * 60 * 1000
_COMMON = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "offsets.retention.check.interval.ms": str(_NEVER_MS),
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "100",
    "log.cleaner.enable": "false",
    "auto.create.topics.enable": "false",
}
_OF_CONSUMERS = {
    "group.consumer.min.session.timeout.ms": "100",
    "group.consumer.min.heartbeat.interval.ms": "100",
}
"""So that cases of the consumer protocol can have short timeouts."""
_OF_STREAMS = {
    "group.streams.min.session.timeout.ms": "100",
    "group.streams.min.heartbeat.interval.ms": "100",
    "group.streams.initial.rebalance.delay.ms": "0",
}
"""Like `_OF_CONSUMERS`, for streams groups; their first target is made at once, too."""
_SHARED = ("session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms", "max.size")
"""Settings that streams groups have with the values of consumer groups, as the model has them."""
_LOGGING_CONFIG = """\
log4j.rootLogger=WARN, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.logger.kafka.coordinator.group=INFO
log4j.logger.org.apache.kafka.coordinator.group=INFO
log4j.logger.kafka.coordinator.group.GroupMetadata=ERROR
log4j.logger.org.apache.kafka.coordinator.group.classic.ClassicGroup=ERROR
"""
"""At WARN the last two write a stack trace for each subscription that can't be read, when groups
are loaded: 10 GB in an hour and a half of fuzzing with failovers, which also made loading slow."""

_REQUEST_LOG = """\
log4j.logger.kafka.request.logger=DEBUG, requests
log4j.additivity.kafka.request.logger=false
log4j.appender.requests=org.apache.log4j.FileAppender
log4j.appender.requests.File={file}
log4j.appender.requests.Encoding=UTF-8
log4j.appender.requests.layout=org.apache.log4j.EnhancedPatternLayout
log4j.appender.requests.layout.ConversionPattern=[%d{{yyyy-MM-dd HH:mm:ss,SSS}}{{UTC}}] %p %m (%c)%n
"""


def logging_properties(request_log: Path | None) -> str:
    """Return the logging configuration; `request_log`, if any, gets each answered request.

    That file is added to, with the times in UTC, whatever the machine's zone.
    """
    if request_log is None:
        return _LOGGING_CONFIG
    return _LOGGING_CONFIG + _REQUEST_LOG.format(file=_escaped(str(request_log)))


def server_properties(
    version: KafkaVersion, data: Path, port: int, other_port: int, extra: Mapping[str, str]
) -> dict[str, str]:
    """Return a broker's properties.  `other_port`: the controller's, or ZooKeeper's."""
    here = f"PLAINTEXT://{HOST}:{port}"
    known: dict[str, str] = {"log.dirs": str(data), "listeners": here, "advertised.listeners": here}
    if version.has_zookeeper:
        known |= {"broker.id": "1", "zookeeper.connect": f"{HOST}:{other_port}"}
    else:
        known |= {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{HOST}:{other_port}",
            "listeners": f"{here},CONTROLLER://{HOST}:{other_port}",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        }
    consumers = _OF_CONSUMERS if version.has_consumer_protocol else {}
    streams: dict[str, str] = {}
    if version.has_streams_groups:
        pairs = ((f"group.streams.{key}", extra.get(f"group.consumer.{key}")) for key in _SHARED)
        streams = _OF_STREAMS | {key: value for key, value in pairs if value is not None}
    return known | version.choice | _COMMON | consumers | streams | dict(extra)


def zookeeper_properties(data: Path, port: int) -> dict[str, str]:
    """Return the properties of a ZooKeeper beside the broker."""
    return {
        "tickTime": "500",
        "dataDir": str(data),
        "clientPort": str(port),
        "clientPortAddress": HOST,
        "admin.enableServer": "false",
    }


def write_properties(path: Path, properties: Mapping[str, str]) -> None:
    """Write a file in Java's format; backslashes and line ends in values are escaped."""
    lines = [f"{key}={_escaped(value)}\n" for key, value in properties.items()]
    path.write_text("".join(lines), encoding="utf-8")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


READY_S = 90.0
_LOGGING_JAR = "org.slf4j:slf4j-reload4j:1.7.36"
_FORMAT_S = 60.0
_ATTEMPTS = 5
_BAD_LUCK = ("Address already in use", "Timed out waiting for connection while in state")
"""Log lines after which a broker may be started anew: another process took the port between our
check and the broker's bind, or the broker connected before ZooKeeper was ready, which then never
answers it."""

_ZOOKEEPER = "org.apache.zookeeper.server.quorum.QuorumPeerMain"

QUICK_FAILOVER = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "zookeeper.session.timeout.ms": "3000",
}
"""Properties of a broker that is going to be killed: the cluster takes it back that much sooner."""


@dataclass(frozen=True, slots=True)
class NodeParts:
    """Parts that the nodes of a target share.

    `jvm`: where they run beside each other, and can't be killed; None: each in a process of its
    own.  `template`: of the data of a node; None: each has its own.  `flags`: of those processes.
    """

    jvm: SharedJvm | None = None
    template: DataTemplate | None = None
    flags: Sequence[str] = ()


_ALONE = NodeParts()


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
        parts: NodeParts = _ALONE,
    ) -> None:
        self.version = version
        self.log = log
        self._jvm = parts.jvm
        self._flags = parts.flags
        self._template = parts.template or DataTemplate(folder / "template")
        self._folder = folder
        self._extra = properties
        self._ports = ports
        self._cluster_id = cluster_id
        self._request_log = request_log
        self._port = 0
        self._java: list[str] = []
        self._zookeeper: Server | None = None
        self._broker: Server | None = None

    @property
    def address(self) -> str:
        """Listening address, as `HOST:PORT`."""
        return f"{HOST}:{self._port}"

    async def start(self, ready_s: float = READY_S) -> None:
        """Start it and wait until it is ready.  Raises TargetUnavailableError."""
        java = await find_java(self.version.java)
        jars = await class_path(self.version)
        logging = self._folder / "log4j.properties"
        logging.write_text(logging_properties(self._request_log), encoding="utf-8")
        self._java = java_command(java, jars, logging, flags=self._flags)
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
        """End it, and its ZooKeeper."""
        for child in (self._broker, self._zookeeper):
            if child is not None:
                await child.end()
        self._broker = self._zookeeper = None

    async def _set_up(self) -> None:
        """Choose ports, write files and, for KRaft, format the data."""
        self._port, other = self._ports or free_ports(2)
        data = self._folder / f"data-{self._port}"
        known = server_properties(self.version, data, self._port, other, self._extra)
        write_properties(self._server_file, known)
        if not self.version.has_zookeeper:
            await self._template.fill(data, known["node.id"], self._format)
            return
        file = self._folder / "zoo.cfg"
        write_properties(file, zookeeper_properties(self._folder / f"zookeeper-{other}", other))
        self._zookeeper = await self._server(_ZOOKEEPER, file)

    async def _format(self) -> None:
        cluster_id = self._cluster_id or new_kafka_id()
        tool = [*self._java, "kafka.tools.StorageTool", "format", "-t", cluster_id]
        await run_tool([*tool, "-c", str(self._server_file)], _FORMAT_S, self._folder)

    @property
    def _server_file(self) -> Path:
        return self._folder / "server.properties"

    async def _server(self, main: str, file: Path) -> Server:
        if self._jvm is not None:
            return self._jvm.run(main, file)
        command = [*self._java, main, str(file)]
        try:
            return await Child.start(command, self.log, folder=self._folder)
        except OSError as error:
            raise TargetUnavailableError(f"Java can't be started ({error})") from error

    async def _run(self, ready_s: float) -> None:
        self._broker = await self._server("kafka.Kafka", self._server_file)
        await self._until_ready(self._broker, ready_s)

    async def _until_ready(self, broker: Server, ready_s: float) -> None:
        await until_ready(
            broker,
            self._ask_ready,
            f"Kafka {self.version}",
            ready_s,
            interesting=_is_trouble,
            hint=f"; its log is {self.log}",
        )

    async def _ask_ready(self) -> None:
        """Raise AdminError while the broker isn't ready."""
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
    """Return True if a line of the log tells what went wrong, not where in the code."""
    return not line.startswith("at ") and any(w in line for w in ("Exception", "ERROR", "FATAL"))


async def class_path(version: KafkaVersion) -> list[Path]:
    """Return the jars of a release, from the cache.  Raises TargetUnavailableError."""

    async def resolve(folder: Path) -> None:
        await copy_jars(folder, pom_of(version))

    return jars_in(await cached("kafka", version.release, resolve))


def pom_of(version: KafkaVersion) -> bytes:
    """Return a pom that asks for the broker, the log's binding and the pinned versions."""
    broker = f"org.apache.kafka:kafka_{version.scala}:{version.release}"
    pins = [f"{name}:{number}" for name, number in version.pins.items()]
    return pom("kafka", [broker, _LOGGING_JAR, *pins])


def _of_node(log: Path, number: int) -> Path:
    """Return the path of a node's log: the number stands before the suffix."""
    return log.with_name(f"{log.stem}-{number}{log.suffix}")


OFFSETS = "__consumer_offsets"
_PREFERRED = 0
_MOVE_S = 30.0
_PAUSE_S = 0.02
_NOT_NEEDED = 84
"""ELECTION_NOT_NEEDED: it leads already."""
_ANY_GROUP = "fencepost-moved"


class KafkaCluster:
    """Nodes that are brokers and controllers at once; `start` first, `end` last.

    `properties`: of each node.  `request_log`: the path without the number of the node; only nodes
    that have a JVM of their own write one.
    """

    def __init__(
        self,
        version: KafkaVersion,
        folder: Path,
        log: Path,
        properties: Mapping[str, str],
        *,
        request_log: Path | None = None,
        parts: NodeParts = _ALONE,
    ) -> None:
        ports = free_ports(2 * version.nodes)
        pairs = list(zip(ports[: version.nodes], ports[version.nodes :], strict=True))
        voters = ",".join(f"{n}@{HOST}:{port}" for n, (_, port) in enumerate(pairs, start=1))
        cluster_id = new_kafka_id()
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
            node_log = _of_node(log, number) if parts.jvm is None else log
            requests = None if request_log is None else _of_node(request_log, number)
            self.nodes[number] = KafkaBroker(
                *(version, home, node_log, own | dict(properties)),
                ports=pair,
                cluster_id=cluster_id,
                request_log=requests,
                parts=parts,
            )

    @property
    def address(self) -> str:
        """Listening address of the first node, as `HOST:PORT`."""
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
        """Give the groups to the second node, or back; returns when the old one has resigned.

        So each node but the first time has had the groups before.  Raises TargetUnavailableError.
        """
        old = self._leader
        await self._lead(2 if old == 1 else 1)
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
        topic = {"name": OFFSETS, "partitions": [replicas]}
        named = {"topic": OFFSETS, "partitions": [0]}
        election = {"electionType": _PREFERRED, "topicPartitions": [named], "timeoutMs": 5000}
        problem = "nobody answered"
        end = time.monotonic() + _MOVE_S
        while time.monotonic() < end:
            try:
                admin = await self._admin(number)
                moved = await admin.call(
                    "AlterPartitionReassignments", {"topics": [topic], "timeoutMs": 5000}
                )
                codes = [p["errorCode"] for r in moved["responses"] for p in r["partitions"]]
                answer = await admin.call("ElectLeaders", election)
                rows = answer["replicaElectionResults"]
                codes += [p["errorCode"] for r in rows for p in r["partitionResult"]]
            except (AdminError, OSError) as error:
                problem = str(error)
            else:
                wrong = [
                    code for code in (moved["errorCode"], *codes) if code not in {0, _NOT_NEEDED}
                ]
                if not wrong:
                    self._leader = number
                    return
                problem = f"it was answered {error_name(wrong[0])}"
            await asyncio.sleep(_PAUSE_S)
        raise TargetUnavailableError(f"node {number} can't be made the coordinator: {problem}")

    async def _until(self, number: int, code: int) -> None:
        """Ask a node about a group until it answers with this code.

        Raises TargetUnavailableError.
        """
        observed = "nothing"
        end = time.monotonic() + _MOVE_S
        while time.monotonic() < end:
            try:
                admin = await self._admin(number)
                answer = await admin.call("DescribeGroups", {"groups": [_ANY_GROUP]})
            except (AdminError, OSError) as error:
                observed = str(error)
            else:
                codes = {group["errorCode"] for group in answer["groups"]}
                if codes == {code}:
                    return
                observed = " and ".join(sorted(map(error_name, codes)))
            await asyncio.sleep(_PAUSE_S)
        raise TargetUnavailableError(
            f"node {number} should answer {error_name(code)} about a group, and answered {observed}"
        )


IMPLEMENTATION = "Apache Kafka"
_FEATURES = frozenset({"disconnect", "missing-topics", "delete-topics", "restart"})


def _log(place: BrokerPlace, parts: NodeParts) -> Path:
    return place.log if parts.jvm is None else parts.jvm.log


class KafkaTarget(StartedTarget):
    """A Kafka of one node, or a cluster.

    `request_log`: where the first broker adds each answered request; each node of a cluster adds
    its own to a file of its own, with its number in the name.
    """

    settable = frozenset(ALL_SETTINGS)

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
        self._parts = _ALONE

    @property
    def aliases(self) -> frozenset[str]:
        """Return its other names in lists of known failures: Kafka by its coordinator."""
        return frozenset({coordinator_of(self.name)})

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return what a certificate must say of the release."""
        newest = ".".join(map(str, NEWEST))
        remark = (
            f"Kafka {self.version.release} is newer than {newest}, the newest release that was "
            f"tried: it is judged by the same revision, and the known failures of {newest} count"
        )
        return (remark,) if self.version.is_untried else ()

    async def start_broker(self, place: BrokerPlace) -> TcpTarget:
        """Start a broker, and its ZooKeeper where it needs one.  Raises TargetUnavailableError."""
        kind, stack = place.kind, place.stack
        if kind == FIRST:
            self._parts = await self._start_parts(place)
        if self.version.nodes > 1:
            return await self._start_cluster(place)
        quick = QUICK_FAILOVER if kind.restarts else {}
        properties = quick | self._properties | kind.properties()
        request_log = self._request_log if kind == FIRST else None
        parts = self._parts_if(alone=kind.restarts or request_log is not None)
        broker = KafkaBroker(
            *(self.version, place.folder, _log(place, parts), properties),
            request_log=request_log,
            parts=parts,
        )
        stack.push_async_callback(broker.end)
        await broker.start()
        failovers = None
        if kind.restarts:
            failovers = Failovers(broker.kill, broker.run_again)
            stack.push_async_callback(failovers.close)
        return await self._reached(place, broker.address, failovers)

    async def _start_parts(self, place: BrokerPlace) -> NodeParts:
        """Start the JVM of all brokers that aren't killed, with the log of the first.

        There is none where nothing can compile its program.  Raises TargetUnavailableError.
        """
        parts = NodeParts(template=DataTemplate(place.folder / "template"))
        java = await find_java(self.version.java)
        program = await compiled(java)
        if program is None:
            return parts
        logging = place.folder / "log4j.properties"
        logging.write_text(logging_properties(None), encoding="utf-8")
        # An archive fits a class path that begins as that of its training does.
        jars = [*await class_path(self.version), program]

        async def start(folder: Path, log: Path, flags: Sequence[str]) -> SharedJvm:
            command = java_command(java, jars, logging, has_many=True, flags=flags)
            return await SharedJvm.start(command, folder, log)

        async def train(folder: Path, flags: Sequence[str]) -> None:
            with temporary_folder() as own:
                jvm = await start(own, folder / "training.log", flags)
                version = replace(self.version, nodes=1)
                broker = KafkaBroker(version, own, jvm.log, {}, parts=replace(parts, jvm=jvm))
                try:
                    await broker.start()
                    await jvm.halt()
                finally:
                    await jvm.end()

        flags = await class_archive(self.version.release, java, train)
        jvm = await start(place.folder, place.log, flags)
        place.stack.push_async_callback(jvm.end)
        return replace(parts, jvm=jvm, flags=flags)

    def _parts_if(self, *, alone: bool) -> NodeParts:
        """Return what a broker shares; `alone`: it has a process of its own."""
        return replace(self._parts, jvm=None) if alone else self._parts

    async def _start_cluster(self, place: BrokerPlace) -> TcpTarget:
        """Start nodes of which one after the other coordinates all groups."""
        properties = self._properties | place.kind.properties()
        request_log = self._request_log if place.kind == FIRST else None
        parts = self._parts_if(alone=request_log is not None)
        cluster = KafkaCluster(
            *(self.version, place.folder, _log(place, parts), properties),
            request_log=request_log,
            parts=parts,
        )
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
        features = _FEATURES | {MOVES} if self.version.nodes > 1 else _FEATURES
        version, options = str(self.version), {"features": features, "failovers": failovers}
        return await self.connected(
            place, address, implementation=IMPLEMENTATION, version=version, **options
        )
