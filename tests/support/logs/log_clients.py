"""Group members that a request log is recorded from: pods with a host and a client id of their own.

Decides what a client does on its own: it joins until it is let in, syncs, heartbeats, joins again
when a rebalance runs or it is no member any more, and ends when it is fenced.  A story
(log_stories.py) decides who starts, falls silent, restarts or leaves, and when.

Each pod has an address of its own in the loopback's network, which is what the broker logs.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from fencepost.conformance.targets.tcp.broker_connection import Connection, Event, Reply
from fencepost.conformance.wire.codec import encode_request
from fencepost.model.messages.errors import Error

ANSWER_S = 60.0
"""How long any answer may take; a rebalance takes less."""
_APIS = ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit")
TOPIC = "orders"
REASONS = {True: "the consumer is being closed", False: "member was removed by an admin"}
"""Why a LeaveGroup is sent, in the words of Kafka's own clients; an admin names no member id."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where the broker is, and the versions that a client library of this age would use."""

    host: str
    port: int
    versions: Mapping[str, int]

    @classmethod
    def of(cls, address: str, versions: Sequence[int]) -> Self:
        """`versions` in the order Join, Sync, Heartbeat, Leave, OffsetCommit."""
        host, _, port = address.partition(":")
        return cls(host, int(port), dict(zip(_APIS, versions, strict=True)))


@dataclass(frozen=True, slots=True)
class Pod:
    """A process as the broker sees it."""

    client_id: str
    host: str


class GoneError(Exception):
    """The broker hung up, or did not answer."""


