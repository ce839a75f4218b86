"""librdkafka's mock, for real: it is in the wheel that the tests install."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import select
import signal
import sys
from typing import Any

import pytest

from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.brokers.mock import MockTarget, mock_server
from fencepost.conformance.targets.target import Placed
from fencepost.model.coordinator import Answer, AsyncCoordinator, Send

LONG_MS = 60_000
"""Never waited out: what is waited for comes."""


def join(rid: str, on: str, instance: str | None, version: int = 5, first: str = "range") -> Send:
    body = {
        "groupId": "g",
        "sessionTimeoutMs": 6000,
        "rebalanceTimeoutMs": 6000,
        "memberId": "",
        "groupInstanceId": instance,
        "protocolType": "consumer",
        "protocols": [{"name": first, "metadata": "AAE="}],
    }
    if version >= 8:
        body["reason"] = None
    return Send(rid, on, "app", "JoinGroup", version, body)


BEAT = "ConsumerGroupHeartbeat"


def joins(member_id: str) -> dict[str, Any]:
    return {
        "groupId": "g",
        "memberId": member_id,
        "memberEpoch": 0,
        "instanceId": "A",
        "rackId": None,
        "rebalanceTimeoutMs": 6000,
        "subscribedTopicNames": ["t"],
        "subscribedTopicRegex": "",
        "serverAssignor": None,
        "topicPartitions": [],
    }


async def one(scope: AsyncCoordinator, request: Send) -> Answer:
    answers = await scope.send(request) or await scope.advance(LONG_MS)
    assert [a.id for a in answers] == [request.id]
    return answers[0]


def body(answer: Answer) -> dict[str, Any]:
    assert answer.body is not None
    return dict(answer.body)


async def gone(pid: int) -> None:
    """Wait until a process that need not be ours has ended."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(watched, ended.set)
    try:
        async with asyncio.timeout(LONG_MS / 1000):
            await ended.wait()
    finally:
        loop.remove_reader(watched)
        os.close(watched)


def test_gone_is_not_fooled() -> None:
    watched = os.pidfd_open(os.getpid())
    try:
        assert select.select([watched], [], [], 0) == ([], [], [])
    finally:
        os.close(watched)


async def test_what_it_speaks_is_less_than_it_says() -> None:
    async with MockTarget() as mock, mock.scope("case") as scope:
        hello = await scope.hello()
        assert hello.implementation == "librdkafka-mock"
        assert mock.provenance().version == hello.version
        assert mock.advertised["JoinGroup"] == (0, 6)
        assert hello.apis["JoinGroup"] == (0, 5)
        assert hello.apis["SyncGroup"] == (0, 3)
        assert hello.apis["LeaveGroup"] == (0, 2)
        assert set(mock.broken) == {"JoinGroup", "SyncGroup", "LeaveGroup"}
        assert "DescribeGroups" not in hello.apis
        assert mock.settings["group.initial.rebalance.delay.ms"] == 3000
        by_default = {k for k, source in mock.settings_source.items() if source != "option"}
        assert by_default == {
            "offsets.retention.check.interval.ms",
            "offset.metadata.max.bytes",
            "message.max.bytes",
            "group.consumer.assignment.interval.ms",
            "group.consumer.max.size",
            "group.consumer.migration.policy",
        }


@pytest.mark.slow
async def test_a_second_join_of_an_instance_is_a_second_member() -> None:
    async with MockTarget() as mock, mock.scope("case") as scope:
        await scope.reset({})
        first = body(await one(scope, join("r1", "c1", "A")))
        assert first["errorCode"] == 0
        assert first["leader"] == first["memberId"]
        assert [m["groupInstanceId"] for m in first["members"]] == ["A"]
        second = body(await one(scope, join("r2", "c2", "A")))
        assert second["errorCode"] == 0
        assert second["memberId"] != first["memberId"]
        assert second["generationId"] > first["generationId"]
        late = await one(
            scope,
            Send(
                "r3",
                "c1",
                "app",
                "Heartbeat",
                3,
                {
                    "groupId": "g",
                    "generationId": second["generationId"],
                    "memberId": first["memberId"],
                    "groupInstanceId": "A",
                },
            ),
        )
        assert body(late)["errorCode"] != 82  # it never fences


async def test_a_broken_version_is_the_end_of_the_connection() -> None:
    async with MockTarget() as mock, mock.scope("case") as scope:
        answer = await one(scope, join("r1", "c1", None, version=6))
        assert answer.body is None
        assert answer.findings == ("The broker closed the connection.",)


