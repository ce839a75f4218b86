"""Topics of a case's own: made when they are first named, deleted until no broker knows them."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from support.served import QUICK
from support.tcp.tcp_scripts import PATIENT, one, send

from fencepost.conformance.cases.script import subscription
from fencepost.conformance.run.end_of_target import failed, unsupported
from fencepost.conformance.serve.broker import ModelBroker
from fencepost.conformance.targets.target import HelperFailedError
from fencepost.conformance.targets.tcp import cluster_admin
from fencepost.conformance.targets.tcp.broker_connection import Door, Ended, Reply, ask
from fencepost.conformance.targets.tcp.cluster_admin import (
    Admin,
    AdminError,
    RefusedError,
    UnreadableError,
)
from fencepost.conformance.targets.tcp.namespacing import Names
from fencepost.conformance.targets.tcp.tcp import TcpTarget
from fencepost.model.coordinator import AsyncCoordinator, CoordinatorFailure, Send, UnsupportedError
from fencepost.model.messages.errors import error_name
from fencepost.model.plans.steps import DeleteTopics, Plan
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.table.table import Level
from fencepost.properties.judging.outcome import Outcome


def test_a_topic_of_a_case_s_own_is_no_other_case_s() -> None:
    rows = [{"name": "own-1"}, {"name": "own-2"}, {"name": "t"}]
    names, other = Names("p-1-", "run"), Names("p-2-", "run")
    asked = names.request("OffsetCommit", {"groupId": "g", "topics": rows})
    assert [row["name"] for row in asked["topics"]] == ["p-1-own-1", "p-1-own-2", "run"]
    assert names.own_topics() == ["p-1-own-1", "p-1-own-2"]
    assert names.answer("OffsetCommit", {"topics": asked["topics"]}) == {"topics": rows}
    assert other.topic("own-1") == "p-2-own-1"


def test_a_subscription_names_the_case_s_own_topic_as_the_cluster_does() -> None:
    def joined(metadata: bytes) -> dict[str, Any]:
        protocols = [{"name": "range", "metadata": base64.b64encode(metadata).decode()}]
        return {"groupId": "g", "protocols": protocols}

    names = Names("p-1-", "run")
    asked = names.request("JoinGroup", joined(subscription("own-1", "t")))
    assert asked == {**joined(subscription("p-1-own-1", "t")), "groupId": "p-1-g"}
    assert names.own_topics() == ["p-1-own-1"]
    row = {"memberId": "m", "metadata": asked["protocols"][0]["metadata"]}
    (member,) = names.answer("JoinGroup", {"members": [row]})["members"]
    assert member["metadata"] == joined(subscription("own-1", "t"))["protocols"][0]["metadata"]
    for other in (subscription("t"), b"", b"own"):
        assert names.request("JoinGroup", joined(other)) == {**joined(other), "groupId": "p-1-g"}


@pytest.fixture
async def broker() -> AsyncIterator[ModelBroker]:
    async with ModelBroker(KAFKA_4, QUICK, seed=1) as opened:
        yield opened


@pytest.fixture
async def target(broker: ModelBroker) -> AsyncIterator[TcpTarget]:
    async with TcpTarget(str(broker.address), probe=False, deadlines=PATIENT) as opened:
        yield opened


def commit(rid: str) -> Send:
    part = {"partitionIndex": 0, "committedOffset": 5, "committedMetadata": ""}
    body: dict[str, Any] = {
        "groupId": "g",
        "generationIdOrMemberEpoch": -1,
        "memberId": "",
        "retentionTimeMs": -1,
        "topics": [{"name": name, "partitions": [part]} for name in ("own", "t")],
    }
    return send("OffsetCommit", 2, body, rid)


def fetch(rid: str) -> Send:
    topics = [{"name": name, "partitionIndexes": [0]} for name in ("own", "t")]
    return send("OffsetFetch", 1, {"groupId": "g", "topics": topics}, rid)


async def told(scope: AsyncCoordinator, request: Send, field: str) -> list[Any]:
    body = (await one(scope, request)).body
    assert body is not None
    return [row["partitions"][0][field] for row in body["topics"]]


async def test_a_deleted_topic_is_gone_for_this_case_alone(target: TcpTarget) -> None:
    async with target.scope("one") as scope, target.scope("other") as other:
        assert "delete-topics" in (await scope.hello()).features
        for case in (scope, other):
            assert await told(case, commit("r1"), "errorCode") == [0, 0]
        assert await scope.operate(DeleteTopics(("own",))) == []
        assert await told(scope, fetch("r2"), "committedOffset") == [-1, 5]
        assert await told(scope, commit("r3"), "errorCode") == [3, 0]
        assert await told(other, fetch("r2"), "committedOffset") == [5, 5]


async def test_a_topic_that_nobody_named_is_made_to_be_deleted(target: TcpTarget) -> None:
    async with target.scope("one") as scope:
        await scope.operate(DeleteTopics(("own",)))
        assert await told(scope, commit("r1"), "errorCode") == [3, 0]


async def test_a_topic_of_others_is_not_deleted(target: TcpTarget, broker: ModelBroker) -> None:
    async with target.scope("one") as scope:
        with pytest.raises(UnsupportedError, match="the topic t is not the case's own"):
            await scope.operate(DeleteTopics(("own", "t")))
    assert target.topic in broker.topics


async def test_a_topic_that_stays_is_a_failure(
    target: TcpTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object) -> None:
        """What is waited for does not come."""

    async with target.scope("one") as scope:
        assert await told(scope, commit("r1"), "errorCode") == [0, 0]
        monkeypatch.setattr(cluster_admin, "repeat", never)
        with pytest.raises(CoordinatorFailure, match=r"still knows the topic .*-own, which was"):
            await scope.operate(DeleteTopics(("own",)))


UNREADABLE = UnreadableError("DeleteTopics", "3 bytes are left")
SILENT = "127.0.0.1:1 did not answer CreateTopics in time"


@pytest.mark.parametrize(
    ("error", "outcome", "said"),
    [
        (
            RefusedError("CreateTopics", 41),
            Outcome.UNSUPPORTED,
            "the target lacks topics that are made for a case: CreateTopics was answered "
            + error_name(41),
        ),
        (
            UNREADABLE,
            Outcome.UNSUPPORTED,
            f"the target lacks topics that are made for a case: {UNREADABLE}",
        ),
        (
            AdminError(SILENT),
            Outcome.UNKNOWN,
            f"{SILENT}; that is no request of the group protocol, so no rule is judged by it",
        ),
    ],
)
async def test_a_topic_that_cannot_be_made_breaks_no_rule(
    error: AdminError,
    outcome: Outcome,
    said: str,
    target: TcpTarget,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(target.admin, "create_topic", fails)
    case = Plan("TOPICS-DELETED/one", "", ("TOPICS-DELETED",), Level.SHOULD, ())
    async with target.scope("one") as scope:
        with pytest.raises((UnsupportedError, HelperFailedError)) as caught:
            await scope.send(commit("r1"))
    refused = caught.value
    if isinstance(refused, HelperFailedError):
        result = failed(case, refused)
    else:
        result = unsupported(case, str(refused))
    assert (result.outcome, result.message) == (outcome, said)


@pytest.fixture
def unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the answers about topics have bytes that are not those of their version."""

    async def ask_unreadably(door: Door, api: str, *rest: Any, **options: Any) -> Reply | Ended:
        event = await ask(door, api, *rest, **options)
        if api not in {"CreateTopics", "DeleteTopics"} or isinstance(event, Ended):
            return event
        finding = f"The answer's 9 bytes are not {api} version 2: 5 bytes are left."
        return replace(event, decoded=replace(event.decoded, body=None, findings=(finding,)))

    monkeypatch.setattr(cluster_admin, "ask", ask_unreadably)


