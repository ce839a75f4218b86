"""The model as a broker: bytes in, bytes out, on a real clock; and what it makes of garbage."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
from support.served import PATIENCE_S, QUICK, client

from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.serve.broker import ModelBroker
from fencepost.conformance.serve.broker_apis import PARTITIONS, VERSIONS
from fencepost.conformance.targets.tcp.tcp import TcpTarget
from fencepost.conformance.wire.codec import API_KEYS, encode_message
from fencepost.conformance.wire.refusal import Code
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import APIS
from fencepost.model.revisions import revisions

KAFKA_4 = revisions.find("kafka-4")


@pytest.fixture
async def broker() -> AsyncIterator[ModelBroker]:
    async with ModelBroker(KAFKA_4, QUICK, seed=1) as opened:
        yield opened


async def is_well(broker: ModelBroker) -> bool:
    """Whether it still answers, and nothing failed in it."""
    serving = asyncio.create_task(broker.serve())
    async with client(broker) as asker:
        answer = await asker.ask("ApiVersions", 0, {})
    serving.cancel()
    ended = await asyncio.gather(serving, return_exceptions=True)
    return answer["errorCode"] == 0 and isinstance(ended[0], asyncio.CancelledError)


# What it speaks.


async def test_every_version_that_it_advertises_works(broker: ModelBroker) -> None:
    async with TcpTarget(str(broker.address)) as target:
        assert target.broken == {}
        apis = dict(KAFKA_4.apis)
        assert target.working == apis
        assert target.settings == broker.settings
        assert set(target.settings_source.values()) == {"describe-configs"}
        assert target.topic_problem is None


async def test_a_run_leaves_nothing_behind(broker: ModelBroker) -> None:
    async with TcpTarget(str(broker.address), probe=False) as target:
        target.made("g", target.anchor)
        async with client(broker) as one:
            await one.join(instance="A")
            assert (await one.joined())["errorCode"] == 0
    async with client(broker) as one:
        assert (await one.ask("ListGroups", 4, {"statesFilter": []}))["groups"] == []
        assert (await one.ask("Metadata", 1, {"topics": None}))["topics"] == []


async def test_a_version_of_apiversions_too_high_is_told_the_ones_there_are(
    broker: ModelBroker,
) -> None:
    async with client(broker) as one:
        frame = encode_message("ApiVersions", "Request", 4, 7, {}, client_id="c")
        one.writer.write(frame[:6] + (99).to_bytes(2) + frame[8:])
        decoded = await one.read("ApiVersions", 0)
        assert decoded.correlation_id == 7
        rows = [{"apiKey": API_KEYS["ApiVersions"], "minVersion": 0, "maxVersion": 4}]
        assert decoded.body == {"errorCode": Code.UNSUPPORTED_VERSION, "apiKeys": rows}
        assert (await one.ask("ApiVersions", 0, {}))["errorCode"] == 0


async def test_what_a_client_calls_itself_must_be_a_name(broker: ModelBroker) -> None:
    async with client(broker) as one:
        for name, code in (("librdkafka", 0), ("", Code.INVALID_REQUEST), ("a b", 42)):
            body = {"clientSoftwareName": name, "clientSoftwareVersion": "1.0"}
            await one.send("ApiVersions", 3, body)
            assert int.from_bytes((await one.frame())[4:6]) == code


@pytest.mark.parametrize("version", range(10))
async def test_topics_are_made_when_asked_about_if_that_is_allowed(
    version: int, broker: ModelBroker
) -> None:
    async with client(broker) as one:
        topics = [{"name": "there"}, {"name": "no topic!"}]
        answer = await one.ask("Metadata", version, {"topics": topics})
        assert [row["errorCode"] for row in answer["topics"]] == [0, Code.INVALID_TOPIC_EXCEPTION]
        assert len(answer["topics"][0]["partitions"]) == PARTITIONS
        if version >= 4:
            body = {"topics": [{"name": "other"}], "allowAutoTopicCreation": False}
            answer = await one.ask("Metadata", version, body)
            assert answer["topics"][0]["errorCode"] == Code.UNKNOWN_TOPIC_OR_PARTITION
        everything = await one.ask("Metadata", version, {"topics": None if version else []})
        assert [row["name"] for row in everything["topics"]] == ["there"]


@pytest.mark.parametrize("version", range(2, 7))
async def test_topics_are_created_once_and_as_asked(version: int, broker: ModelBroker) -> None:
    def row(name: str, partitions: int = 2, copies: int = 1) -> dict[str, Any]:
        return {
            "name": name,
            "numPartitions": partitions,
            "replicationFactor": copies,
            "assignments": [],
            "configs": [],
        }

    rows = [row("t"), row("t"), row("none", 0), row("two", 2, 2), row("not this one!")]
    async with client(broker) as one:
        answer = await one.ask("CreateTopics", version, {"topics": rows, "timeoutMs": 1})
        assert [row["errorCode"] for row in answer["topics"]] == [
            0,
            Code.TOPIC_ALREADY_EXISTS,
            Code.INVALID_PARTITIONS,
            Code.INVALID_REPLICATION_FACTOR,
            Code.INVALID_TOPIC_EXCEPTION,
        ]
        body = {"topics": [row("x")], "timeoutMs": 1, "validateOnly": True}
        assert (await one.ask("CreateTopics", version, body))["topics"][0]["errorCode"] == 0
        body = {"topicNames": ["t", "x"], "timeoutMs": 1}
        gone = await one.ask("DeleteTopics", min(version, 5), body)
        codes = [row["errorCode"] for row in gone["responses"]]
        assert codes == [0, Code.UNKNOWN_TOPIC_OR_PARTITION]


async def test_a_group_with_members_is_not_deleted(broker: ModelBroker) -> None:
    async with client(broker) as one:
        await one.join(instance="A")
        member = (await one.joined())["memberId"]
        wanted = {"groupsNames": ["g", "other", ""]}
        for expected in (Code.NON_EMPTY_GROUP, Code.NONE, Code.GROUP_ID_NOT_FOUND):
            rows = (await one.ask("DeleteGroups", 2, wanted))["results"]
            assert [row["errorCode"] for row in rows] == [
                expected,
                Code.GROUP_ID_NOT_FOUND,
                Code.GROUP_ID_NOT_FOUND,
            ]
            await one.ask("LeaveGroup", 0, {"groupId": "g", "memberId": member})


@pytest.mark.parametrize("version", range(1, 5))
async def test_settings_are_told_to_who_asks_this_broker(version: int, broker: ModelBroker) -> None:
    resources = [
        {"resourceType": kind, "resourceName": name, "configurationKeys": keys}
        for kind, name, keys in (
            (4, "1", None),
            (4, "1", ["group.max.size", "other"]),
            (4, "2", None),
            (2, "t", None),
        )
    ]
    async with client(broker) as one:
        answer = await one.ask("DescribeConfigs", version, {"resources": resources})
    told, chosen, other, topic = answer["results"]
    assert {r["name"] for r in told["configs"]} == set(broker.settings)
    assert [(r["name"], r["value"]) for r in chosen["configs"]] == [
        ("group.max.size", str(2**31 - 1))
    ]
    assert other["errorCode"] == Code.INVALID_REQUEST
    assert topic["errorCode"] == Code.UNKNOWN_TOPIC_OR_PARTITION


async def test_groups_and_transactions_have_a_coordinator(broker: ModelBroker) -> None:
    async with client(broker) as one:
        for version in range(VERSIONS["FindCoordinator"][1] + 1):
            body = {"coordinatorKeys": ["a", "b"]} if version >= 4 else {"key": "a"}
            answer = await one.ask("FindCoordinator", version, body)
            rows = answer.get("coordinators", [answer])
            assert {(r["errorCode"], r["port"]) for r in rows} == {(0, broker.address.port)}
        answer = await one.ask("FindCoordinator", 2, {"key": "a", "keyType": 1})
        assert (answer["errorCode"], answer["port"]) == (0, broker.address.port)
        answer = await one.ask("FindCoordinator", 2, {"key": "a", "keyType": 2})
        assert answer["errorCode"] == Code.COORDINATOR_NOT_AVAILABLE


async def test_an_empty_log_ends_where_it_begins(broker: ModelBroker) -> None:
    async with client(broker) as one:
        await one.ask("Metadata", 1, {"topics": [{"name": "t"}]})
        where = {"topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "timestamp": -1}]}]}
        listed = await one.ask("ListOffsets", 1, {"replicaId": -1, **where})
        assert listed["topics"][0]["partitions"][0]["offset"] == 0
        for topic, offset, code, mark in (
            ("t", 0, Code.NONE, 0),
            ("t", 12, Code.OFFSET_OUT_OF_RANGE, -1),
            ("u", 0, Code.UNKNOWN_TOPIC_OR_PARTITION, -1),
        ):
            partition = {"partition": 0, "fetchOffset": offset, "partitionMaxBytes": 1}
            topics = [{"topic": topic, "partitions": [partition]}]
            got = await one.ask("Fetch", 4, {"maxWaitMs": 1, "minBytes": 1, "topics": topics})
            row = got["responses"][0]["partitions"][0]
            assert (row["errorCode"], row["highWatermark"]) == (code, mark)


# Groups.


async def test_a_parked_join_is_answered_when_the_last_member_comes(broker: ModelBroker) -> None:
    async with client(broker) as one, client(broker) as two:
        await one.join(instance="A")
        first = await one.joined()
        await two.join(instance="B")
        await one.join(first["memberId"], "A")
        both = [await one.joined(), await two.joined()]
        assert {b["generationId"] for b in both} == {first["generationId"] + 1}
        assert len(both[0]["members"]) == 2


async def test_a_session_ends_in_real_time(broker: ModelBroker) -> None:
    async with client(broker) as one, client(broker) as two:
        await one.join(instance="A", sessionTimeoutMs=200)
        await one.joined()
        await two.join(instance="B")  # parked until A rejoins, or is removed
        joined = await two.joined()
        assert joined["leader"] == joined["memberId"]
        assert len(joined["members"]) == 1


async def test_requests_of_a_connection_wait_for_their_turn(broker: ModelBroker) -> None:
    async with client(broker) as one, client(broker) as two:
        await one.join(instance="A")
        member = (await one.joined())["memberId"]
        await two.join(instance="B")  # parked
        for number in range(2, 1000):
            await two.send("Heartbeat", 0, {"groupId": "none"}, number)
        assert (await one.ask("ListGroups", 0, {}))["groups"]
        await one.join(member, "A")
        await two.joined()
        for number in range(2, 1000):
            assert (await two.read("Heartbeat", 0)).correlation_id == number


async def test_a_client_that_goes_away_is_not_noticed_by_its_group(broker: ModelBroker) -> None:
    async with client(broker) as one:
        await one.join(instance="A")
        member = (await one.joined())["memberId"]
        async with client(broker) as two:
            await two.join(instance="B")
            while len(broker.groups.running.open) == 0:  # until it is parked
                await one.ask("ListGroups", 0, {})
        while broker.groups.running.open:  # until the broker has seen the end
            await one.ask("ListGroups", 0, {})
        await one.join(member, "A")
        assert len((await one.joined())["members"]) == 2


async def test_a_topic_that_is_not_there_takes_no_offsets(broker: ModelBroker) -> None:
    async with client(broker) as one:
        await one.ask("Metadata", 1, {"topics": [{"name": "t"}, {"name": "missing-but-there"}]})
        partitions = [{"partitionIndex": 0, "committedOffset": 3, "committedMetadata": ""}]
        names = ("t", "missing-but-there", "u")
        topics = [{"name": name, "partitions": partitions} for name in names]
        body = {"groupId": "g", "generationIdOrMemberEpoch": -1, "memberId": "", "topics": topics}
        answer = await one.ask("OffsetCommit", 2, body)
        codes = [row["partitions"][0]["errorCode"] for row in answer["topics"]]
        assert codes == [0, 0, Error.UNKNOWN_TOPIC_OR_PARTITION.value]


async def test_a_mutant_answers_as_it_is_broken() -> None:
    revision = revisions.find("mutant:join-in-old-shape")
    async with ModelBroker(revision, QUICK) as broker, TcpTarget(str(broker.address)) as target:
        assert set(target.broken) == {"JoinGroup"}


async def test_the_seed_decides_ids_and_nothing_is_used_twice() -> None:
    async def ids(seed: int) -> list[str]:
        found = []
        async with ModelBroker(KAFKA_4, QUICK, seed=seed) as broker, client(broker) as one:
            for number in range(3):
                await one.join(groupId=f"g{number}")
                found.append((await one.joined())["memberId"])
        return found

    assert await ids(1) == await ids(1)
    assert len({*await ids(1), *await ids(2)}) == 6


async def test_what_is_open_is_chosen_by_the_seed() -> None:
    choices = [ModelBroker(KAFKA_4, seed=seed).groups.choose("ab") for seed in range(20)]
    assert set(choices) == {"a", "b"}


# Garbage.


def bounds(api: str) -> tuple[int, int]:
    return VERSIONS.get(api) or (APIS[api].lowest, APIS[api].highest)


@pytest.mark.parametrize("api", [*VERSIONS, *APIS])
async def test_no_bytes_harm_it(api: str, broker: ModelBroker) -> None:
    chance = random.Random(api)
    low, high = bounds(api)
    for version in range(low, high + 1):
        head = API_KEYS[api].to_bytes(2) + version.to_bytes(2) + bytes(4) + b"\0\1c"
        for _ in range(20):
            async with client(broker) as one:
                tail = chance.randbytes(chance.randrange(60))
                if chance.random() < 0.5:
                    tail = bytes(byte & 3 for byte in tail)
                one.writer.write((len(head) + len(tail)).to_bytes(4) + head + tail)
                one.writer.write_eof()
                async with asyncio.timeout(PATIENCE_S):
                    with contextlib.suppress(ConnectionResetError):
                        await one.reader.read()
    assert await is_well(broker)


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        (2**31 - 1).to_bytes(4),
        b"\xff\xff\xff\xff",
        bytes(4),
        (3).to_bytes(4) + b"abc",
        (12).to_bytes(4) + (999).to_bytes(2) + bytes(10),
        (10).to_bytes(4) + (12).to_bytes(2) + (77).to_bytes(2) + bytes(4) + b"\xff\xff",
        (10).to_bytes(4) + (18).to_bytes(2) + (0).to_bytes(2) + bytes(4) + b"\x7f\xff",
    ],
    ids=["http", "too long", "negative", "empty", "short", "api", "version", "client id"],
)
async def test_what_is_no_request_ends_its_connection(sent: bytes, broker: ModelBroker) -> None:
    async with client(broker) as one, client(broker) as other:
        one.writer.write(sent)
        assert await one.is_closed()
        assert (await other.ask("ApiVersions", 0, {}))["errorCode"] == 0
    assert await is_well(broker)


async def test_a_null_where_none_may_be_ends_the_connection(broker: ModelBroker) -> None:
    async with client(broker) as one:
        head = (12).to_bytes(2) + bytes(2) + bytes(4) + b"\xff\xff"
        sent = head + b"\xff\xff" + bytes(4) + bytes(2)
        one.writer.write(len(sent).to_bytes(4) + sent)
        assert await one.is_closed()


async def test_an_id_too_long_for_its_answer_ends_the_connection(broker: ModelBroker) -> None:
    async with client(broker) as one:
        await one.join(instance="A" * 32760)
        assert await one.is_closed()
    assert await is_well(broker)


async def test_a_fault_of_ours_is_told_to_who_serves(
    broker: ModelBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fall_over(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(broker.groups.running, "handle", fall_over)
    async with client(broker) as one:
        await one.join()
        assert await one.is_closed()
    with pytest.raises(ZeroDivisionError):
        await broker.serve()


async def test_a_port_in_use_is_said(broker: ModelBroker) -> None:
    port = broker.address.port
    with pytest.raises(TargetUnavailableError, match=f"can't listen on port {port}"):
        async with ModelBroker(KAFKA_4, port=port):
            pass


async def test_a_closed_broker_says_so() -> None:
    with pytest.raises(RuntimeError, match="not open"):
        _ = ModelBroker(KAFKA_4).address
    with pytest.raises(RuntimeError, match="not open"):
        await ModelBroker(KAFKA_4).serve()


async def test_nothing_is_left_open() -> None:
    async with contextlib.AsyncExitStack() as stack:
        async with ModelBroker(KAFKA_4) as broker:
            one = await stack.enter_async_context(client(broker))
            await one.join(instance="A")  # waits for the initial delay
        assert await one.is_closed()
