"""A proxy that records: clients see a broker as it is, but for where it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from support.served import QUICK, Client, client, until

from fencepost.conformance.serve.broker import ModelBroker
from fencepost.conformance.serve.recording_proxy import RecordedKafka
from fencepost.conformance.targets.tcp.cluster_admin import AdminError
from fencepost.conformance.targets.tcp.security import Address
from fencepost.conformance.wire.codec import encode_message
from fencepost.model.messages.errors import Error
from fencepost.model.revisions import revisions


@pytest.fixture
async def kafka() -> AsyncIterator[ModelBroker]:
    async with ModelBroker(revisions.find("kafka-4"), QUICK, nodes=2, topics={"t": 2}) as opened:
        yield opened


@pytest.fixture
async def proxy(kafka: ModelBroker) -> AsyncIterator[RecordedKafka]:
    async with RecordedKafka(kafka.address) as opened:
        serving = asyncio.create_task(opened.serve())
        yield opened
        assert not serving.done()
        serving.cancel()


@asynccontextmanager
async def through(proxy: RecordedKafka, port: int | None = None) -> AsyncIterator[Client]:
    at = port or int(proxy.bootstrap.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", at)
    try:
        yield Client(reader, writer)
    finally:
        writer.transport.abort()


async def places(one: Client) -> dict[str, set[int]]:
    """The ports that each API tells."""
    metadata = await one.ask("Metadata", 12, {"topics": None})
    group = {"coordinatorKeys": ["g", "h"]}
    found = await one.ask("FindCoordinator", 6, group)
    old = await one.ask("FindCoordinator", 1, {"key": "g"})
    cluster = await one.ask("DescribeCluster", 0, {})
    return {
        "Metadata": {row["port"] for row in metadata["brokers"]},
        "FindCoordinator": {row["port"] for row in found["coordinators"]} | {old["port"]},
        "DescribeCluster": {row["port"] for row in cluster["brokers"]},
    }


async def test_every_broker_is_named_with_the_proxys_port(
    kafka: ModelBroker, proxy: RecordedKafka
) -> None:
    real = {at.port for at in kafka.addresses.values()}
    async with through(proxy) as one, client(kafka) as direct:
        told, there = await places(one), await places(direct)
    assert there["Metadata"] == real
    for api, ports in told.items():
        assert ports.isdisjoint(real), api
        assert len(ports) == len(there[api])
        assert ports <= told["Metadata"]


async def test_a_group_is_reached_and_recorded(proxy: RecordedKafka) -> None:
    async with through(proxy) as one:
        found = await one.ask("FindCoordinator", 3, {"key": "g"})
    async with through(proxy, found["port"]) as one:
        await one.join(instance="A")
        joined = await one.joined()
        assert joined["errorCode"] == 0
        assert await proxy.remove("g", "A") == 0
    seen = [e for e in proxy.history.exchanges if e.api == "JoinGroup"]
    assert len(seen) == 1
    assert (seen[0].node, seen[0].client_id) == (found["nodeId"], "client")
    assert seen[0].request_body is not None
    assert seen[0].request_body["groupInstanceId"] == "A"
    assert seen[0].answer_body is not None
    assert seen[0].answer_body["memberId"] == joined["memberId"]
    assert [act.name for act in proxy.history.acts] == ["remove"]
    span = proxy.history.connections[seen[0].connection]
    await until(lambda: span.closed_ms is not None)
    assert span.closed_by_client
    assert await proxy.remove("g", "A") == Error.UNKNOWN_MEMBER_ID.value


async def test_topics_and_records_are_made(kafka: ModelBroker, proxy: RecordedKafka) -> None:
    await proxy.create_topics({"t": 5, "u": 3})
    assert {name: len(topic.partitions) for name, topic in kafka.topics.items()} == {"t": 2, "u": 3}
    await proxy.produce("u", 1, 4)
    assert kafka.topics["u"].partitions[1].end_offset == 4
    assert proxy.history.exchanges == []


async def test_several_requests_at_once_are_answered_in_order(proxy: RecordedKafka) -> None:
    async with through(proxy) as one:
        for number in range(50):
            await one.send("Heartbeat", 0, {"groupId": "none"}, number)
        for number in range(50):
            assert (await one.read("Heartbeat", 0)).correlation_id == number


async def test_a_request_without_an_answer_is_waited_for_by_nobody(proxy: RecordedKafka) -> None:
    data: list[Any] = [{"name": "t", "partitionData": [{"index": 0, "records": ""}]}]
    async with through(proxy) as one:
        body = {"transactionalId": None, "acks": 0, "timeoutMs": 1, "topicData": data}
        await one.send("Produce", 7, body)
        assert (await one.ask("ApiVersions", 0, {}))["errorCode"] == 0
    produced, asked = proxy.history.exchanges
    assert (produced.answered_ms, asked.answered_ms is None) == (None, False)


async def test_what_a_client_sends_last_is_handled(
    kafka: ModelBroker, proxy: RecordedKafka
) -> None:
    async with through(proxy) as one:
        found = await one.ask("FindCoordinator", 3, {"key": "g"})
    async with through(proxy, found["port"]) as one:
        await one.join(instance="A")
        member = (await one.joined())["memberId"]
        for _ in range(20):
            await one.send("Heartbeat", 0, {"groupId": "none"})
        await one.send("LeaveGroup", 0, {"groupId": "g", "memberId": member})
        one.writer.close()
    await until(lambda: not kafka.groups.running.groups["g"].members)
    assert proxy.history.exchanges[-1].api == "LeaveGroup"
    await until(lambda: proxy.history.exchanges[-1].answered_ms is not None)


async def test_what_can_not_be_read_is_passed_on(proxy: RecordedKafka) -> None:
    async with through(proxy) as one:
        frame = encode_message("ApiVersions", "Request", 4, 7, {}, client_id="c")
        one.writer.write(frame[:6] + (99).to_bytes(2) + frame[8:])
        assert (await one.read("ApiVersions", 0)).correlation_id == 7
    async with through(proxy) as one:
        head = (71).to_bytes(2) + (3).to_bytes(2) + (9).to_bytes(4) + (1).to_bytes(2) + b"c"
        one.writer.write(len(head).to_bytes(4) + head)
        assert await one.is_closed()  # the broker doesn't know it
    assert [e.api for e in proxy.history.exchanges] == ["ApiVersions", "key 71"]
    unread = proxy.history.exchanges[1]
    assert (unread.request_body, unread.answer_body) == (None, None)
    await until(lambda: proxy.history.connections[unread.connection].closed_ms is not None)
    assert not proxy.history.connections[unread.connection].closed_by_client


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.1\r\n\r\n", b"\xff\xff\xff\xff", bytes(4)])
async def test_garbage_ends_its_connection(sent: bytes, proxy: RecordedKafka) -> None:
    async with through(proxy) as one:
        one.writer.write(sent)
        assert await one.is_closed()
    async with through(proxy) as one:
        assert (await one.ask("ApiVersions", 0, {}))["errorCode"] == 0


async def test_the_control_goes_through_the_proxy(proxy: RecordedKafka) -> None:
    meters = list(proxy.history.meters.values())
    assert len(meters) == 2
    await until(lambda: all(len(meter.answered) > 1 for meter in meters))
    assert proxy.history.exchanges == []


async def test_where_no_kafka_is_is_said() -> None:
    with pytest.raises(AdminError, match="can't be reached"):
        async with RecordedKafka(Address("127.0.0.1", 1)):
            pass