async def test_a_topic_that_is_there_was_made_whatever_its_answer(
    unreadable: None, broker: ModelBroker
) -> None:
    del unreadable
    async with TcpTarget(str(broker.address), probe=False, deadlines=PATIENT) as target:
        assert (target.topic_problem, target.topic in broker.topics) == (None, True)
        async with target.scope("one") as scope:
            assert await told(scope, commit("r1"), "errorCode") == [0, 0]
            assert await scope.operate(DeleteTopics(("own",))) == []
            assert await told(scope, fetch("r2"), "committedOffset") == [-1, 5]


async def test_a_topic_that_is_not_there_was_not_made(
    unreadable: None, broker: ModelBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    del unreadable

    async def never(*_: object) -> None:
        """Let no topic be led."""

    monkeypatch.setattr(cluster_admin, "repeat", never)
    admin = Admin(broker.address, remote=False, deadlines=PATIENT)
    await admin.open()
    with pytest.raises(UnreadableError, match="are not CreateTopics version 2: 5 bytes are left"):
        await admin.create_topic("new", None)


async def test_a_shared_topic_that_could_not_be_made_breaks_no_rule_of_commits(
    target: TcpTarget,
) -> None:
    await target.admin.delete_topic(target.topic, None)
    async with target.scope("one") as scope:
        assert await told(scope, commit("r1"), "errorCode") == [0, 3]
        target.topic_problem = "CreateTopics was answered NOT_CONTROLLER"
        with pytest.raises(UnsupportedError, match="topics: CreateTopics was answered NOT_CON"):
            await one(scope, commit("r2"))


async def test_no_topic_of_a_case_stays(broker: ModelBroker) -> None:
    async with TcpTarget(str(broker.address), probe=False, deadlines=PATIENT) as target:
        async with target.scope("one") as scope:
            assert await told(scope, commit("r1"), "errorCode") == [0, 0]
        assert any(name.endswith("-own") for name in broker.topics)
    assert list(broker.topics) == []
