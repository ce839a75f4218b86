"""A broker that applications run against: records, a history, provocations, an administrator."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from typing import Any, Protocol, Self

from fencepost.conformance.runtime.lag_meter import LagMeter
from fencepost.conformance.serve.broker import ModelBroker
from fencepost.conformance.serve.broker_apis import parse_release
from fencepost.conformance.serve.broker_history import History, controls
from fencepost.conformance.wire.provocation import Provocation
from fencepost.conformance.wire.record_batches import batch_of
from fencepost.model.coordinator import Config, Send
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    SyncAssignment,
    SyncGroupRequest,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.revision import Revision

_STRANGER = "another process"
_LONGEST_S = 60.0


class Recorded(Protocol):
    """The interface that a served model and a real Kafka behind a proxy have in common."""

    @property
    def bootstrap(self) -> str:
        """`HOST:PORT` of its first node."""
        ...

    @property
    def history(self) -> History:
        """Return the history so far; it grows."""
        ...

    async def create_topics(self, topics: Mapping[str, int]) -> None:
        """Make topics, by name and number of partitions; those that exist stay as they are."""
        ...

    async def produce(self, topic: str, partition: int, count: int) -> None:
        """Append this many small records of our own, in one batch."""
        ...

    async def remove(self, group: str, instance: str | None, member_id: str = "") -> int:
        """Remove a member, as an administrator does; return the error code, 0: removed."""
        ...


class ApplicationBroker(ModelBroker):
    """The model as a broker that can be provoked, in this process, while it is open (`async with`).

    `settings`: the group settings that are not Kafka's defaults.  `as_of`: the release of Kafka
    whose versions it has, such as 2.2.  `topics`: the number of partitions of each, by name.

        async with ApplicationBroker(find_revision("kafka-4"), topics={"t": 6}) as broker:
            start_clients(broker.bootstrap)
            broker.provoke(Provocation(api="JoinGroup", who="i1", action=Action.LOSE))
            await broker.remove("g", "i1")
            judge(broker.history)

    Raises ReleaseError for a release that isn't known.
    """

    def __init__(
        self,
        revision: Revision,
        settings: Config | None = None,
        *,
        seed: int = 0,
        nodes: int = 1,
        as_of: str | None = None,
        topics: Mapping[str, int] | None = None,
        provocations: Iterable[Provocation] = (),
    ) -> None:
        self.history = History()
        super().__init__(
            revision,
            settings,
            seed=seed,
            nodes=nodes,
            topics=topics,
            release=None if as_of is None else parse_release(as_of),
            history=self.history,
            provocations=provocations,
        )
        self._outages: list[tuple[float, float]] = []
        self._stack = AsyncExitStack()

    @property
    def bootstrap(self) -> str:
        """`HOST:PORT` of its first node."""
        return str(self.address)

    async def __aenter__(self) -> Self:
        """Listen, and begin to measure."""
        await super().__aenter__()
        for node in self.addresses:
            self.history.meters[node] = LagMeter(outages=self._outages)
        measured = [(at, self.history.meters[node]) for node, at in self.addresses.items()]
        await self._stack.enter_async_context(controls(measured))
        return self

    async def __aexit__(self, *error: object) -> None:
        """Close the ports and all connections."""
        await self._stack.aclose()
        await super().__aexit__(*error)

    # What is said of a broker that isn't provoked, too.

    async def create_topics(self, topics: Mapping[str, int]) -> None:
        """Make topics, by name and number of partitions; those that exist stay as they are."""
        for name, partitions in topics.items():
            if name not in self.topics:
                self.topics.make(name, partitions)

    async def produce(self, topic: str, partition: int, count: int) -> None:
        """Append this many small records of our own, in one batch."""
        log = self.topics[topic].partitions[partition]
        log.append(batch_of([str(log.end_offset + n).encode() for n in range(count)]))

    async def remove(self, group: str, instance: str | None, member_id: str = "") -> int:
        """Remove a member, as an administrator does; return the error code, 0: removed.

        A static member is named by its instance id alone, a dynamic one by its member id.
        """
        rows = (LeavingMember(member_id=member_id, group_instance_id=instance),)
        body = await self._ask("LeaveGroup", LeaveGroupRequest(group_id=group, members=rows))
        code = next((row["errorCode"] for row in body["members"]), body["errorCode"])
        self.history.act("remove", group=group, instance=instance, member=member_id, code=code)
        return int(code)

    def add_partitions(self, topic: str, count: int) -> None:
        """Give a topic more partitions, as an administrator does: it has `count` then."""
        self.history.act("add-partitions", topic=topic, count=count)
        self.topics.grow(topic, count)

    def create_topic(self, topic: str, partitions: int) -> None:
        """Make a topic, as an administrator does."""
        self.history.act("create-topic", topic=topic, partitions=partitions)
        self.cluster.make_topic(topic, partitions)

    def delete_topic(self, topic: str) -> None:
        """Delete a topic, as an administrator does; none is made by being asked for any more."""
        self.history.act("delete-topic", topic=topic)
        self.cluster.creates_topics = False
        self.cluster.delete_topic(topic)

    # Provocations.

    def provoke(self, *provocations: Provocation) -> None:
        """Provoke the requests that fit, counted from now on."""
        for provocation in provocations:
            self.provocations.add(provocation)

    def relent(self) -> None:
        """Drop all provocations; requests that are held back are handled now."""
        self.provocations.clear()
        self.release_held()

    async def fence(self, group: str, instance: str) -> int:
        """Let another process join with this instance id, once; return its error code.

        It offers what the member offered, syncs and falls silent.  Raises TimeoutError where a
        rebalance keeps it waiting for a minute.
        """
        held = self.groups.running.groups.get(group)
        member = None if held is None else held.member(held.holder(instance) or "")
        if held is None or member is None:
            return int(Error.UNKNOWN_MEMBER_ID.value)
        known = [
            SyncAssignment(member_id=m.member_id, assignment=m.assignment) for m in held.members
        ]
        self.history.act("fence", group=group, instance=instance)
        join = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=member.session_timeout_ms,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            member_id="",
            group_instance_id=instance,
            protocol_type=held.protocol_type or "consumer",
            protocols=member.protocols,
        )
        joined = await self._ask("JoinGroup", join)
        if not joined["errorCode"]:
            sync = SyncGroupRequest(
                group_id=group,
                generation_id=joined["generationId"],
                member_id=joined["memberId"],
                group_instance_id=instance,
                assignments=tuple(known),
            )
            await self._ask("SyncGroup", sync)
        return int(joined["errorCode"])

    async def expire(self, group: str, member: str) -> bool:
        """End a session now; `member` is a member id or an instance id.  False: it has none."""
        self.history.act("expire", group=group, member=member)
        return self.groups.expire(group, member)

    async def move_coordinator(self, group: str, node: int | None = None) -> int:
        """Fail over to another node (None: the next one); return the node that it is now.

        Parked requests get NOT_COORDINATOR, groups are as they were stored.  With one node it comes
        back to the same one.
        """
        self.history.act("move", group=group, node=node)
        return self.groups.move(group, node)

    async def load(self, group: str, ms: int) -> None:
        """Fail over, and load for this long: requests about the group get an error that says so."""
        self.history.act("load", group=group, ms=ms)
        with self.groups.loading(group):
            await self._fail_over(group, ms)

    async def not_available(self, group: str, ms: int) -> None:
        """Have no coordinator for this long; requests for it, or about the group, say so."""
        self.history.act("not-available", group=group, ms=ms)
        with self.groups.absent(group):
            await self._fail_over(group, ms)

    async def restart(self, *, as_of: str | None = None, down_ms: int = 0) -> None:
        """Cut all connections, and refuse new ones for `down_ms`; groups are as they were stored.

        `as_of`: the release that it is of from then on, such as 2.2 (a downgrade).  Raises
        ReleaseError for one that isn't known.
        """
        if as_of is not None:
            self._release = parse_release(as_of)
        self.history.act("restart", as_of=as_of, down_ms=down_ms)
        began = time.monotonic()
        with self.down():
            self.groups.fail_over()
            await asyncio.sleep(down_ms / 1000)
            self.groups.fail_over()
            self.cluster.restart(self._release)
        self._outages.append((began, time.monotonic()))

    async def _fail_over(self, group: str, ms: int) -> None:
        """Take the old coordinator away at once; sessions at the new one begin when it is ready."""
        self.groups.fail_over([group])
        await asyncio.sleep(ms / 1000)
        self.groups.fail_over([group])

    async def _ask(self, api: str, message: Message) -> dict[str, Any]:
        """Ask the model itself, on no connection."""
        answered: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        version = self.revision.apis[api][1]
        send = Send(self.next_id(), _STRANGER, _STRANGER, api, version, message.to_body(version))
        node = self.groups.node_of(send.body["groupId"])
        self.groups.ask(send, message, lambda _, body: answered.set_result(body), node)
        async with asyncio.timeout(_LONGEST_S):
            return await answered
