"""Transactions that hold offsets: who may send them, and when they can be read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from support.served import QUICK, Client, client

from fencepost.conformance.serve.application_broker import ApplicationBroker
from fencepost.conformance.serve.broker import ModelBroker
from fencepost.conformance.serve.broker_apis import FIRST_NODE
from fencepost.conformance.wire.refusal import Code
from fencepost.model.messages.errors import Error
from fencepost.model.revisions import revisions

KAFKA_4 = revisions.find("kafka-4")
FENCED, UNKNOWN, GENERATION = (
    Error.FENCED_INSTANCE_ID.value,
    Error.UNKNOWN_MEMBER_ID.value,
    Error.ILLEGAL_GENERATION.value,
)
TRANSACTION = 1
NO_TOPIC = "AAAAAAAAAAAAAAAAAAAAAQ"
NOBODY = {"generationId": -1, "memberId": "", "groupInstanceId": None}


@pytest.fixture
async def broker() -> AsyncIterator[ApplicationBroker]:
    async with ApplicationBroker(KAFKA_4, QUICK, topics={"t": 1}) as opened:
        yield opened


class Producer:
    """A transactional producer, as bytes."""

    def __init__(self, one: Client, name: str = "x") -> None:
        self.one = one
        self.name = name
        self.fields: dict[str, Any] = {"transactionalId": name}

    async def init(self, version: int = 4, **more: Any) -> int:
        body = {"transactionalId": self.name, "transactionTimeoutMs": 60_000, **more}
        answer = await self.one.ask("InitProducerId", version, body)
        if not answer["errorCode"]:
            self.fields["producerId"] = answer["producerId"]
            self.fields["producerEpoch"] = answer["producerEpoch"]
        return int(answer["errorCode"])

    async def add(self, group: str = "g", version: int = 3) -> int:
        body = {**self.fields, "groupId": group}
        return int((await self.one.ask("AddOffsetsToTxn", version, body))["errorCode"])

    async def send(self, offset: int, version: int = 3, **more: Any) -> int:
        part = {"partitionIndex": 0, "committedOffset": offset, "committedMetadata": ""}
        topics = [{"name": "t", "partitions": [part]}]
        body = {**self.fields, "groupId": "g", **NOBODY, **more, "topics": topics}
        answer = await self.one.ask("TxnOffsetCommit", version, body)
        return int(answer["topics"][0]["partitions"][0]["errorCode"])

    async def end(self, *, committed: bool, version: int = 3) -> int:
        body = {**self.fields, "committed": committed}
        return int((await self.one.ask("EndTxn", version, body))["errorCode"])

    async def begin(self) -> None:
        assert await self.init() == 0
        assert await self.add() == 0


async def offset(one: Client, version: int = 7, *, stable: bool = True) -> tuple[int, int]:
    """The offset that is read, and its error."""
    asked = {"name": "t", "partitionIndexes": [0]}
    group = {"groupId": "g", "topics": [asked]}
    body = {"groups": [group]} if version >= 8 else group
    answer = await one.ask("OffsetFetch", version, {**body, "requireStable": stable})
    rows = answer["groups"][0] if version >= 8 else answer
    row = rows["topics"][0]["partitions"][0]
    return row["committedOffset"], row["errorCode"]


async def member(one: Client, instance: str | None = None) -> dict[str, Any]:
    await one.join(instance=instance)
    joined = await one.joined()
    if joined["errorCode"] == Error.MEMBER_ID_REQUIRED.value:
        await one.join(joined["memberId"])
        joined = await one.joined()
    fields = {"generationId": joined["generationId"], "memberId": joined["memberId"]}
    return {**fields, "groupInstanceId": instance}


@pytest.mark.parametrize("version", [7, 8])
async def test_offsets_count_when_the_transaction_is_committed(
    version: int, broker: ApplicationBroker
) -> None:
    async with client(broker) as one:
        producer = Producer(one)
        await producer.begin()
        assert await producer.send(5) == 0
        assert await offset(one, version) == (-1, Code.UNSTABLE_OFFSET_COMMIT)
        assert await offset(one, version, stable=False) == (-1, 0)
        assert await producer.end(committed=True) == 0
        assert await offset(one, version) == (5, 0)
        assert await producer.end(committed=True) == 0, "a repeated end is no error"
        assert await producer.end(committed=False) == Code.INVALID_TXN_STATE


async def test_offsets_of_an_aborted_transaction_never_count(broker: ApplicationBroker) -> None:
    async with client(broker) as one:
        producer = Producer(one)
        for number, committed in enumerate((True, False), 1):
            await producer.begin()
            assert await producer.send(number) == 0
            assert await producer.end(committed=committed) == 0
        assert await offset(one) == (1, 0)
        await producer.begin()
        assert await producer.send(3) == 0
        assert await offset(one, stable=False) == (1, 0)
        assert await producer.init() == 0, "the next epoch aborts"
        assert await offset(one) == (1, 0)


async def test_a_later_offset_in_a_transaction_takes_the_place_of_an_earlier_one(
    broker: ApplicationBroker,
) -> None:
    async with client(broker) as one:
        producer = Producer(one)
        await producer.begin()
        assert [await producer.send(number) for number in (1, 2)] == [0, 0]
        assert await producer.end(committed=True) == 0
        assert await offset(one) == (2, 0)


async def test_who_was_replaced_is_fenced(broker: ApplicationBroker) -> None:
    async with client(broker) as one, client(broker) as other:
        first = await member(one, "A")
        assert (await member(other, "A"))["memberId"] != first["memberId"]
        producer = Producer(one)
        await producer.begin()
        assert await producer.send(5, **first) == FENCED
        assert await producer.end(committed=True) == 0
        assert await offset(one) == (-1, 0)


@pytest.mark.parametrize(
    ("wrong", "code"),
    [({"memberId": "nobody"}, UNKNOWN), ({"generationId": 7}, GENERATION), ({}, 0)],
)
async def test_a_member_is_held_to_its_generation(
    wrong: dict[str, Any], code: int, broker: ApplicationBroker
) -> None:
    async with client(broker) as one:
        joined = await member(one)
        producer = Producer(one)
        await producer.begin()
        assert await producer.send(5, **{**joined, **wrong}) == code


async def test_a_transaction_without_offsets_makes_no_group(broker: ApplicationBroker) -> None:
    async with client(broker) as one:
        producer = Producer(one)
        await producer.begin()
        assert await producer.send(5, generationId=1, memberId="gone") == GENERATION
        assert await producer.end(committed=True) == 0
        assert (await one.ask("ListGroups", 4, {"statesFilter": []}))["groups"] == []


async def test_offsets_need_a_transaction_of_the_present_producer(
    broker: ApplicationBroker,
) -> None:
    async with client(broker) as one:
        producer = Producer(one)
        assert await producer.init() == 0
        assert await producer.send(5) == Code.INVALID_TXN_STATE
        assert await producer.end(committed=True) == Code.INVALID_TXN_STATE
        assert await producer.send(5, version=5) == 0, "this version adds the group by itself"
        assert await producer.end(committed=True) == 0
        zombie = Producer(one)
        zombie.fields = dict(producer.fields)
        assert await producer.init() == 0
        assert await zombie.add() == Code.PRODUCER_FENCED
        assert await zombie.add(version=1) == Code.INVALID_PRODUCER_EPOCH
        assert await zombie.send(6) == Code.INVALID_PRODUCER_EPOCH
        assert await zombie.end(committed=True) == Code.PRODUCER_FENCED
        stranger = Producer(one, "y")
        stranger.fields |= {"producerId": 99, "producerEpoch": 0}
        assert await stranger.add() == Code.INVALID_PRODUCER_ID_MAPPING
        assert await stranger.send(6) == Code.INVALID_PRODUCER_ID_MAPPING


async def test_an_epoch_is_begun_by_who_has_it_or_knows_nothing(broker: ApplicationBroker) -> None:
    async with client(broker) as one:
        producer = Producer(one)
        assert await producer.init() == 0
        known = {name: producer.fields[name] for name in ("producerId", "producerEpoch")}
        assert await producer.init(**known) == 0
        assert producer.fields["producerEpoch"] == known["producerEpoch"] + 1
        assert await producer.init(**known) == Code.PRODUCER_FENCED
        assert await producer.init(3, **known) == Code.INVALID_PRODUCER_EPOCH
        assert await producer.init(transactionTimeoutMs=0) == Code.INVALID_TRANSACTION_TIMEOUT
        assert await producer.init(transactionalId="") == Code.INVALID_REQUEST


async def test_a_transaction_that_takes_too_long_is_aborted(broker: ApplicationBroker) -> None:
    async with client(broker) as one:
        producer = Producer(one)
        assert await producer.init(transactionTimeoutMs=1) == 0
        assert await producer.add() == 0
        while (code := await producer.send(5)) == 0:
            continue
        assert code == Code.INVALID_PRODUCER_EPOCH
        assert await offset(one) == (-1, 0)


async def test_each_node_has_its_share_of_the_transactions() -> None:
    async with ApplicationBroker(KAFKA_4, QUICK, nodes=3) as broker:
        nodes = range(FIRST_NODE, FIRST_NODE + 3)
        found = set()
        async with client(broker) as one:
            for name in map(str, range(20)):
                key = {"key": name, "keyType": TRANSACTION}
                found.add(node := (await one.ask("FindCoordinator", 3, key))["nodeId"])
                async with client(broker, node) as at:
                    assert await Producer(at, name).init() == 0
                elsewhere = next(other for other in nodes if other != node)
                async with client(broker, elsewhere) as at:
                    assert await Producer(at, name).init() == Code.NOT_COORDINATOR
                    assert await Producer(at, name).init() == Code.NOT_COORDINATOR
        assert found == set(nodes)


async def test_offsets_that_a_transaction_holds_are_read_by_the_ids_of_topics() -> None:
    """From version 10 on an OffsetFetch has ids instead of names."""
    async with (
        ModelBroker(revisions.find("consumer-4.4"), topics={"t": 1}) as broker,
        client(broker) as one,
    ):
        (topic,) = (await one.ask("Metadata", 12, {"topics": None}))["topics"]
        producer = Producer(one)
        await producer.begin()
        assert await producer.send(5) == 0

        async def read(topic_id: str) -> tuple[int, int]:
            asked = {"topicId": topic_id, "partitionIndexes": [0]}
            body = {"groups": [{"groupId": "g", "topics": [asked]}], "requireStable": True}
            (row,) = (await one.ask("OffsetFetch", 10, body))["groups"][0]["topics"]
            assert row["topicId"] == topic_id
            return row["partitions"][0]["committedOffset"], row["partitions"][0]["errorCode"]

        assert await read(topic["topicId"]) == (-1, Code.UNSTABLE_OFFSET_COMMIT)
        assert await read(NO_TOPIC) == (-1, Error.UNKNOWN_TOPIC_ID.value)
        assert await producer.end(committed=True) == 0
        assert await read(topic["topicId"]) == (5, 0)
