"""Write cases: members join, sync, heartbeat and leave by name, and bring a group into a state.

A name in capitals is a process of a static member ("A1", "A2": two processes of instance "A"); a
name in small letters is a dynamic member.  A field that a call leaves out has the value of a
correct client, with the ids that the member knows.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any

from fencepost.model.consumer.topics import TOPICS
from fencepost.model.messages.messages import (
    CommitPartition,
    CommitTopic,
    DeletablePartition,
    DeletableTopic,
    FetchGroup,
    FetchTopic,
    JoinProtocol,
    LeavingMember,
    SyncAssignment,
    TxnCommitPartition,
    TxnCommitTopic,
)
from fencepost.model.plans.steps import (
    AssignmentsIfLeader,
    Await,
    DeleteTopics,
    Disconnect,
    Failover,
    GenerationOf,
    IdOf,
    MoveCoordinator,
    Ms,
    Pause,
    PlanStep,
    ProtocolOf,
    Request,
    Settle,
    instance_of,
)


class Entering(Enum):
    """A way in which a dynamic member enters a group, where the case is not about that."""

    AT_ONCE = "without an id, in JoinGroup up to version 3"
    ID_FIRST = "with the id of a first answer, in JoinGroup from version 4"
    STATIC = "as static members"


@dataclass(frozen=True, slots=True)
class SetUp:
    """A way to bring a group into the state in which a case begins.

    `older`: in the first versions with instances; `metadata`: with subscriptions of version 3.
    """

    entering: Entering = Entering.AT_ONCE
    older: bool = False
    metadata: bool = False

    def __str__(self) -> str:
        """Return the set-up in words."""
        older = ["in JoinGroup up to 5 and SyncGroup up to 3"] if self.older else []
        metadata = ["with subscriptions of version 3"] if self.metadata else []
        return ", ".join([f"dynamic members enter {self.entering.value}", *older, *metadata])


def subscription(*topics: str) -> bytes:
    """Return a consumer's subscription for a protocol, version 0, as a real one sends it.

    Some coordinators parse it, and fail on other bytes.
    """
    listed = b"".join(struct.pack(">h", len(t)) + t.encode() for t in topics)
    return struct.pack(">hi", 0, len(topics)) + listed + struct.pack(">i", -1)


def newer_subscription(metadata: bytes) -> bytes:
    """Return a subscription in version 3: no partitions owned, no generation, no rack."""
    if metadata[:2] != bytes(2):
        return metadata
    return struct.pack(">h", 3) + metadata[2:] + struct.pack(">iih", 0, -1, -1)


AUTO: Any = object()
"""Placeholder for the value that a correct client sends."""

RANGE = (("range", subscription("t")),)
RENEWED = (("range", subscription("t", "u")),)
ROUNDROBIN = (("roundrobin", subscription("t")),)
STICKY = (("sticky", subscription("t")),)
BOTH = (*RANGE, *ROUNDROBIN)

CASE_TOPICS = TOPICS
"""The topics of a case, where groups hold partitions."""
CASE_PARTITIONS = 4
"""The partitions of each."""

INSTANCE_SINCE = {
    "JoinGroup": 5,
    "SyncGroup": 3,
    "Heartbeat": 3,
    "LeaveGroup": 3,
    "OffsetCommit": 7,
}
"""The first versions in which a member can name its instance (KIP-345)."""
_OLDER_JOIN, _OLDER_SYNC = INSTANCE_SINCE["JoinGroup"], INSTANCE_SINCE["SyncGroup"]

TOO_LONG_MS = 2**31 - 1
"""A session timeout above any broker's maximum."""

KIND: dict[str, Any] = {"protocol_type": "consumer", "protocol_name": "range"}
"""Protocol fields of a SyncGroup from version 5."""

NOBODY = "nobody-00000000-0000-0000-0000-000000000000"
"""A member id that was never handed out."""


