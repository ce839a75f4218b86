"""Several brokers, and users who may not do all that is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from support.tcp.liars import Broker, Script, answer, honest, serve
from support.tcp.tcp_scripts import advertising, beat, found, on, one, scoped, send, target

from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.wire.codec import RequestFrame
from fencepost.model.coordinator import UnsupportedError

# Several brokers


async def test_one_request_about_groups_of_two_brokers_is_not_made() -> None:
    async with serve() as other:

        def script(broker: Broker, request: RequestFrame) -> bytes | None:
            if request.api == "Metadata" and not request.body["topics"]:
                ports = {1: broker.port, 2: other.port}
                nodes = [{"nodeId": n, "host": "127.0.0.1", "port": p} for n, p in ports.items()]
                return answer(request, {"brokers": nodes, "topics": []})
            if request.api != "FindCoordinator":
                return None
            key = request.body["coordinatorKeys"][0]
            port = other.port if key.endswith("-far") else broker.port
            row = {"key": key, "nodeId": 1, "host": "127.0.0.1", "port": port, "errorCode": 0}
            return answer(request, found(request, row))

        async with scoped(script) as (scope, _):
            names = {"includeAuthorizedOperations": False}
            near = send("DescribeGroups", 4, {"groups": ["a", "b"], **names}, "r1")
            assert (await one(scope, near)).body is not None
            both = send("DescribeGroups", 4, {"groups": ["a", "far"], **names}, "r2")
            with pytest.raises(UnsupportedError, match="several brokers"):
                await scope.send(both)
            with pytest.raises(UnsupportedError, match="several brokers"):
                await scope.send(send("ListGroups", 0, {}, "r3"))
            assert (await one(scope, beat("r4", group="far"))).body is not None
            assert [r.api for r in other.requests] == ["Heartbeat"]


# Access


def refusing(api: str, body: Mapping[str, Any], rest: Script = honest) -> Script:
    """The broker of `rest`, with rules of access that let nobody ask for an API."""

    def script(broker: Broker, request: RequestFrame) -> bytes | None:
        return answer(request, body) if request.api == api else rest(broker, request)

    return script


@pytest.mark.parametrize("api", ["JoinGroup", "Heartbeat", "LeaveGroup"])
async def test_a_user_who_may_not_use_groups_is_told_what_is_needed(api: str) -> None:
    async with serve(refusing(api, {"errorCode": 30})) as broker:
        with pytest.raises(TargetUnavailableError, match=rf"{api} with GROUP_.*needs READ, DESCR"):
            async with target(broker, probe=True):
                pass


async def test_nor_begins_who_could_not_clean_up() -> None:
    refused = {"results": [{"groupId": "g", "errorCode": 30}]}
    script = refusing("DeleteGroups", refused, advertising(DeleteGroups=(0, 2)))
    async with serve(script) as broker:
        with pytest.raises(TargetUnavailableError, match=r"DeleteGroups with .*and DELETE on"):
            async with target(broker, probe=True):
                pass


async def test_a_refusal_is_no_answer_of_the_protocol() -> None:
    async with scoped(on("Heartbeat", lambda r: answer(r, {"errorCode": 30}))) as (scope, _):
        with pytest.raises(UnsupportedError, match="access: Heartbeat was answered GROUP_"):
            await one(scope, beat())
        with pytest.raises(UnsupportedError, match="access"):  # once is for the whole case
            await one(scope, send("DescribeGroups", 0, {"groups": ["g"]}, "r2", "c2"))
        await scope.reset({})
        answered = await one(scope, send("DescribeGroups", 0, {"groups": ["g"]}))
        assert answered.body is not None


async def test_a_refusal_in_a_row_is_one() -> None:
    row = {"name": "t", "partitions": [{"partitionIndex": 0, "errorCode": 29}]}
    partition = {"partitionIndex": 0, "committedOffset": 1, "committedMetadata": ""}
    ask = {
        "groupId": "g",
        "generationIdOrMemberEpoch": -1,
        "memberId": "",
        "groupInstanceId": None,
        "topics": [{"name": "t", "partitions": [{**partition, "committedLeaderEpoch": -1}]}],
    }
    async with scoped(on("OffsetCommit", lambda r: answer(r, {"topics": [row]}))) as (scope, _):
        with pytest.raises(UnsupportedError, match="OffsetCommit was answered TOPIC_AUTH"):
            await one(scope, send("OffsetCommit", 7, ask))


async def test_from_a_broker_of_ours_it_is_an_answer() -> None:
    script = on("Heartbeat", lambda r: answer(r, {"errorCode": 30}))
    async with scoped(script, temporary=True) as (scope, _):
        assert (await one(scope, beat())).body == {"errorCode": 30, "throttleTimeMs": 0}
