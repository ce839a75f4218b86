"""Ask a cluster around the cases: for versions, coordinators, settings, topics.

This module knows how long a broker may take, which answers mean "ask again", and what to say when
the other side is no broker.  Each question has a connection of its own, so none waits behind a
parked request.

Source: Kafka's message definitions; KIP-511 (ApiVersions, and its answer to a version too high);
protocol.md section 9 (FindCoordinator until it answers NONE).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from msgspec.structs import replace

from fencepost.conformance.targets.target import NO_LIMIT
from fencepost.conformance.targets.tcp.broker_connection import (
    Connection,
    Door,
    Ended,
    Event,
    Reply,
    ask,
    is_readable,
    send_and_wait,
)
from fencepost.conformance.targets.tcp.namespacing import PREFIX
from fencepost.conformance.targets.tcp.security import (
    PLAINTEXT,
    Address,
    Security,
    SecurityError,
    refusal,
    resolve,
)
from fencepost.conformance.wire.codec import API_KEYS
from fencepost.model.consumer.settings import ALL_SETTINGS, MAX_SIZE
from fencepost.model.coordinator import (
    METADATA_LIMIT,
    NAMED_VALUES,
    RECORD_LIMIT,
)
from fencepost.model.messages.consumer_messages import ConsumerGroupHeartbeatRequest
from fencepost.model.messages.errors import MOVING, Error, error_name

PARTITIONS = 4

_ACCESS = (
    f"the user needs READ, DESCRIBE and DELETE on groups and CREATE, READ, DESCRIBE and DELETE on "
    f"topics with the prefix {PREFIX!r}, and DESCRIBE_CONFIGS on the cluster to learn its settings"
)

_BROKER_RESOURCE = 4
_HIGHEST = {
    "Metadata": 8,
    "FindCoordinator": 6,
    "CreateTopics": 4,
    "DeleteTopics": 4,
    "DescribeConfigs": 2,
    "DeleteGroups": 2,
    "DescribeGroups": 4,
    "ConsumerGroupDescribe": 1,
    "ConsumerGroupHeartbeat": 1,
    "LeaveGroup": 5,
    "ListGroups": 2,
    "Produce": 8,
    "ElectLeaders": 2,
    "AlterPartitionReassignments": 0,
    "InitProducerId": 4,
    "AddOffsetsToTxn": 3,
    "EndTxn": 3,
    "OffsetFetch": 7,
}
_BATCHES_SINCE = 3
CONSUMER_BEAT = ConsumerGroupHeartbeatRequest.API
MEMBER = "fencepost-probe"
"""The id of a member that tries requests."""
_ASSIGNED_S = 5.0
"""Seconds to wait until a new topic is assigned."""
_WITH_IDS = 12
"""A version of Metadata that has the ids of topics."""
_NONE_IF_HUGE = {
    "group.max.size",
    MAX_SIZE,
    "offsets.retention.check.interval.ms",
    METADATA_LIMIT,
    RECORD_LIMIT,
}
"""Settings without a word for "no limit" or "never": a huge number means it (24 days)."""
_AT_ONCE = 8

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Time limits, in seconds."""

    connect_s: float = 5.0
    answer_s: float = 10.0
    coordinator_s: float = 30.0
    probe_s: float = 1.0
    cleanup_s: float = 10.0


DEADLINES = Deadlines()


class AdminError(Exception):
    """The cluster can't be reached, or refuses.  `str()` is a sentence without its full stop."""


class RefusedError(AdminError):
    """A question was answered with an error.  `question`: in words."""

    def __init__(self, question: str, code: int) -> None:
        super().__init__(f"{question} was answered {error_name(code)}")


class UnreadableError(AdminError):
    """The bytes of an answer are not those of the API: they will be so each time."""

    def __init__(self, api: str, why: str) -> None:
        super().__init__(f"{api} was answered by bytes that can't be read: {why}")


class AccessError(AdminError):
    """The user lacks a permission that is needed."""

    def __init__(self, at: Address, api: str, refused: str) -> None:
        super().__init__(f"{at} answered {api} with {refused}: {_ACCESS}")


class KeyType(Enum):
    """The kind of name that FindCoordinator is asked about."""

    GROUP = 0
    TRANSACTION = 1