class Script:
    """The steps of one case, as its function adds them.

    `delayed`: the target waits before the first generation of a group; without that delay the
    member that joins first is alone in generation 1.  `way`: the set-up of groups; `set_up`: the
    labels of its requests, which another way may replace.
    """

    def __init__(self, *, delayed: bool, way: SetUp | None = None) -> None:
        self.delayed = delayed
        self.way = way or SetUp()
        self.set_up: set[str] = set()
        self._sets_up = False
        self._made_static: set[str] = set()
        self.steps: list[PlanStep] = []
        self._last: dict[str, str] = {}
        self._habits: dict[str, dict[str, Any]] = {}

    def says(self, *who: str, **join: Any) -> None:
        """Set fields for every join of these members, unless a join has its own."""
        for name in who:
            self._habits[name] = join

    # Requests.

    def ask(
        self,
        who: str,
        api: str,
        *,
        version: int | None = None,
        at_most: int | None = None,
        wait: bool = True,
        connection: str | None = None,
        **fields: Any,
    ) -> None:
        """Send any request; `version`: exactly this; `at_most`: the highest up to this."""
        label = f"{who} {api} {len(self.steps) + 1}"
        self._last[who] = label
        if self._sets_up:
            self.set_up.add(label)
        self.steps.append(Request(label, who, api, fields, version, at_most, connection))
        if wait:
            self.steps.append(Await((label,)))

    def join(
        self, *who: str, wait: bool | tuple[str, ...] = False, settle: bool = False, **join: Any
    ) -> None:
        """Send JoinGroup for each; by default without waiting, since an answer may be delayed.

        `wait`: for each answer before the next request, or in the end for those to these members;
        `settle`: settle in the end.
        """
        for name in who:
            self._join(name, wait=wait is True, **{**self._habits.get(name, {}), **join})
        self._then(wait, settle=settle)

    def _then(self, wait: bool | tuple[str, ...], *, settle: bool) -> None:
        if isinstance(wait, tuple):
            self.wait(*wait)
        if settle:
            self.settle()

    def _join(
        self,
        who: str,
        *,
        member_id: Any = AUTO,
        instance: Any = AUTO,
        session: Any = None,
        rebalance: Any = None,
        protocols: Sequence[tuple[str, bytes]] = RANGE,
        protocol_type: str = "consumer",
        group: str = "g",
        version: int | None = None,
        api: str = "JoinGroup",
        **options: Any,
    ) -> None:
        mine = self._instance(who) if instance is AUTO else instance
        is_first = who not in self._last
        if self.way.metadata:
            protocols = [(name, newer_subscription(metadata)) for name, metadata in protocols]
        if self.way.older and version is None:
            options["at_most"] = min(options.get("at_most") or _OLDER_JOIN, _OLDER_JOIN)
        fields: dict[str, Any] = {
            "group_id": group,
            "session_timeout_ms": Ms("session") if session is None else session,
            "member_id": IdOf(who) if member_id is AUTO else member_id,
            "protocol_type": protocol_type,
            "protocols": tuple(JoinProtocol(name=n, metadata=m) for n, m in protocols),
        }
        if version != 0:
            fields["rebalance_timeout_ms"] = Ms("rebalance") if rebalance is None else rebalance
        if mine is not None:
            fields["group_instance_id"] = mine
        with self._setting_up() if is_first else nullcontext():
            self.ask(who, api, version=version, **options, **fields)

    def enter(self, who: str, *, wait: bool = False, settle: bool = False, **join: Any) -> None:
        """Join as a new member: a dynamic one in one request, up to version 3, if the way has that.

        So only cases that are about MEMBER_ID_REQUIRED depend on it.
        """
        fields = {**self._habits.get(who, {}), **join}
        with self._setting_up():
            if instance_of(who) is None and fields.get("version") is None:
                match self.way.entering:
                    case Entering.AT_ONCE:
                        join["at_most"] = min(fields.get("at_most") or 3, 3)
                    case Entering.ID_FIRST:
                        self.join(who, member_id="", wait=True, **join)
                    case Entering.STATIC:
                        self._made_static.add(who)
            self.join(who, wait=wait, settle=settle, **join)

    @contextmanager
    def _setting_up(self) -> Iterator[None]:
        """Mark the requests of this block as the set-up, which another way may replace."""
        before, self._sets_up = self._sets_up, True
        yield
        self._sets_up = before

    def _instance(self, who: str) -> str | None:
        return who if who in self._made_static else instance_of(who)

    def sync(
        self,
        *who: str,
        assign: Iterable[str] = (),
        protocol_type: Any = AUTO,
        protocol_name: Any = AUTO,
        version: int | None = None,
        at_most: int | None = None,
        wait: bool | tuple[str, ...] = False,
        settle: bool = False,
        force: bool = False,
        padding: int = 0,
        **fields: Any,
    ) -> None:
        """Send SyncGroup for each.

        `assign`: members that are assigned their names, if the sender leads or by `force`;
        `padding`: bytes more for each; `wait`, `settle`: as for a join; `fields`: of
        `_member_fields` and `ask`.
        """
        pairs = self._assigned(tuple(assign), padding)
        if self.way.older and version is None:
            at_most = min(at_most or _OLDER_SYNC, _OLDER_SYNC)
        top = version if version is not None else at_most
        for name in who:
            assigned = assignments_of(pairs) if force else AssignmentsIfLeader(name, pairs)
            sync = self._member_fields(name, assignments=assigned, **fields)
            if top is None or top >= 5:
                kind = ProtocolOf(name, "type") if protocol_type is AUTO else protocol_type
                protocol = ProtocolOf(name, "name") if protocol_name is AUTO else protocol_name
                sync |= {"protocol_type": kind, "protocol_name": protocol}
            api = "SyncGroup"
            self.ask(name, api, version=version, at_most=at_most, wait=wait is True, **sync)
        self._then(wait, settle=settle)

    def _assigned(self, members: tuple[str, ...], padding: int) -> tuple[tuple[Any, bytes], ...]:
        """Return the assignments of members, each by the reference to its id."""
        return tuple((IdOf(member), member.encode() + bytes(padding)) for member in members)

    def beat(self, *who: str, **fields: Any) -> None:
        """Send Heartbeat for each; `fields`: of `_member_fields` and `ask`."""
        for name in who:
            self.ask(name, "Heartbeat", **self._member_fields(name, **fields))

    def leave(
        self, who: str, *rows: tuple[Any, str | None], group: str = "g", **options: Any
    ) -> None:
        """Send LeaveGroup from version 3: rows of member id and instance; default: the sender's."""
        own: tuple[Any, str | None] = (IdOf(who), self._instance(who))
        pairs = rows or (own,)
        members = tuple(LeavingMember(member_id=m, group_instance_id=i) for m, i in pairs)
        self.ask(who, "LeaveGroup", group_id=group, members=members, **options)

    def leave_legacy(
        self, who: str, *, member_id: Any = AUTO, version: int = 2, group: str = "g"
    ) -> None:
        """Send LeaveGroup in versions 0 to 2, with one member id."""
        mid = IdOf(who) if member_id is AUTO else member_id
        self.ask(who, "LeaveGroup", version=version, group_id=group, member_id=mid)

    def commit(
        self,
        who: str,
        *,
        offset: int = 1,
        topic: str = "t",
        metadata: Sequence[str] = ("",),
        **fields: Any,
    ) -> None:
        """Send OffsetCommit: a partition for each metadata; `fields`: as for `beat`."""
        part = partial(CommitPartition, committed_offset=offset)
        rows = [part(partition_index=i, committed_metadata=m) for i, m in enumerate(metadata)]
        topics = (CommitTopic(name=topic, partitions=tuple(rows)),)
        self.ask(who, "OffsetCommit", **self._member_fields(who, topics=topics, **fields))

    def transact(
        self,
        who: str,
        *,
        offset: int = 1,
        topic: str = "t",
        metadata: Sequence[str] = ("",),
        **fields: Any,
    ) -> None:
        """Send TxnOffsetCommit, in a transaction that is then committed; else as `commit`."""
        part = partial(TxnCommitPartition, committed_offset=offset)
        rows = [part(partition_index=i, committed_metadata=m) for i, m in enumerate(metadata)]
        topics = (TxnCommitTopic(name=topic, partitions=tuple(rows)),)
        named = self._member_fields(who, topics=topics, transactional_id=who, **fields)
        self.ask(who, "TxnOffsetCommit", **named)

    def fetch(
        self,
        who: str,
        *,
        version: int | None = None,
        at_most: int | None = 7,
        group: str = "g",
        topic: str = "t",
        partitions: tuple[int, ...] = (0,),
    ) -> None:
        """Send OffsetFetch of these partitions of a topic."""
        topics = (FetchTopic(name=topic, partition_indexes=partitions),)
        fields: dict[str, Any] = {"group_id": group, "topics": topics}
        if (version or at_most or 0) >= 8:
            fields = {"groups": (FetchGroup(group_id=group, topics=topics),)}
        self.ask(who, "OffsetFetch", version=version, at_most=at_most, **fields)

    def delete_offsets(
        self, *topics: str, group: str = "g", partitions: tuple[int, ...] = (0,)
    ) -> None:
        """Send OffsetDelete of these partitions of topics, from a connection of its own."""
        rows = tuple(DeletablePartition(partition_index=index) for index in partitions)
        named = tuple(DeletableTopic(name=topic, partitions=rows) for topic in topics)
        self.ask("admin", "OffsetDelete", group_id=group, topics=named)

    def describe(
        self, *groups: str, version: int | None = None, at_most: int | None = None
    ) -> None:
        """Send DescribeGroups from a connection of its own."""
        named = groups or ("g",)
        self.ask("admin", "DescribeGroups", version=version, at_most=at_most, groups=named)

    def list_groups(
        self,
        *,
        version: int | None = None,
        at_most: int | None = None,
        states: tuple[str, ...] = (),
        types: tuple[str, ...] = (),
    ) -> None:
        """Send ListGroups from a connection of its own."""
        fields: dict[str, Any] = {"states_filter": states} if states else {}
        if types:
            fields["types_filter"] = types
        self.ask("admin", "ListGroups", version=version, at_most=at_most, **fields)

    def delete_groups(self, *groups: str, at_most: int | None = None) -> None:
        """Send DeleteGroups from a connection of its own."""
        self.ask("admin", "DeleteGroups", at_most=at_most, groups_names=groups or ("g",))

    def _member_fields(
        self,
        who: str,
        *,
        group: str = "g",
        generation: Any = AUTO,
        member_id: Any = AUTO,
        instance: Any = AUTO,
        **more: Any,
    ) -> dict[str, Any]:
        """Return the fields that name a member, with further ones."""
        mine = self._instance(who) if instance is AUTO else instance
        fields = {
            "group_id": group,
            "generation_id": GenerationOf(who) if generation is AUTO else generation,
            "member_id": IdOf(who) if member_id is AUTO else member_id,
            **more,
        }
        return fields if mine is None else {**fields, "group_instance_id": mine}

    # Time and faults.

    def wait(self, *who: str) -> None:
        """Wait until the last request of each of these is answered."""
        self.steps.append(Await(tuple(self._last[name] for name in who)))

    def settle(self) -> None:
        """Let the requests so far be handled, so that the next steps come later."""
        self.steps.append(Settle())

    def pause(self, *times: str, margins: int = 1, minus: bool = False) -> None:
        """Let these times pass and a margin more (or, `minus`, less)."""
        self.steps.append(Pause(tuple(map(Ms, times)), margins, minus))

    def outlast(self, *times: str, beating: Sequence[str] = ()) -> None:
        """Let these times pass and a margin more, while some heartbeat now and then."""
        named = tuple(map(Ms, times))
        for _ in range(2):
            self.steps.append(Pause(named, margins=0, parts=3))
            for who in beating:
                self.beat(who)
        self.steps.append(Pause(named, parts=3))

    def disconnect(self, who: str) -> None:
        """Drop a member's connection."""
        self.steps.append(Disconnect(who))

    def restart(self) -> None:
        """Fail the coordinator over."""
        self.steps.append(Failover())

    def move(self) -> None:
        """Move the coordinator to another broker, or back."""
        self.steps.append(MoveCoordinator())

    def delete_topics(self, *topics: str) -> None:
        """Delete topics."""
        self.steps.append(DeleteTopics(topics))

    # Groups in a state.

    def stable(self, *who: str, **join: Any) -> None:
        """Make a Stable group of these members; the first joins first and leads."""
        self.completing(*who, **join)
        self.synced(*who)

    def completing(self, *who: str, **join: Any) -> None:
        """Make a group of members that know their generation, none of them synced yet."""
        first, *rest = who
        if self.delayed:
            for name in who:
                self.enter(
                    name, **{"rebalance": Ms("formation"), **self._habits.get(name, {}), **join}
                )
                self.settle()
            self.wait(*who)
            return
        self.enter(first, wait=True, **join)
        if rest:
            self.synced(first)
            self.rebalanced(first, joining=rest, **join)

    def rebalanced(self, *members: str, joining: Sequence[str] = (), **join: Any) -> None:
        """Let new members join a Stable group, and its members join again; wait for all answers."""
        for name in joining:
            self.enter(name, **join)
            self.settle()
        with self._setting_up():
            for name in members:
                self.join(name, **join)
        self.wait(*joining, *members)

    def synced(self, *who: str) -> None:
        """Let all of these sync, the first (who leads) last; each is assigned its own name."""
        leader, *followers = who
        with self._setting_up():
            for name in followers:
                self.sync(name, assign=who)
            if followers:
                self.settle()
            self.sync(leader, assign=who)
        self.wait(*who)

    def preparing(self, *who: str, joining: str = "n", **join: Any) -> None:
        """Make a Stable group, then let a new dynamic member join it: PreparingRebalance."""
        self.stable(*who, **join)
        self.enter(joining)
        self.settle()


def assignments_of(pairs: tuple[tuple[Any, bytes], ...]) -> Any:
    """Return assignments to send even if the sender doesn't lead."""
    return tuple(SyncAssignment(member_id=m, assignment=a) for m, a in pairs)
