"""A broker that applications run against: records, provocations, an administrator, a history."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest
from support.served import QUICK, Client, client, until

from fencepost.conformance.serve.application_broker import ApplicationBroker
from fencepost.conformance.serve.broker_apis import ReleaseError
from fencepost.conformance.serve.broker_history import RecordedExchange
from fencepost.conformance.targets.tcp.security import Address
from fencepost.conformance.wire.provocation import Action, Provocation
from fencepost.conformance.wire.record_batches import batch_of, summary
from fencepost.conformance.wire.refusal import Code
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import JoinGroupResponse
from fencepost.model.revisions import revisions

KAFKA_4 = revisions.find("kafka-4")
FENCED = Error.FENCED_INSTANCE_ID.value
MOVED = Error.NOT_COORDINATOR.value


@pytest.fixture
async def broker() -> AsyncIterator[ApplicationBroker]:
    async with ApplicationBroker(KAFKA_4, QUICK, topics={"t": 3}) as opened:
        yield opened


def of(broker: ApplicationBroker, api: str) -> list[RecordedExchange]:
    return [e for e in broker.history.exchanges if e.api == api]


async def fetch(one: Client, offset: int = 0, version: int = 4, **more: Any) -> dict[str, Any]:
    partition = {"partition": 0, "fetchOffset": offset, "partitionMaxBytes": 1 << 20}
    topics = [{"topic": "t", "partitions": [partition]}]
    body = {"maxWaitMs": 0, "minBytes": 1, "topics": topics, **more}
    return await one.ask("Fetch", version, body)


async def join(one: Client, member: str = "", instance: str = "A") -> dict[str, Any]:
    await one.join(member, instance)
    return await one.joined()


async def beat(one: Client, joined: dict[str, Any], instance: str = "A") -> int:
    body = {
        "groupId": "g",
        "generationId": joined["generationId"],
        "memberId": joined["memberId"],
        "groupInstanceId": instance,
    }
    return int((await one.ask("Heartbeat", 3, body))["errorCode"])


# Records.


@pytest.mark.parametrize("version", range(3, 14))
async def test_what_is_produced_is_fetched(version: int, broker: ApplicationBroker) -> None:
    topic_id = broker.topics["t"].id
    named = {"name": "t"} if version < 13 else {"topicId": topic_id}
    records = base64.b64encode(batch_of([b"a", b"b"])).decode()
    body = {
        "transactionalId": None,
        "acks": -1,
        "timeoutMs": 1,
        "topicData": [{**named, "partitionData": [{"index": 0, "records": records}]}],
    }
    async with client(broker) as one:
        answer = await one.ask("Produce", version, body)
        row = answer["responses"][0]["partitionResponses"][0]
        assert (row["errorCode"], row["baseOffset"]) == (0, 0)
        got = await fetch(one)
    row = got["responses"][0]["partitions"][0]
    assert row["highWatermark"] == 2
    assert summary(base64.b64decode(row["records"]))["count"] == 2
    produced = of(broker, "Produce")[0].request_body
    assert produced is not None
    kept = produced["topicData"][0]["partitionData"][0]
    assert kept["records"]["count"] == 2


async def test_a_request_that_wants_no_answer_gets_none(broker: ApplicationBroker) -> None:
    records = base64.b64encode(batch_of([b"a"])).decode()
    data = [{"name": "t", "partitionData": [{"index": 0, "records": records}]}]
    body = {"transactionalId": None, "acks": 0, "timeoutMs": 1, "topicData": data}
    broker.provoke(provoked("Produce", Action.ERROR, first=2, last=2, code="CORRUPT_MESSAGE"))
    async with client(broker) as one:
        await one.send("Produce", 7, body)
        await one.send("Produce", 7, body)  # refused, which nobody is told
        assert (await fetch(one))["responses"][0]["partitions"][0]["highWatermark"] == 1


async def test_a_fetch_waits_for_records(broker: ApplicationBroker) -> None:
    async with client(broker) as one:
        waiting = asyncio.create_task(fetch(one, maxWaitMs=60_000))
        await until(lambda: broker.topics["t"].partitions[0].watchers)
        await broker.produce("t", 0, 3)
        assert (await waiting)["responses"][0]["partitions"][0]["highWatermark"] == 3
    assert broker.topics["t"].partitions[0].watchers == {}


async def test_a_fetch_whose_client_went_waits_no_longer(broker: ApplicationBroker) -> None:
    watchers = broker.topics["t"].partitions[0].watchers
    async with client(broker) as one:
        partition = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1}
        topics = [{"topic": "t", "partitions": [partition]}]
        await one.send("Fetch", 4, {"maxWaitMs": 60_000, "minBytes": 1, "topics": topics})
        await until(lambda: watchers)
    await until(lambda: not watchers)
    assert of(broker, "Fetch")[0].answered_ms is None


async def test_of_several_nodes_each_has_its_partitions_and_groups() -> None:
    async with ApplicationBroker(KAFKA_4, QUICK, nodes=3, topics={"t": 3}) as broker:
        async with client(broker) as one:
            told = await one.ask("Metadata", 8, {"topics": None})
            found = await one.ask("FindCoordinator", 3, {"key": "g"})
            got = (await fetch(one))["responses"][0]["partitions"][0]["errorCode"]
            await one.join(instance="A")
            refused = (await one.joined())["errorCode"]
        ports = {row["nodeId"]: row["port"] for row in told["brokers"]}
        assert ports == {n: at.port for n, at in broker.addresses.items()}
        leaders = [row["leaderId"] for row in told["topics"][0]["partitions"]]
        assert sorted(leaders) == [1, 2, 3]
        assert found["port"] == ports[found["nodeId"]]
        assert got == 0
        assert refused == (0 if found["nodeId"] == 1 else MOVED)
        async with client(broker, 2) as two:
            got = (await fetch(two))["responses"][0]["partitions"][0]["errorCode"]
            assert got == Code.NOT_LEADER_OR_FOLLOWER
        async with client(broker, found["nodeId"]) as right:
            assert (await join(right))["errorCode"] == 0


# Provocations.


def provoked(api: str, action: Action, **more: Any) -> Provocation:
    return Provocation(api=api, action=action, **more)


async def test_an_answer_that_is_lost_was_given_all_the_same(broker: ApplicationBroker) -> None:
    broker.provoke(provoked("JoinGroup", Action.LOSE, who="A"))
    async with client(broker) as one:
        await one.join(instance="A")
        assert await one.is_closed()
    async with client(broker) as one:
        assert (await join(one))["errorCode"] == 0
    lost, answered = of(broker, "JoinGroup")
    assert (lost.answered_ms, lost.provocation is not None) == (None, True)
    assert (answered.answer_body is not None, answered.provocation) == (True, None)
    assert len(broker.groups.running.groups["g"].members) == 1


async def test_an_error_in_the_place_of_an_answer_changes_nothing(
    broker: ApplicationBroker,
) -> None:
    async with client(broker) as one:
        joined = await join(one)
        before = broker.groups.running.groups["g"]
        for api in ("JoinGroup", "SyncGroup", "OffsetCommit", "Heartbeat", "LeaveGroup"):
            broker.provoke(provoked(api, Action.ERROR, code="FENCED_INSTANCE_ID"))
        assert (await join(one, joined["memberId"]))["errorCode"] == FENCED
        assert await beat(one, joined) == FENCED
        body = {"groupId": "g", "generationId": 1, "memberId": "m", "assignments": []}
        assert (await one.ask("SyncGroup", 3, body))["errorCode"] == FENCED
        partitions = [{"partitionIndex": 0, "committedOffset": 3, "committedMetadata": ""}]
        body = {
            "groupId": "g",
            "generationIdOrMemberEpoch": -1,
            "memberId": "",
            "topics": [{"name": "t", "partitions": partitions}],
        }
        answer = await one.ask("OffsetCommit", 7, body)
        assert answer["topics"][0]["partitions"][0]["errorCode"] == FENCED
        assert broker.groups.running.groups["g"] == before
        assert await beat(one, joined) == 0


@pytest.mark.parametrize(
    ("api", "version", "body"),
    [
        ("Fetch", 4, {}),
        ("Fetch", 11, {"sessionEpoch": -1}),
        ("ListOffsets", 5, {}),
        ("OffsetForLeaderEpoch", 3, {}),
        ("Metadata", 8, {}),
        ("FindCoordinator", 3, {"key": "g"}),
        ("FindCoordinator", 4, {"coordinatorKeys": ["g"]}),
        ("InitProducerId", 1, {"transactionalId": None}),
        ("Produce", 8, {"transactionalId": None, "acks": 1}),
    ],
)
async def test_other_apis_are_refused_in_their_shape(
    api: str, version: int, body: dict[str, Any], broker: ApplicationBroker
) -> None:
    broker.provoke(provoked(api, Action.ERROR, code="NOT_COORDINATOR"))
    part = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1, "leaderEpoch": 0}
    named = {"topic": "t", "partitions": [part]}
    if api == "ListOffsets":
        named = {"name": "t", "partitions": [{"partitionIndex": 0, "timestamp": -1}]}
    if api == "OffsetForLeaderEpoch":
        named = {"topic": "t", "partitions": [{"partition": 0, "leaderEpoch": 0}]}
    if api == "Metadata":
        named = {"name": "t"}
    if api == "Fetch":
        part.pop("leaderEpoch")
        body = {"maxWaitMs": 0, "minBytes": 0, **body}
    if api == "Produce":
        body = {
            "topicData": [{"name": "t", "partitionData": [{"index": 0, "records": ""}]}],
            **body,
        }
    elif api not in {"FindCoordinator", "InitProducerId"}:
        body = {"topics": [named], **body}
    async with client(broker) as one:
        assert f'"errorCode": {MOVED}' in str(await one.ask(api, version, body)).replace("'", '"')


async def test_nobody_provokes_the_control(broker: ApplicationBroker) -> None:
    broker.provoke(provoked("ApiVersions", Action.LOSE, last=None))
    async with client(broker) as one:
        await one.send("ApiVersions", 0, {})
        assert await one.is_closed()
    (meter,) = broker.history.meters.values()
    seen = len(meter.answered)
    await until(lambda: len(meter.answered) > seen + 1)
    assert meter.lost == []


async def test_what_is_late_holds_back_its_connection_only(broker: ApplicationBroker) -> None:
    broker.provoke(provoked("Heartbeat", Action.DELAY, ms=50))
    async with client(broker) as one, client(broker) as two:
        joined = await join(one)
        late = asyncio.create_task(beat(one, joined))
        assert await beat(two, joined) == 0
        assert await late == 0
    first, second = of(broker, "Heartbeat")
    assert first.answered_ms is not None
    assert second.answered_ms is not None
    assert first.answered_ms - first.at_ms >= 50
    assert first.answered_ms > second.answered_ms


async def test_what_is_held_back_is_handled_after_what_came_later(
    broker: ApplicationBroker,
) -> None:
    broker.provoke(provoked("Heartbeat", Action.HOLD, ms=20))
    async with client(broker) as one, client(broker) as two:
        joined = await join(one)
        late = asyncio.create_task(beat(one, joined))
        await until(lambda: of(broker, "Heartbeat"))
        assert (await join(two))["errorCode"] == 0
        assert await late == FENCED


async def test_what_is_held_back_outlives_its_connection(broker: ApplicationBroker) -> None:
    broker.provoke(provoked("JoinGroup", Action.HOLD, who="A"))
    async with client(broker) as one:
        await one.join(instance="A")
        await until(lambda: of(broker, "JoinGroup"))
    held = of(broker, "JoinGroup")[0]
    await until(lambda: broker.history.connections[held.connection].closed_ms is not None)
    assert "g" not in broker.groups.running.groups
    broker.relent()
    group = broker.groups.running.groups["g"]
    assert group.holder("A") is not None
    assert held.answered_ms is None
    async with client(broker) as two:
        assert (await join(two))["errorCode"] == 0


async def test_a_topic_gets_more_partitions(broker: ApplicationBroker) -> None:
    topic_id = broker.topics["t"].id
    broker.add_partitions("t", 5)
    broker.add_partitions("t", 4)  # there are never fewer
    async with client(broker) as one:
        told = await one.ask("Metadata", 8, {"topics": None})
    (row,) = told["topics"]
    assert [part["partitionIndex"] for part in row["partitions"]] == [0, 1, 2, 3, 4]
    assert broker.topics["t"].id == topic_id
    await broker.produce("t", 4, 2)
    assert broker.topics["t"].partitions[4].end_offset == 2


async def test_topics_come_and_go(broker: ApplicationBroker) -> None:
    broker.create_topic("t-new", 2)
    everything = {"topics": None}
    async with client(broker) as one:
        rows = (await one.ask("Metadata", 8, everything))["topics"]
        assert {row["name"]: len(row["partitions"]) for row in rows} == {"t": 3, "t-new": 2}
        broker.delete_topic("t-new")
        for _ in range(2):  # it isn't made by being asked for
            named = {"topics": [{"name": "t-new"}], "allowAutoTopicCreation": True}
            (row,) = (await one.ask("Metadata", 8, named))["topics"]
            assert (row["errorCode"], row["partitions"]) == (3, [])
    assert [act.name for act in broker.history.acts] == ["create-topic", "delete-topic"]


async def test_a_refused_fetch_names_the_partitions_of_its_session(
    broker: ApplicationBroker,
) -> None:
    parts = [{"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 100}]
    body = {"maxWaitMs": 0, "minBytes": 0, "topics": [{"topic": "t", "partitions": parts}]}
    async with client(broker) as one:
        known = (await one.ask("Fetch", 11, {**body, "sessionEpoch": 0}))["sessionId"]
        broker.provoke(provoked("Fetch", Action.ERROR, code="NOT_LEADER_FOR_PARTITION"))
        again = {**body, "topics": [], "sessionId": known}
        answer = await one.ask("Fetch", 11, {**again, "sessionEpoch": 1})
        assert (answer["errorCode"], answer["sessionId"]) == (0, known)
        ((row,),) = (topic["partitions"] for topic in answer["responses"])
        assert (row["partitionIndex"], row["errorCode"]) == (0, 6)
        await broker.produce("t", 0, 1)
        answer = await one.ask("Fetch", 11, {**again, "sessionEpoch": 2})
        assert answer["responses"][0]["partitions"][0]["errorCode"] == 0


async def test_what_is_held_back_ends_with_the_broker() -> None:
    async with ApplicationBroker(KAFKA_4, QUICK, topics={"t": 3}) as broker:
        broker.provoke(
            provoked("Fetch", Action.HOLD), provoked("JoinGroup", Action.HOLD, ms=60_000)
        )
        async with client(broker) as one, client(broker) as two:
            await one.join(instance="A")
            await two.send("Fetch", 4, {"maxWaitMs": 60_000, "minBytes": 1, "topics": []})
            await until(lambda: of(broker, "JoinGroup") and of(broker, "Fetch"))
            ends = one.is_closed()
            await broker.__aexit__()
            assert await ends
    assert "g" not in broker.groups.running.groups


async def test_a_client_that_is_throttled_is_told_and_then_not_read(
    broker: ApplicationBroker,
) -> None:
    broker.provoke(provoked("Heartbeat", Action.THROTTLE, ms=50))
    async with client(broker) as one:
        body = {"groupId": "g", "generationId": 1, "memberId": "m"}
        assert (await one.ask("Heartbeat", 3, body))["throttleTimeMs"] == 50
        await one.ask("Heartbeat", 3, body)
    first, second = of(broker, "Heartbeat")
    assert first.answered_ms is not None
    assert second.at_ms - first.answered_ms >= 49


async def test_a_connection_is_cut_while_a_join_is_parked(broker: ApplicationBroker) -> None:
    broker.provoke(provoked("JoinGroup", Action.CUT, who="B", ms=1))
    async with client(broker) as one, client(broker) as two:
        joined = await join(one)
        await two.join(instance="B")
        assert await two.is_closed()
        assert await beat(one, joined) == Error.REBALANCE_IN_PROGRESS.value
    cut = of(broker, "JoinGroup")[1]
    assert cut.answered_ms is None
    span = broker.history.connections[cut.connection]
    assert (span.closed_ms is not None, span.closed_by_client) == (True, False)


async def test_what_is_answered_in_time_is_not_cut(broker: ApplicationBroker) -> None:
    broker.provoke(provoked("JoinGroup", Action.CUT, ms=1))
    async with client(broker) as one:
        joined = await join(one)
        await asyncio.sleep(0.005)
        assert await beat(one, joined) == 0


async def test_a_broker_that_relents_provokes_nobody(broker: ApplicationBroker) -> None:
    broker.provoke(provoked("JoinGroup", Action.LOSE, last=None))
    broker.relent()
    async with client(broker) as one:
        assert (await join(one))["errorCode"] == 0


# An administrator.


async def test_a_member_is_removed_by_its_instance(broker: ApplicationBroker) -> None:
    async with client(broker) as one:
        joined = await join(one)
        assert await broker.remove("g", "A") == 0
        assert await beat(one, joined) == Error.UNKNOWN_MEMBER_ID.value
        assert await broker.remove("g", "A") == Error.UNKNOWN_MEMBER_ID.value
    assert [(a.name, a.about["code"]) for a in broker.history.acts] == [
        ("remove", 0),
        ("remove", 25),
    ]


async def test_another_process_takes_the_instance(broker: ApplicationBroker) -> None:
    async with client(broker) as one:
        joined = await join(one)
        body = {
            "groupId": "g",
            "generationId": 1,
            "memberId": joined["memberId"],
            "groupInstanceId": "A",
            "assignments": [{"memberId": joined["memberId"], "assignment": "AAE="}],
        }
        await one.ask("SyncGroup", 3, body)
        assert await broker.fence("g", "A") == 0
        assert await beat(one, joined) == FENCED
        again = await join(one)
        assert again["generationId"] == 1
        assert broker.groups.running.groups["g"].members[0].assignment == b"\0\1"
        assert await broker.fence("g", "nobody") == Error.UNKNOWN_MEMBER_ID.value


async def test_a_session_is_ended(broker: ApplicationBroker) -> None:
    async with client(broker) as one:
        joined = await join(one)
        assert await broker.expire("g", "A")
        assert await beat(one, joined) == Error.UNKNOWN_MEMBER_ID.value
        assert not await broker.expire("g", "A")
        again = await join(one)
        assert await broker.expire("g", again["memberId"])


async def test_a_coordinator_moves_with_what_is_stored() -> None:
    async with ApplicationBroker(KAFKA_4, QUICK, nodes=2) as broker:
        at = broker.groups.node_of("g")
        async with client(broker, at) as one, client(broker, at) as two:
            joined = await join(one)
            body = {"groupId": "g", "generationId": 1, "memberId": joined["memberId"]}
            await one.ask("SyncGroup", 3, {**body, "groupInstanceId": "A", "assignments": []})
            await two.join(instance="B")
            await until(lambda: len(of(broker, "JoinGroup")) == 2)
            assert await broker.move_coordinator("g") == 3 - at
            assert (await two.joined())["errorCode"] == MOVED
            assert await beat(one, joined) == MOVED
            found = await one.ask("FindCoordinator", 3, {"key": "g"})
            assert found["nodeId"] == 3 - at
        async with client(broker, 3 - at) as one:
            assert await beat(one, joined) == 0
            assert await broker.move_coordinator("g", at) == at
            assert await beat(one, joined) == MOVED


async def test_a_coordinator_that_loads_or_is_gone_says_so(broker: ApplicationBroker) -> None:
    async with client(broker) as one:
        joined = await join(one)
        commit = {"groupId": "g", "topics": None}
        loading = asyncio.create_task(broker.load("g", 60_000))
        await asyncio.sleep(0)
        answer = await one.ask("OffsetFetch", 5, commit)
        assert answer["errorCode"] == Error.COORDINATOR_LOAD_IN_PROGRESS.value
        loading.cancel()
        await asyncio.wait([loading])
        assert (await one.ask("OffsetFetch", 5, commit))["errorCode"] == 0
        gone = asyncio.create_task(broker.not_available("g", 60_000))
        await asyncio.sleep(0)
        absent = Error.COORDINATOR_NOT_AVAILABLE.value
        assert await beat(one, joined) == absent
        assert (await one.ask("FindCoordinator", 3, {"key": "g"}))["errorCode"] == absent
        gone.cancel()
        await asyncio.wait([gone])
        assert (await one.ask("FindCoordinator", 3, {"key": "g"}))["errorCode"] == 0


async def test_a_downgrade_is_a_restart_with_old_versions(broker: ApplicationBroker) -> None:
    async with client(broker) as one:
        await one.ask("ApiVersions", 4, {"clientSoftwareName": "c", "clientSoftwareVersion": "1"})
        await broker.restart(as_of="2.2")
        assert await one.is_closed()
    await broker.restart()  # as it is
    async with client(broker) as one:
        rows = {r["apiKey"]: r for r in (await one.ask("ApiVersions", 0, {}))["apiKeys"]}
        assert rows[11]["maxVersion"] == 4
    with pytest.raises(ReleaseError):
        await broker.restart(as_of="9.9")


async def test_a_restart_forgets_fetch_sessions(broker: ApplicationBroker) -> None:
    async with client(broker) as one:
        first = await fetch(one, version=7, sessionId=0, sessionEpoch=0)
        known = first["sessionId"]
        assert (await fetch(one, version=7, sessionId=known, sessionEpoch=1))["errorCode"] == 0
    await broker.restart()
    async with client(broker) as one:
        gone = await fetch(one, version=7, sessionId=known, sessionEpoch=2)
        assert gone["errorCode"] == Code.FETCH_SESSION_ID_NOT_FOUND


async def test_a_broker_that_is_down_refuses_connections(broker: ApplicationBroker) -> None:
    async with client(broker) as one:
        await join(one)
        with broker.down():
            assert await one.is_closed()
            async with client(broker) as two:
                assert await two.is_closed()
    async with client(broker) as one:
        assert (await one.ask("ApiVersions", 0, {}))["errorCode"] == 0


# The history.


async def test_exchanges_are_in_the_order_of_receipt(broker: ApplicationBroker) -> None:
    async with client(broker) as one, client(broker) as two:
        joined = await join(one)
        await two.join(instance="B")
        await beat(one, joined)
        await broker.remove("g", "A")
        await two.joined()
    apis = [e.api for e in broker.history.exchanges]
    assert apis == ["JoinGroup", "JoinGroup", "Heartbeat"]
    first, parked, beaten = broker.history.exchanges
    assert parked.answered_ms is not None
    assert beaten.answered_ms is not None
    assert parked.at_ms < beaten.at_ms < beaten.answered_ms < parked.answered_ms
    assert (first.node, first.client_id, first.version) == (1, "client", 5)
    assert first.connection != parked.connection
    assert isinstance(first.answer, JoinGroupResponse)
    assert first.answer.member_id == joined["memberId"]
    assert first.request is not None
    spans = broker.history.connections
    await until(lambda: spans[first.connection].closed_ms is not None)
    assert spans[first.connection].closed_by_client


async def test_what_can_not_be_read_is_noted_by_its_header(broker: ApplicationBroker) -> None:
    async with client(broker) as one:
        head = (71).to_bytes(2) + (3).to_bytes(2) + (9).to_bytes(4) + (1).to_bytes(2) + b"c"
        one.writer.write(len(head).to_bytes(4) + head)
        assert await one.is_closed()
    (seen,) = broker.history.exchanges
    assert (seen.api, seen.version, seen.client_id, seen.request_body) == ("key 71", 3, "c", None)
    assert (seen.answer_body, seen.request, seen.answer) == (None, None, None)


async def test_the_control_shows_that_the_broker_was_quick(broker: ApplicationBroker) -> None:
    (meter,) = broker.history.meters.values()
    await until(lambda: len(meter.answered) >= 3)
    now = broker.history.now_ms()
    assert broker.history.exchanges == []
    assert broker.history.worst_ms(0, now) < 5000
    began = (meter.answered[0] - broker.history.began_s) * 1000
    assert broker.history.was_quick(began, now, 60_000)
    meter.samples.add(meter.answered[-1], 30.0)
    assert not broker.history.was_quick(began, now, 60_000)
    assert broker.history.worst_ms(0, now) == 30_000


async def test_where_it_listens(broker: ApplicationBroker) -> None:
    assert broker.bootstrap == str(Address("127.0.0.1", broker.address.port))
    await broker.create_topics({"t": 9, "u": 2})
    assert {name: len(topic.partitions) for name, topic in broker.topics.items()} == {
        "t": 3,
        "u": 2,
    }