async def test_offsets_go_to_a_topic_of_ours() -> None:
    async with MockTarget() as mock, mock.scope("case") as scope:
        assert mock.tcp.topic_problem is None
        partitions = [
            {
                "partitionIndex": 0,
                "committedOffset": 5,
                "committedLeaderEpoch": -1,
                "committedMetadata": "x",
            }
        ]
        topics = [{"name": n, "partitions": partitions} for n in ("t", "missing-t")]
        commit = {
            "groupId": "g",
            "generationIdOrMemberEpoch": -1,
            "memberId": "",
            "groupInstanceId": None,
            "topics": topics,
        }
        told = body(await one(scope, Send("r1", "c1", "app", "OffsetCommit", 7, commit)))
        codes = {t["name"]: t["partitions"][0]["errorCode"] for t in told["topics"]}
        assert codes == {"t": 0, "missing-t": 3}
        asked = {"groupId": "g", "topics": [{"name": "t", "partitionIndexes": [0]}]}
        told = body(await one(scope, Send("r2", "c1", "app", "OffsetFetch", 5, asked)))
        assert told["topics"][0]["name"] == "t"
        assert told["topics"][0]["partitions"][0]["committedOffset"] == 5


@pytest.mark.parametrize("fragile", [False, True])
async def test_only_a_broker_of_its_own_ends_with_its_scope(fragile: bool) -> None:
    class Some(MockTarget):
        pass

    Some.fragile = fragile
    async with (
        Some() as mock,
        mock.scope("one", isolated=True) as alone,
        mock.scope("other") as other,
    ):
        assert isinstance(alone, Placed)
        assert isinstance(other, Placed)
        assert (alone.place is other.place) is not fragile
        assert alone.place.is_brief is fragile
        assert not other.place.is_brief


async def test_an_isolated_scope_may_kill_its_mock() -> None:
    async with MockTarget() as mock:
        async with mock.scope("case", isolated=True) as scope:
            assert await scope.send(join("r1", "c1", None)) == []
            answers = [
                *await scope.send(join("r2", "c2", None, first="roundrobin")),
                *await scope.advance(LONG_MS),
            ]
            while len(answers) < 2:
                answers += await scope.advance(LONG_MS)
            assert {a.id: a.body for a in answers} == {"r1": None, "r2": None}
        async with mock.scope("next") as scope:
            request = {"groupId": "g", "generationId": 1, "memberId": "m"}
            answer = await one(scope, Send("r1", "c1", "app", "Heartbeat", 0, request))
            assert body(answer)["errorCode"] != 0


async def test_the_death_of_a_mock_is_a_remark_about_its_case() -> None:
    async with MockTarget() as mock:
        for case in ("right", "deadly"):
            async with mock.scope(case, isolated=True) as scope:
                member_id = "" if case == "deadly" else "A1"
                answer = await one(scope, Send("r1", "c1", "app", BEAT, 1, joins(member_id)))
                assert (answer.body is None) is (case == "deadly")
        (remark,) = mock.remarks
        assert remark.startswith("the process of the mock was ended by SIGABRT in 1 case, each on")
        assert remark.endswith(": deadly")


async def test_no_process_stays() -> None:
    async with mock_server() as (address, version, pid):
        assert address.startswith("127.0.0.1:")
        assert version[0].isdigit()
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_no_process_stays_after_a_cancellation() -> None:
    pids: asyncio.Queue[int] = asyncio.Queue()

    async def user() -> None:
        async with mock_server() as (_, _, pid):
            pids.put_nowait(pid)
            await asyncio.get_running_loop().create_future()

    task = asyncio.create_task(user())
    pid = await pids.get()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


PARENT = """
import asyncio
from fencepost.conformance.targets.brokers.mock import mock_server

async def main():
    async with mock_server() as (address, version, pid):
        print(pid, flush=True)
        await asyncio.get_running_loop().create_future()

asyncio.run(main())
"""


async def test_no_process_outlives_a_parent_that_was_killed() -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    pid = int(await parent.stdout.readline())
    os.kill(pid, 0)
    parent.send_signal(signal.SIGKILL)
    await parent.wait()
    await gone(pid)


async def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(TargetUnavailableError, match=r"pip install '\.\[mock\]'"):
        async with MockTarget():
            pass


async def test_a_mock_that_does_not_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    said = "mock exited with code 1 while it started: no output"
    with pytest.raises(TargetUnavailableError, match=said):
        async with MockTarget():
            pass


def test_a_mock_that_is_not_open_cannot_be_asked() -> None:
    with pytest.raises(RuntimeError, match="async with"):
        _ = MockTarget().settings