class Admin:
    """Questions to a cluster.  `open` first; then `advertised` holds the broker's versions.

    `named_as`: the address that a broker names as its own, wherever it listens: `bootstrap` is
    asked in its place.
    """

    def __init__(
        self,
        bootstrap: Address,
        *,
        remote: bool,
        deadlines: Deadlines,
        security: Security = PLAINTEXT,
        named_as: Address | None = None,
    ) -> None:
        self.bootstrap = bootstrap
        self._named_as = named_as
        self.advertised: dict[str, tuple[int, int]] = {}
        self._remote = remote
        self._deadlines = deadlines
        self._security = security
        self._doors: dict[Address, Door] = {}

    async def open(self) -> None:
        """Ask ApiVersions, in version 3 and then in 0.  Raises AdminError, AddressError."""
        where, most = self.bootstrap, self._deadlines.answer_s
        problem = "did not answer"
        client = {"clientSoftwareName": "fencepost", "clientSoftwareVersion": "0"}
        try:
            async with asyncio.timeout(most):
                for version, body in ((3, client), (0, {})):
                    event = await self._ask(where, "ApiVersions", version, body, most)
                    problem = self._problem(event)
                    if isinstance(event, Reply) and not problem and event.decoded.body:
                        self._take_versions(event.decoded.body)
                        return
        except TimeoutError:
            raise AdminError(
                f"{where} did not answer ApiVersions within {most:g} s: is it a Kafka broker?"
            ) from None
        except SecurityError as error:
            raise AdminError(str(error)) from error
        except OSError as error:
            raise AdminError(
                f"{where} can't be reached ({_reason(error)}): "
                "start the broker, or correct the address"
            ) from error
        raise AdminError(
            f"{where} may be no Kafka broker, or refuses such connections: {problem.rstrip('. ')}"
        )

    def _take_versions(self, body: Mapping[str, Any]) -> None:
        names = {key: name for name, key in API_KEYS.items()}
        self.advertised = {
            names[row["apiKey"]]: (row["minVersion"], row["maxVersion"])
            for row in body["apiKeys"]
            if row["apiKey"] in names
        }

    async def door(self, address: Address) -> Door:
        """Return the way in to a broker, held to the loopback rule.

        Raises AddressError, OSError.
        """
        if address not in self._doors:
            at = await resolve(address, remote=self._remote, timeout_s=self._deadlines.connect_s)
            self._doors[address] = Door(at, address.host, self._security)
        return self._doors[address]

    async def connect(self, address: Address, on_event: Callable[[Event], None]) -> Connection:
        """Return a connection to a broker, signed in.  Raises AddressError, OSError."""
        door = await self.door(address)
        return await door.open(on_event, timeout_s=self._deadlines.connect_s)

    async def _ask(
        self, at: Address, api: str, version: int, body: Mapping[str, Any], timeout_s: float
    ) -> Reply | Ended:
        return await ask(await self.door(at), api, version, body, timeout_s=timeout_s)

    def version_of(self, api: str) -> int:
        """Return the highest version that both sides speak.

        Raises AdminError where there is none.
        """
        low, high = self.advertised.get(api, (0, -1))
        version = min(high, _HIGHEST[api])
        if version < low:
            raise AdminError(f"{self.bootstrap} has no {api} that this project speaks")
        return version

    async def call(
        self,
        api: str,
        body: Mapping[str, Any],
        at: Address | None = None,
        version: int | None = None,
    ) -> dict[str, Any]:
        """Send one request; return the answer's body.  Raises AdminError, AddressError."""
        where = at or self.bootstrap
        version = self.version_of(api) if version is None else version
        try:
            event = await self._ask(where, api, version, body, self._deadlines.answer_s)
        except TimeoutError:
            raise AdminError(f"{where} did not answer {api} in time") from None
        except SecurityError as error:
            raise AdminError(str(error)) from error
        except OSError as error:
            raise AdminError(f"{where} can't be reached ({_reason(error)})") from error
        if isinstance(event, Ended):
            raise AdminError(f"{where} did not answer {api}: {self._problem(event).rstrip('.')}")
        if event.decoded.body is None:
            raise UnreadableError(api, self._problem(event).rstrip("."))
        if refused := refusal(event.decoded.body):
            raise AccessError(where, api, refused)
        return event.decoded.body

    async def _call_in_turn(
        self, api: str, bodies: Sequence[Mapping[str, Any]], at: Address
    ) -> None:
        """Send requests on one connection, their answers unread.

        Raises AdminError, AddressError.
        """
        version, most = self.version_of(api), self._deadlines.answer_s
        events: asyncio.Queue[Event] = asyncio.Queue()
        try:
            async with asyncio.timeout(self._deadlines.connect_s):
                connection = await self.connect(at, events.put_nowait)
            with contextlib.closing(connection):
                for body in bodies:
                    async with asyncio.timeout(most):
                        event = await send_and_wait(connection, events, api, version, body)
                    if isinstance(event, Ended):
                        raise AdminError(f"{at} did not answer {api}: {self._problem(event)}")
        except OSError as error:
            raise AdminError(f"{at} doesn't answer requests for {api} ({error})") from error

    async def check_deletion(self, group_id: str, at: Address) -> None:
        """Check that the user may delete such a group, and so clean up.  Raises AdminError."""
        if "DeleteGroups" in self.advertised:
            await self.call("DeleteGroups", {"groupsNames": [group_id]}, at)

    def _problem(self, event: Reply | Ended) -> str:
        """Return the problem with an answer, in a sentence; empty if there is none."""
        if isinstance(event, Ended):
            has_remedy = "--" in event.reason
            return event.reason if has_remedy else f"{event.reason} {self._security.if_closed}"
        body = event.decoded.body
        if body is None or not is_readable(event.decoded):
            return " ".join(event.decoded.findings)
        code = body.get("errorCode", 0)
        return f"it answered {error_name(code)}." if code else ""

    async def find_coordinator(self, name: str, *, of: KeyType = KeyType.GROUP) -> Address:
        """Return the address of a group's or producer's coordinator, asked for until it is NONE.

        Raises AdminError after the deadline, at once for an error that time doesn't heal, and for a
        broker that can't be reached as soon as a connection should have been made.
        """
        problem = "it did not answer"
        reached = time.monotonic()
        batch = self.version_of("FindCoordinator") >= 4
        key: dict[str, Any] = {"coordinatorKeys": [name]} if batch else {"key": name}
        if of is not KeyType.GROUP:
            key["keyType"] = of.value

        async def attempt() -> Address | None:
            nonlocal problem, reached
            try:
                answer = await self.call("FindCoordinator", key)
            except AccessError:
                raise
            except AdminError as error:
                problem = str(error)
                if time.monotonic() - reached > self._deadlines.connect_s:
                    raise
                return None
            reached = time.monotonic()
            row = next(iter(answer.get("coordinators", ())), None) or answer
            code = row.get("errorCode", Error.UNKNOWN_SERVER_ERROR.value)
            if code == Error.NONE.value:
                return self._named(row)
            problem = f"it answered {error_name(code)}"
            if code not in MOVING:
                raise RefusedError(f"FindCoordinator for {name!r}", code)
            return None

        address = await repeat(attempt, self._deadlines.coordinator_s)
        if address is None:
            most = self._deadlines.coordinator_s
            raise AdminError(
                f"{self.bootstrap} named no coordinator for {name!r} within {most:g} s: {problem}"
            )
        return address

    async def check_reachable(self, named: Address) -> None:
        """Check that the broker that FindCoordinator names can be reached, too.

        Raises AdminError, AddressError.
        """
        if named == self.bootstrap:
            return
        try:
            async with asyncio.timeout(self._deadlines.answer_s):
                await self._ask(named, "ApiVersions", 0, {}, self._deadlines.answer_s)
        except TimeoutError:
            problem = "did not answer"
        except SecurityError:
            return  # it was reached, and its own refusal says more
        except OSError as error:
            problem = f"can't be reached ({_reason(error)})"
        else:
            return
        raise AdminError(
            f"FindCoordinator names {named}, which {problem}; {self.bootstrap} "
            "can be reached: correct the address that the broker advertises"
        )

    def _named(self, row: Mapping[str, Any]) -> Address:
        address = Address(row["host"], row["port"])
        return self.bootstrap if address == self._named_as else address

    async def brokers(self) -> dict[int, Address]:
        """Return the brokers by node id; -1 is the controller, where the cluster names one."""
        answer = await self.call("Metadata", {"topics": []})
        addresses = {row["nodeId"]: self._named(row) for row in answer["brokers"]}
        if (controller := answer.get("controllerId", -1)) in addresses:
            addresses[-1] = addresses[controller]
        return addresses

    async def group_settings(self, node_id: int, at: Address) -> dict[str, int | None]:
        """Return the group settings that a broker reports; empty where it reports none.

        Raises AdminError.
        """
        settings: dict[str, int] = {}
        for names in (list(ALL_SETTINGS), None):  # 2.7.0 finds no two at once (KAFKA-12235)
            resource = {
                "resourceType": _BROKER_RESOURCE,
                "resourceName": str(node_id),
                "configurationKeys": names,
            }
            answer = await self.call("DescribeConfigs", {"resources": [resource]}, at)
            rows = [row for r in answer["results"] if r["errorCode"] == 0 for row in r["configs"]]
            settings |= {
                row["name"]: number
                for row in rows
                if row["name"] in ALL_SETTINGS
                and (number := _number(row["name"], row["value"])) is not None
            }
            if settings:
                break
        unlimited = {k: None for k, v in settings.items() if k in _NONE_IF_HUGE and v >= NO_LIMIT}
        return {**settings, **unlimited}

    async def create_topic(
        self, name: str, at: Address | None, partitions: int = PARTITIONS
    ) -> None:
        """Create a topic and wait until its partitions have leaders.  Raises AdminError.

        Where the answer can't be read, the topic counts as made if it is there all the same.
        """
        topic = {
            "name": name,
            "numPartitions": partitions,
            "replicationFactor": 1,
            "assignments": [],
            "configs": [],
        }
        problem = AdminError(f"the topic {name} has no leader")
        if "CreateTopics" in self.advertised:
            body = {"topics": [topic], "timeoutMs": int(self._deadlines.answer_s * 1000)}
            try:
                rows = (await self.call("CreateTopics", body, at))["topics"]
            except UnreadableError as error:
                problem, rows = error, []
            for row in rows:
                if row["errorCode"]:
                    raise RefusedError("CreateTopics", row["errorCode"])

        async def attempt() -> bool | None:
            # A broker without CreateTopics makes a topic when it is asked about it.
            answer = await self.call("Metadata", {"topics": [{"name": name}]})
            return True if any(_is_led(row) for row in answer["topics"]) else None

        if not await repeat(attempt, self._deadlines.answer_s):
            raise problem

    @property
    def has_topic_ids(self) -> bool:
        """Return True if Metadata has the ids of topics."""
        return self.advertised.get("Metadata", (0, -1))[1] >= _WITH_IDS

    async def topic_id(self, name: str) -> str:
        """Return the id of a topic that exists.  Raises AdminError."""

        async def attempt() -> str | None:
            answer = await self.call("Metadata", {"topics": [{"name": name}]}, version=_WITH_IDS)
            rows = (row for row in answer["topics"] if not row["errorCode"])
            return next((row["topicId"] for row in rows), None)

        topic_id: str | None = await repeat(attempt, self._deadlines.answer_s)
        if topic_id is None:
            raise AdminError(f"Metadata names no id of the topic {name}")
        return topic_id

    async def until_assigned(self, topic: str, partitions: int, group_id: str, at: Address) -> None:
        """Wait until a coordinator assigns a new topic: it knows it later than Metadata does.

        `group_id`: of a group that nobody else uses.  It may never assign it, by a fault of its
        own: after a few seconds the case shows that.  Raises AdminError.
        """
        version = self.version_of(CONSUMER_BEAT)
        join = ConsumerGroupHeartbeatRequest(
            group_id=group_id,
            member_id=MEMBER,
            member_epoch=0,
            rebalance_timeout_ms=10_000,
            subscribed_topic_names=(topic,),
            subscribed_topic_regex="" if version else None,
            topic_partitions=(),
        )

        async def attempt() -> bool | None:
            answer = await self.call(CONSUMER_BEAT, join.to_body(version), at)
            rows = (answer["assignment"] or {}).get("topicPartitions", ())
            leave = replace(join, member_epoch=-1)
            await self.call(CONSUMER_BEAT, leave.to_body(version), at)
            return True if sum(len(row["partitions"]) for row in rows) == partitions else None

        await repeat(attempt, _ASSIGNED_S)

    async def delete_topic(self, name: str, at: Address | None) -> None:
        """Delete a topic; `forgotten` shows if it is gone.  Raises AdminError."""
        with contextlib.suppress(UnreadableError):
            await self.call("DeleteTopics", {"topicNames": [name], "timeoutMs": 1000}, at)

    async def forgotten(self, name: str) -> None:
        """Wait until no broker knows a topic.  Raises AdminError."""
        request = {"topics": [{"name": name}], "allowAutoTopicCreation": False}
        for at in set((await self.brokers()).values()):

            async def attempt(at: Address = at) -> bool | None:
                rows = (await self.call("Metadata", request, at))["topics"]
                code = Error.UNKNOWN_TOPIC_OR_PARTITION.value
                return True if all(row["errorCode"] == code for row in rows) else None

            if not await repeat(attempt, self._deadlines.answer_s):
                raise AdminError(f"{at} still knows the topic {name}, which was deleted")

    async def groups(self, prefix: str, at: Address) -> list[str]:
        """Return the groups of this prefix that a broker coordinates.  Raises AdminError."""
        answer = await self.call("ListGroups", {}, at)
        named = (row["groupId"] for row in answer["groups"])
        return [group_id for group_id in named if group_id.startswith(prefix)]

    def _leaves(self, group_id: str, member_ids: list[str]) -> list[dict[str, Any]]:
        """Return the requests that remove members: one, where a version takes several members."""
        if self.version_of("LeaveGroup") >= _BATCHES_SINCE:
            rows = [{"memberId": member_id} for member_id in member_ids]
            return [{"groupId": group_id, "members": rows}] if rows else []
        return [{"groupId": group_id, "memberId": member_id} for member_id in member_ids]

    async def _described(self, group_ids: Sequence[str], at: Address) -> list[dict[str, Any]]:
        """Describe groups, of either protocol; each has its members."""
        answer = await self.call("DescribeGroups", {"groups": list(group_ids)}, at)
        groups = [*answer["groups"]]
        if "ConsumerGroupDescribe" in self.advertised:
            body = {"groupIds": list(group_ids), "includeAuthorizedOperations": False}
            groups += (await self.call("ConsumerGroupDescribe", body, at))["groups"]
        return groups

    async def remove_groups(self, group_ids: Sequence[str], at: Address) -> list[str]:
        """Take the members out of groups, then delete them; return those that stay.

        Raises AdminError.
        """
        leaves = [
            body
            for group in await self._described(group_ids, at)
            for body in self._leaves(group["groupId"], [m["memberId"] for m in group["members"]])
        ]
        shares = [leaves[first::_AT_ONCE] for first in range(min(_AT_ONCE, len(leaves)))]
        parts = (self._call_in_turn("LeaveGroup", share, at) for share in shares)
        for result in await asyncio.gather(*parts, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result
        answer = await self.call("DeleteGroups", {"groupsNames": list(group_ids)}, at)
        gone = {Error.NONE.value, Error.GROUP_ID_NOT_FOUND.value}
        return [row["groupId"] for row in answer["results"] if row["errorCode"] not in gone]


def _number(name: str, value: str | None) -> int | None:
    """Return the value of a setting as a number; None for a value that is none."""
    if name in NAMED_VALUES and (word := (value or "").lower()) in NAMED_VALUES[name]:
        return NAMED_VALUES[name].index(word)
    return int(value) if value and value.lstrip("-").isdigit() else None


def _reason(error: OSError) -> str:
    """Return the system's word for an error; asyncio puts the address there, which is known."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or str(error)


async def repeat(attempt: Callable[[], Awaitable[_T | None]], most_s: float) -> _T | None:
    """Repeat `attempt`, ever more slowly, and return its first result; None after `most_s`."""
    end, pause = time.monotonic() + most_s, 0.02
    try:
        async with asyncio.timeout(most_s):
            while (result := await attempt()) is None:
                await asyncio.sleep(min(pause, max(0.0, end - time.monotonic())))
                pause = min(pause * 2, 0.5)
            return result
    except TimeoutError:
        return None


def _is_led(topic: Mapping[str, Any]) -> bool:
    led = all(p["leaderId"] >= 0 for p in topic["partitions"])
    return bool(topic["errorCode"] == 0 and topic["partitions"] and led)
