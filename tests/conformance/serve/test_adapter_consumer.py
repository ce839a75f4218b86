"""The model of the consumer protocol behind the adapter: its exchange, its topics, its settings."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from support.consumer_bodies import assigned_partitions, commit_body, heartbeat_body
from support.places import ROOT

from fencepost.conformance.serve.adapter import serve
from fencepost.conformance.targets.in_process import ModelCoordinator
from fencepost.conformance.targets.stdio.protocol_schemas import check_command, check_reply
from fencepost.conformance.targets.target_registry import find_coordinator
from fencepost.model.consumer.settings import SETTINGS
from fencepost.model.coordinator import named
from fencepost.model.revisions import revisions

EXCHANGE = (ROOT / "examples" / "adapter-exchange-consumer.txt").read_text(encoding="utf-8")
COMMANDS = [json.loads(line[2:]) for line in EXCHANGE.splitlines() if line.startswith("→ ")]
REPLIES = [json.loads(line[2:]) for line in EXCHANGE.splitlines() if line.startswith("← ")]
HELLO, RESET = COMMANDS[:2]
ID = "AAAAAAAAAAAAAAAAAAAAAQ"

Json = dict[str, Any]


def converse(*commands: Json, revision: str = "consumer-4.3") -> list[Json]:
    """Return the replies of a revision."""
    lines = b"".join(json.dumps(command).encode() + b"\n" for command in commands)
    replies = io.BytesIO()
    coordinator = ModelCoordinator(find_coordinator(f"model:{revision}"))
    serve(coordinator, io.BytesIO(lines), replies)
    return [json.loads(line) for line in replies.getvalue().splitlines()]


def send(number: int, api: str, version: int, **body: Any) -> Json:
    name = f"r{number}"
    head = {"cmd": "send", "id": name, "connection": name, "clientId": "app"}
    return {**head, "api": api, "version": version, "body": body}


def beat(number: int, member: str, epoch: int, **changes: Any) -> Json:
    return send(number, "ConsumerGroupHeartbeat", 1, **heartbeat_body(member, epoch, **changes))


def body_in(reply: Json) -> Json:
    (answer,) = reply["answers"]
    body: Json = answer["body"]
    return body


def reset_with(**partitions: int) -> Json:
    """Return a reset with these topics: name → number of partitions."""
    topics = {
        name: {"id": ID[:-2] + f"{name.upper()}Q", "partitions": n}
        for name, n in partitions.items()
    }
    return {
        "cmd": "reset",
        "config": {"group.consumer.assignment.interval.ms": 0},
        "topics": topics,
    }


def test_the_exchange_of_the_page_is_that_of_the_model() -> None:
    for command, wanted, reply in zip(COMMANDS, REPLIES, converse(*COMMANDS), strict=True):
        check_reply(check_command(command), wanted)
        if command is HELLO:
            assert {**reply["apis"], **wanted["apis"]} == reply["apis"]
            assert set(wanted["features"]) <= set(reply["features"])
        elif command is RESET:
            assert reply["topics"] == wanted["topics"] == command["topics"]
            assert {**reply["config"], **wanted["config"]} == reply["config"]
        else:
            assert reply == wanted


@pytest.mark.parametrize("revision", revisions.CONSUMER_NAMES)
def test_every_revision_answers_and_leads_a_group(revision: str) -> None:
    _, first, second, third = converse(
        reset_with(t=4, u=1),
        beat(1, "m1", 0, instanceId="A", subscribedTopicNames=["t", "u"]),
        beat(2, "m1", -2, instanceId="A"),
        beat(3, "m2", 0, instanceId="A", subscribedTopicNames=["u", "t"]),
        revision=revision,
    )
    assert assigned_partitions(body_in(first)) == {
        ID[:-2] + "TQ": [0, 1, 2, 3],
        ID[:-2] + "UQ": [0],
    }
    assert body_in(second)["memberEpoch"] == -2
    assert body_in(third)["assignment"] == body_in(first)["assignment"]


JOIN_GROUP = {
    "groupId": "g",
    "sessionTimeoutMs": 6000,
    "rebalanceTimeoutMs": 6000,
    "memberId": "",
    "groupInstanceId": "B",
    "protocolType": "consumer",
    "protocols": [{"name": "range", "metadata": "AAAAAAABAAF0/////w=="}],
}
"""A static member of the classic protocol that subscribes to t."""


@pytest.mark.parametrize("revision", sorted(revisions.CONSUMER_RELEASES))
def test_a_release_has_classic_members_in_its_groups(revision: str) -> None:
    _, _, join, described = converse(
        reset_with(t=4),
        beat(1, "m1", 0, instanceId="A"),
        send(2, "JoinGroup", 5, **JOIN_GROUP),
        send(3, "ConsumerGroupDescribe", 1, groupIds=["g"], includeAuthorizedOperations=False),
        revision=revision,
    )
    assert body_in(join)["errorCode"] == 0
    (group,) = body_in(described)["groups"]
    kinds = {member["instanceId"]: member["memberType"] for member in group["members"]}
    assert kinds == {"A": 1, "B": 0}


def test_topics_that_were_not_given_do_not_exist() -> None:
    _, joined, committed = converse(
        reset_with(t=1),
        beat(1, "m1", 0, subscribedTopicNames=["v"]),
        send(2, "OffsetCommit", 9, **commit_body("m1", 2, "v")),
    )
    assert assigned_partitions(body_in(joined)) == {}
    assert body_in(committed)["topics"][0]["partitions"][0]["errorCode"] == 3


def test_a_reset_without_topics_ends_them() -> None:
    *_, reset, joined = converse(
        reset_with(t=4), {"cmd": "reset", "config": {"num.partitions": 2}}, beat(1, "m1", 0)
    )
    assert "topics" not in reset
    ((topic, partitions),) = assigned_partitions(body_in(joined)).items()
    assert topic != ID[:-2] + "TQ"
    assert partitions == [0, 1]


def test_a_target_waits_for_the_interval_and_large_groups_have_one() -> None:
    many = {**reset_with(t=1000), "config": {"group.consumer.assignment.interval.ms": 1000}}
    _, first, second, _, later = converse(
        many,
        beat(1, "m1", 0),
        beat(2, "m2", 0),
        {"cmd": "advance", "ms": 1000},
        beat(3, "m1", 2, topicPartitions=[]),
    )
    assert [len(n) for n in assigned_partitions(body_in(first)).values()] == [1000]
    assert assigned_partitions(body_in(second)) == {}
    assert [len(n) for n in assigned_partitions(body_in(later)).values()] == [500]


def test_all_settings_of_the_protocol_are_in_force_and_others_are_not_known() -> None:
    default, unknown, wrong, classic = converse(
        {"cmd": "reset", "config": {}},
        {"cmd": "reset", "config": {"group.consumer.foo": 1}},
        {"cmd": "reset", "config": {"group.consumer.migration.policy": "maybe"}},
        {"cmd": "reset", "config": {}, "topics": {}},
    )
    assert default["config"].items() >= named(SETTINGS).items()
    assert unknown == {"unsupported": "group.consumer.foo"}
    assert "maybe" in wrong["error"]
    assert classic["topics"] == {}
    answers = converse(
        {"cmd": "reset", "config": {}, "topics": {}},
        {"cmd": "reset", "config": {"group.consumer.max.size": 1}},
        revision="kafka-4",
    )
    assert answers == [{"unsupported": "topics"}, {"unsupported": "group.consumer.max.size"}]


@pytest.mark.parametrize(
    "bad", [{"id": "t", "partitions": 1}, {"id": ID, "partitions": -1}, {"id": ID}]
)
def test_a_malformed_topic_is_refused(bad: Json) -> None:
    (reply,) = converse({"cmd": "reset", "config": {}, "topics": {"t": bad}})
    assert reply["error"].startswith("not a command of adapter protocol 1: $.topics.t")


def test_a_failover_keeps_members_and_begins_sessions_anew() -> None:
    restart = {"cmd": "restart"}
    _, _, _, _, alive, _, dead = converse(
        {**reset_with(t=1), "config": {"group.consumer.session.timeout.ms": 6000}},
        beat(1, "m1", 0),
        {"cmd": "advance", "ms": 5000},
        restart,
        {"cmd": "advance", "ms": 5000},
        {"cmd": "advance", "ms": 1000},
        beat(2, "m1", 2),
    )
    assert alive == {"answers": []}
    assert body_in(dead)["errorCode"] == 25