class Line:
    """One connection of a pod."""

    def __init__(self, cluster: Cluster, pod: Pod) -> None:
        self._cluster = cluster
        self._pod = pod
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self._connection: Connection | None = None

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        _, self._connection = await loop.create_connection(
            lambda: Connection(self._events.put_nowait),
            self._cluster.host,
            self._cluster.port,
            local_addr=(self._pod.host, 0),
        )

    def post(self, api: str, body: Mapping[str, Any]) -> None:
        """Send a request whose answer nobody has to wait for."""
        assert self._connection is not None
        version = self._cluster.versions[api]
        fields = {k: v for k, v in body.items() if _has(api, version, k)}

        def write(number: int) -> bytes:
            return encode_request(api, version, number, self._pod.client_id, fields)

        self._connection.send(api, api, version, write)

    async def ask(self, api: str, body: Mapping[str, Any]) -> dict[str, Any]:
        if self._connection is None:
            await self.open()
        self.post(api, body)
        async with asyncio.timeout(ANSWER_S):
            event = await self._events.get()
        if not isinstance(event, Reply) or event.decoded.body is None:
            raise GoneError(str(event))
        return event.decoded.body

    def close(self) -> None:
        """As a crash does."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None


_SINCE = {
    ("JoinGroup", "groupInstanceId"): 5,
    ("JoinGroup", "reason"): 8,
    ("SyncGroup", "groupInstanceId"): 3,
    ("SyncGroup", "protocolType"): 5,
    ("SyncGroup", "protocolName"): 5,
    ("Heartbeat", "groupInstanceId"): 3,
    ("OffsetCommit", "groupInstanceId"): 7,
}


def _has(api: str, version: int, name: str) -> bool:
    return version >= _SINCE.get((api, name), 0)


@dataclass
class Member:
    """A consumer in a pod.  `run` is its life; what a story does to it comes from outside."""

    cluster: Cluster
    pod: Pod
    group: str
    instance: str | None = None
    session_ms: int = 3000
    rebalance_ms: int = 8000
    beat_ms: int = 500
    topics: tuple[str, ...] = (TOPIC,)
    commits: bool = True
    member_id: str = ""
    generation: int = -1
    settled: int = -1
    """The generation whose assignment it has."""
    fenced: bool = False
    line: Line = field(init=False)
    _task: asyncio.Task[None] | None = None
    _moved: asyncio.Condition = field(default_factory=asyncio.Condition)
    _awake: asyncio.Event = field(default_factory=asyncio.Event)
    _rejoin: bool = False

    def __post_init__(self) -> None:
        self.line = Line(self.cluster, self.pod)
        self._awake.set()

    def start(self) -> None:
        self._task = asyncio.create_task(self.run())

    async def run(self) -> None:
        """Until it is fenced, or cancelled."""
        beats = 0
        try:
            await self.join()
            while not self.fenced:
                await asyncio.sleep(self.beat_ms / 1000)
                await self._awake.wait()
                beats += 1
                if self._rejoin:
                    self._rejoin = False
                    await self.join()
                elif self.commits and beats % 7 == 3:
                    await self._heed(await self.commit())
                else:
                    await self._heed(await self.beat())
        finally:
            self.line.close()
            async with self._moved:
                self._moved.notify_all()

    async def join(self) -> None:
        """Until it has an assignment, or is fenced."""
        while True:
            told = await self.line.ask("JoinGroup", self.join_body())
            match told["errorCode"]:
                case Error.NONE.value:
                    self.member_id, self.generation = told["memberId"], told["generationId"]
                    if await self._sync(told):
                        return
                case Error.MEMBER_ID_REQUIRED.value:
                    self.member_id = told["memberId"]
                case Error.UNKNOWN_MEMBER_ID.value:
                    self.member_id = ""
                case Error.FENCED_INSTANCE_ID.value:
                    self.fenced = True
                    return
                case _:
                    await asyncio.sleep(0.05)

    def join_body(self) -> dict[str, Any]:
        metadata = struct.pack(">hi", 0, len(self.topics))
        for topic in self.topics:
            metadata += struct.pack(">h", len(topic)) + topic.encode()
        metadata += struct.pack(">i", -1)
        return {
            "groupId": self.group,
            "sessionTimeoutMs": self.session_ms,
            "rebalanceTimeoutMs": self.rebalance_ms,
            "memberId": self.member_id,
            "groupInstanceId": self.instance,
            "protocolType": "consumer",
            "protocols": [{"name": "range", "metadata": base64.b64encode(metadata).decode()}],
            "reason": None,
        }

    async def _sync(self, told: Mapping[str, Any]) -> bool:
        leads = told["leader"] == self.member_id and not told.get("skipAssignment")
        rows = [
            {"memberId": m["memberId"], "assignment": base64.b64encode(b"a%d" % n).decode()}
            for n, m in enumerate(told["members"])
        ]
        body = {**self._me(), "protocolType": "consumer", "protocolName": told["protocolName"]}
        answer = await self.line.ask("SyncGroup", {**body, "assignments": rows if leads else []})
        match answer["errorCode"]:
            case Error.NONE.value:
                async with self._moved:
                    self.settled = self.generation
                    self._moved.notify_all()
                return True
            case Error.FENCED_INSTANCE_ID.value:
                self.fenced = True
                return True
            case Error.UNKNOWN_MEMBER_ID.value:
                self.member_id = ""
        return False

    async def beat(self) -> int:
        answer = await self.line.ask("Heartbeat", self._me())
        return int(answer["errorCode"])

    async def commit(self) -> int:
        me = self._me()
        me["generationIdOrMemberEpoch"] = me.pop("generationId")
        offset = {"partitionIndex": 0, "committedOffset": 7, "committedMetadata": ""}
        if self.cluster.versions["OffsetCommit"] >= 6:
            offset["committedLeaderEpoch"] = -1
        if self.cluster.versions["OffsetCommit"] <= 4:
            me["retentionTimeMs"] = -1
        rows = [{"name": TOPIC, "partitions": [offset]}]
        answer = await self.line.ask("OffsetCommit", {**me, "topics": rows})
        return int(answer["topics"][0]["partitions"][0]["errorCode"])

    async def _heed(self, code: int) -> None:
        """Do what an error asks for."""
        match code:
            case Error.REBALANCE_IN_PROGRESS.value | Error.ILLEGAL_GENERATION.value:
                await self.join()
            case Error.UNKNOWN_MEMBER_ID.value:
                self.member_id = ""
                await self.join()
            case Error.FENCED_INSTANCE_ID.value:
                self.fenced = True

    def _me(self) -> dict[str, Any]:
        return {
            "groupId": self.group,
            "generationId": self.generation,
            "memberId": self.member_id,
            "groupInstanceId": self.instance,
        }

    async def wait_settled(self, beyond: int = -1) -> None:
        """Until it has an assignment of a generation beyond this one.  Raises GoneError."""
        async with asyncio.timeout(ANSWER_S), self._moved:
            await self._moved.wait_for(lambda: self.settled > beyond or self._ended())
        if self.settled <= beyond:
            raise GoneError(f"{self.pod.client_id} in {self.group} ended")

    async def wait_fenced(self) -> None:
        async with asyncio.timeout(ANSWER_S), self._moved:
            await self._moved.wait_for(self._ended)
        assert self.fenced

    def _ended(self) -> bool:
        return self.fenced or self._task is None or self._task.done()

    async def crash(self) -> None:
        """The process is gone, without a word."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, GoneError):
                await task
        self.line.close()

    def again(self, **changed: Any) -> Member:
        """The same pod's next process: it remembers nothing."""
        fields = {
            "pod": self.pod,
            "instance": self.instance,
            "session_ms": self.session_ms,
            "rebalance_ms": self.rebalance_ms,
            "beat_ms": self.beat_ms,
            "topics": self.topics,
            "commits": self.commits,
        }
        return Member(self.cluster, group=self.group, **{**fields, **changed})

    def rejoin(self, *topics: str) -> None:
        """Join again of its own accord, with another subscription if topics are named."""
        self.topics = topics or self.topics
        self._rejoin = True

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """A long pause, as of a garbage collector: nothing is sent meanwhile."""
        self._awake.clear()
        try:
            yield
        finally:
            self._awake.set()

    async def leave(self) -> None:
        """End, and say so."""
        await self.crash()
        await leave(self.cluster, self.pod, self.group, self.member_id, self.instance)


async def leave(
    cluster: Cluster, pod: Pod, group: str, member_id: str, instance: str | None
) -> dict[str, Any]:
    """A LeaveGroup on a connection of its own."""
    line = Line(cluster, pod)
    row: dict[str, Any] = {"memberId": member_id, "groupInstanceId": instance}
    if cluster.versions["LeaveGroup"] >= 5:
        row["reason"] = REASONS[bool(member_id)]
    body = {"groupId": group, "members": [row]}
    if cluster.versions["LeaveGroup"] < 3:
        body = {"groupId": group, "memberId": member_id}
    try:
        return await line.ask("LeaveGroup", body)
    finally:
        line.close()
