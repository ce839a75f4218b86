"""The consumer protocol over TCP: topics of a reset, their ids and names, settings, clean-up."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest
from support.consumer_bodies import assigned_partitions, commit_body, heartbeat_body

from fencepost.conformance.serve.broker import ModelBroker
from fencepost.conformance.targets.tcp.namespacing import Names
from fencepost.conformance.targets.tcp.tcp import TcpTarget
from fencepost.model.coordinator import AsyncCoordinator, Send, Topic, UnsupportedError
from fencepost.model.messages.subscription import (
    Subscription,
    TopicPartition,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from fencepost.model.revisions import revisions

ID, OTHER = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"
TOPICS = {"t": Topic(ID, 4), "u": Topic(OTHER, 4)}
SETTINGS = {"group.consumer.assignment.interval.ms": 0, "group.consumer.session.timeout.ms": 6000}
DESCRIBE = {"groupIds": ["g"], "includeAuthorizedOperations": False}


@pytest.fixture
async def broker() -> AsyncIterator[ModelBroker]:
    async with ModelBroker(revisions.find("consumer-4.3"), SETTINGS) as served:
        yield served


async def ask(scope: AsyncCoordinator, number: int, api: str, **body: Any) -> dict[str, Any]:
    version = 9 if api == "OffsetCommit" else 1
    answers = await scope.send(Send(f"r{number}", "c", "app", api, version, body))
    while not answers:
        answers = await scope.advance(5000)
    (answer,) = answers
    assert answer.findings == ()
    assert answer.body is not None
    return dict(answer.body)


async def beat(
    scope: AsyncCoordinator, number: int, member: str, epoch: int, **changes: Any
) -> dict[str, Any]:
    body = heartbeat_body(member, epoch, **changes)
    return await ask(scope, number, "ConsumerGroupHeartbeat", **body)


async def test_names_and_ids_of_topics_are_those_of_the_case(broker: ModelBroker) -> None:
    async with TcpTarget(str(broker.address), probe=False, measures=False) as target:
        async with target.scope("a case") as scope:
            assert "topics" in (await scope.hello()).features
            reset = await scope.reset({"group.consumer.max.size": None}, TOPICS)
            assert reset.topics == TOPICS
            assert reset.config.items() >= SETTINGS.items()
            joined = await beat(scope, 1, "m1", 0, subscribedTopicNames=["t", "u", "v"])
            assert assigned_partitions(joined) == {ID: [0, 1, 2, 3], OTHER: [0, 1, 2, 3]}
            owned = [{"topicId": ID, "partitions": [0]}, {"topicId": OTHER, "partitions": []}]
            assert (await beat(scope, 2, "m1", 2, topicPartitions=owned))["errorCode"] == 0
            (group,) = (await ask(scope, 3, "ConsumerGroupDescribe", **DESCRIBE))["groups"]
            assert group["groupId"] == "g"
            (member,) = group["members"]
            assert member["subscribedTopicNames"] == ["t", "u", "v"]
            for kind in ("assignment", "targetAssignment"):
                rows = member[kind]["topicPartitions"]
                assert {row["topicName"]: row["topicId"] for row in rows} == {"t": ID, "u": OTHER}
            committed = await ask(scope, 4, "OffsetCommit", **commit_body("m1", 2, *"tuv"))
            rows = {t["name"]: t["partitions"][0]["errorCode"] for t in committed["topics"]}
            assert rows == {"t": 0, "u": 0, "v": 3}
            with pytest.raises(UnsupportedError, match="subscribedTopicRegex"):
                await beat(scope, 5, "m1", 2, subscribedTopicRegex="t.*")
        async with target.scope("another") as scope:
            await scope.reset({}, {"w": Topic(OTHER, 4), "own": Topic(ID, 1)})
            joined = await beat(scope, 1, "m1", 0, subscribedTopicNames=["t", "w", "own"])
            assert assigned_partitions(joined) == {OTHER: [0, 1, 2, 3], ID: [0]}
        made = [len(topic.partitions) for topic in broker.topics.values()]
        assert sorted(made) == [1, 4, 4, 4]  # the run's, two that cases share, the case's own
    assert not broker.topics
    assert not broker.groups.running.groups


async def test_a_setting_that_is_not_in_force_is_not_known_without_topics(
    broker: ModelBroker,
) -> None:
    async with (
        TcpTarget(str(broker.address), probe=False, measures=False) as target,
        target.scope("a case") as scope,
    ):
        assert (await scope.reset({})).config.keys() == target.settings.keys()
        with pytest.raises(UnsupportedError, match=r"group\.consumer\.max\.size"):
            await scope.reset({"group.consumer.max.size": 2})


async def test_a_broker_of_the_classic_protocol_takes_no_topics() -> None:
    async with (
        ModelBroker(revisions.find("kafka-4")) as served,
        TcpTarget(str(served.address), probe=False, measures=False) as target,
        target.scope("a case") as scope,
    ):
        assert "topics" not in (await scope.hello()).features
        with pytest.raises(UnsupportedError, match="topics"):
            await scope.reset({}, TOPICS)


def test_names_without_a_reset_of_topics_stay_as_they_were() -> None:
    names = Names("p-", "run")
    body = names.request("ConsumerGroupHeartbeat", heartbeat_body("m", 0))
    assert body["subscribedTopicNames"] == ["run"]
    assert names.request("ConsumerGroupDescribe", DESCRIBE)["groupIds"] == ["p-g"]


def test_subscriptions_and_assignments_have_the_names_of_the_cluster() -> None:
    names = Names("p-", "run")
    names.know("t", ID, "run-4-1", "a")
    names.know("u", OTHER, "run-4-2", "b")
    subscription = Subscription(("t", "u", "v"), (TopicPartition("t", 1),), user_data=b"data")
    metadata = _base64(encode_subscription(subscription, version=1))
    body = names.request("JoinGroup", {"protocols": [{"name": "range", "metadata": metadata}]})
    sent = decode_subscription(base64.b64decode(body["protocols"][0]["metadata"]))
    assert sent.topics == ("run-4-1", "run-4-2", "run-v")
    assert (sent.owned, sent.user_data) == ((TopicPartition("run-4-1", 1),), b"data")
    told = {"members": [{"memberId": "m", "metadata": body["protocols"][0]["metadata"]}]}
    assert names.answer("JoinGroup", told)["members"][0]["metadata"] == metadata

    mine = _base64(encode_assignment([TopicPartition("t", 0), TopicPartition("u", 3)]))
    rows = [{"memberId": "m", "assignment": mine}]
    theirs = names.request("SyncGroup", {"assignments": rows})["assignments"][0]["assignment"]
    partitions = decode_assignment(base64.b64decode(theirs))
    assert partitions == (TopicPartition("run-4-1", 0), TopicPartition("run-4-2", 3))
    assert names.answer("SyncGroup", {"assignment": theirs})["assignment"] == mine
    group = {"groupId": "p-g", "members": [{"memberAssignment": theirs}]}
    (row,) = names.answer("DescribeGroups", {"groups": [group]})["groups"]
    assert row["members"][0]["memberAssignment"] == mine


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
