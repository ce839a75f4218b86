"""The model of the consumer protocol as a broker: its versions, its topics, its answers."""

from __future__ import annotations

import pytest
from support.consumer_bodies import assigned_partitions, heartbeat_body
from support.served import Client, client

from fencepost.conformance.serve.broker import ModelBroker
from fencepost.conformance.serve.topic_log import ServedTopics, Topics
from fencepost.conformance.wire.codec import API_KEYS
from fencepost.conformance.wire.provocation import Action, Provocation
from fencepost.model.coordinator import Topic
from fencepost.model.messages.consumer_messages import CONSUMER_APIS
from fencepost.model.messages.shapes import NO_UUID
from fencepost.model.revisions import revisions

AT_ONCE = {"group.consumer.assignment.interval.ms": 0}
DESCRIBE = {"groupIds": ["g"], "includeAuthorizedOperations": False}
CREATED = {"numPartitions": 2, "replicationFactor": 1, "assignments": [], "configs": []}


async def beat(one: Client, member: str, epoch: int, **changes: object) -> dict[str, object]:
    return await one.ask("ConsumerGroupHeartbeat", 1, heartbeat_body(member, epoch, **changes))


@pytest.mark.parametrize("revision", revisions.CONSUMER_NAMES)
async def test_a_static_member_leaves_for_a_while_and_returns(revision: str) -> None:
    async with (
        ModelBroker(revisions.find(revision), AT_ONCE, topics={"t": 4}) as broker,
        client(broker) as one,
    ):
        rows = (await one.ask("ApiVersions", 0, {}))["apiKeys"]
        spoken = {row["apiKey"]: (row["minVersion"], row["maxVersion"]) for row in rows}
        assert {API_KEYS[api]: (0, 1) for api in CONSUMER_APIS}.items() <= spoken.items()
        metadata = await one.ask("Metadata", 12, {"topics": None})
        joined = await beat(one, "m1", 0, instanceId="A")
        assert assigned_partitions(joined) == {metadata["topics"][0]["topicId"]: [0, 1, 2, 3]}
        assert (await beat(one, "m2", 0, instanceId="A"))["errorCode"] == 111
        assert (await beat(one, "m1", -2, instanceId="A"))["memberEpoch"] == -2
        returned = await beat(one, "m2", 0, instanceId="A")
        assert returned["assignment"] == joined["assignment"]
        assert (await beat(one, "m1", 1, instanceId="A"))["errorCode"] == 82


async def test_topics_that_are_created_later_have_their_ids_and_deleted_ones_keep_them() -> None:
    async with (
        ModelBroker(revisions.find("consumer-4.3"), AT_ONCE) as broker,
        client(broker) as one,
    ):
        request = {"topics": [{"name": "u", **CREATED}], "timeoutMs": 1, "validateOnly": False}
        (made,) = (await one.ask("CreateTopics", 7, request))["topics"]
        joined = await beat(one, "m1", 0, subscribedTopicNames=["u", "v"])
        assert assigned_partitions(joined) == {made["topicId"]: [0, 1]}
        named = {"topics": [{"name": "u", "topicId": NO_UUID}], "timeoutMs": 1}
        await one.ask("DeleteTopics", 6, named)
        described = await one.ask("ConsumerGroupDescribe", 1, DESCRIBE)
        (member,) = described["groups"][0]["members"]
        assert member["assignment"]["topicPartitions"][0]["topicId"] == made["topicId"]
        full = await beat(one, "m2", 0, subscribedTopicNames=["u"])
        assert assigned_partitions(full) == {}


async def test_a_join_whose_answer_is_lost_is_refused_when_it_is_sent_again() -> None:
    lost = Provocation(api="ConsumerGroupHeartbeat", who="A", action=Action.LOSE)
    refused = Provocation(api="ConsumerGroupDescribe", action=Action.ERROR, code="NOT_COORDINATOR")
    for revision, code in (("consumer-4.4", 111), ("pr-23542", 0)):
        async with ModelBroker(
            revisions.find(revision), AT_ONCE, topics={"t": 1}, provocations=(lost, refused)
        ) as broker:
            async with client(broker) as one:
                await one.send("ConsumerGroupHeartbeat", 1, heartbeat_body("m1", 0, instanceId="A"))
                assert await one.is_closed()
            async with client(broker) as again:
                assert (await beat(again, "m1", 0, instanceId="A"))["errorCode"] == code
                for wanted in (16, 0):
                    answer = await again.ask("ConsumerGroupDescribe", 1, DESCRIBE)
                    assert answer["groups"][0]["errorCode"] == wanted


def test_the_topics_of_a_broker_as_the_model_needs_them() -> None:
    topics = Topics()
    served = ServedTopics(topics)
    first = topics.make("t", 2).id
    assert dict(served) == {"t": Topic(first, 2)}
    topics.remove("t")
    assert dict(served) == {"t": Topic(first, 0)}
    second = topics.make("t", 1).id
    assert (len(served), dict(served)) == (1, {"t": Topic(second, 1)})
