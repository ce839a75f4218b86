"""What is left behind on a broker, and which connections the next case uses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from support.tcp.liars import HANG_UP, PARK, Broker, answer, framed, serve
from support.tcp.tcp_scripts import (
    LONG_MS,
    OK,
    SHORT,
    advertising,
    beat,
    on,
    one,
    scoped,
    send,
    target,
)

from fencepost.conformance.targets.target import SpoiledRunError
from fencepost.conformance.targets.tcp.tcp import TcpTarget
from fencepost.conformance.wire.codec import RequestFrame
from fencepost.model.coordinator import AsyncCoordinator

# The end


def cleaning(_: Broker, request: RequestFrame) -> bytes | None:
    match request.api:
        case "CreateTopics":
            row = {"name": request.body["topics"][0]["name"], "errorCode": 0}
            return answer(request, {"topics": [row]})
        case "DescribeGroups":
            members = [{"memberId": "m1"}, {"memberId": "m2"}]
            rows = [
                {"errorCode": 0, "groupId": name, "members": members}
                for name in request.body["groups"]
            ]
            return answer(request, {"groups": rows})
        case "DeleteGroups":
            rows = [{"groupId": n, "errorCode": 0} for n in request.body["groupsNames"]]
            return answer(request, {"results": rows})
        case "JoinGroup":
            return PARK
        case _:
            return None


CLEANS = {"CreateTopics": (2, 7), "DeleteTopics": (1, 6), "DeleteGroups": (0, 2)}
JOIN = {
    "groupId": "g",
    "sessionTimeoutMs": 6000,
    "rebalanceTimeoutMs": 6000,
    "memberId": "",
    "groupInstanceId": "A",
    "protocolType": "consumer",
    "protocols": [],
}


def said(broker: Broker, api: str, name: str) -> list[Any]:
    return [r.body[name] for r in broker.requests if r.api == api]


async def test_nothing_of_ours_stays() -> None:
    async with scoped(advertising(cleaning, **CLEANS)) as (scope, broker):
        await scope.send(send("JoinGroup", 5, JOIN))
        while not (joined := said(broker, "JoinGroup", "groupId")):
            broker.got.clear()
            await broker.got.wait()
        created = said(broker, "CreateTopics", "topics")[0][0]["name"]
    (left,) = said(broker, "LeaveGroup", "members")
    assert [row["memberId"] for row in left] == ["m1", "m2"]
    assert said(broker, "DeleteGroups", "groupsNames") == [joined]
    assert said(broker, "DeleteTopics", "topicNames") == [[created]]


async def test_nor_on_a_broker_that_knows_no_batches() -> None:
    script = advertising(cleaning, **CLEANS, LeaveGroup=(0, 2))
    async with scoped(script) as (scope, broker):
        await scope.send(send("JoinGroup", 5, JOIN))
    assert said(broker, "LeaveGroup", "memberId") == ["m1", "m2"]


async def test_nor_after_a_cancellation() -> None:
    async with serve(advertising(cleaning, **CLEANS)) as broker:

        async def user() -> None:
            async with target(broker) as opened, opened.scope("case") as scope:
                await scope.send(send("JoinGroup", 5, JOIN))
                await scope.advance(LONG_MS)

        task = asyncio.create_task(user())
        while not said(broker, "JoinGroup", "groupId"):
            broker.got.clear()
            await broker.got.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert said(broker, "DeleteGroups", "groupsNames") == [said(broker, "JoinGroup", "groupId")]
        assert len(said(broker, "DeleteTopics", "topicNames")) == 1


@pytest.mark.parametrize("api", ["DescribeGroups", "LeaveGroup", "DeleteGroups", "DeleteTopics"])
@pytest.mark.parametrize("reply", [PARK, HANG_UP, framed(b"?")])
async def test_a_broker_that_does_not_let_us_is_left_alone(api: str, reply: bytes) -> None:
    def rest(broker: Broker, request: RequestFrame) -> bytes | None:
        return reply if request.api == api else cleaning(broker, request)

    async with scoped(advertising(rest, **CLEANS), deadlines=SHORT) as (scope, broker):
        await scope.send(send("JoinGroup", 5, JOIN))
    assert api in [r.api for r in broker.requests]


async def test_a_group_that_is_not_empty_yet_is_tried_again() -> None:
    codes = iter([68, 68])

    def rest(broker: Broker, request: RequestFrame) -> bytes | None:
        if request.api != "DeleteGroups":
            return cleaning(broker, request)
        rows = [{"groupId": n, "errorCode": next(codes, 0)} for n in request.body["groupsNames"]]
        return answer(request, {"results": rows})

    async with scoped(advertising(rest, **CLEANS)) as (scope, broker):
        await scope.send(send("JoinGroup", 5, JOIN))
    assert len(said(broker, "DeleteGroups", "groupsNames")) == 3


async def test_a_group_that_comes_late_is_removed_too() -> None:
    late: list[str] = []

    def rest(broker: Broker, request: RequestFrame) -> bytes | None:
        if request.api == "ListGroups":
            rows = [{"groupId": name, "protocolType": ""} for name in (*late, "somebody-s")]
            return answer(request, {"errorCode": 0, "groups": rows})
        return cleaning(broker, request)

    async with scoped(advertising(rest, **CLEANS)) as (scope, broker):
        await scope.send(send("JoinGroup", 5, JOIN))
        while not (joined := said(broker, "JoinGroup", "groupId")):
            broker.got.clear()
            await broker.got.wait()
        late.append(f"{joined[0]}-late")
    assert said(broker, "DeleteGroups", "groupsNames") == [joined, late]


@pytest.mark.parametrize("look", [2, 3])
async def test_also_one_that_is_listed_only_later_where_the_run_is_cut_short(look: int) -> None:
    late: list[str] = []
    looks = 0

    def rest(broker: Broker, request: RequestFrame) -> bytes | None:
        nonlocal looks
        if request.api == "ListGroups" and late:
            looks += 1
            rows = [{"groupId": name, "protocolType": ""} for name in late if looks == look]
            return answer(request, {"errorCode": 0, "groups": rows})
        return cleaning(broker, request)

    async def cut_short(broker: Broker) -> None:
        async with target(broker) as opened, opened.scope("case") as scope:
            await scope.send(send("JoinGroup", 5, JOIN))
            while not (joined := said(broker, "JoinGroup", "groupId")):
                broker.got.clear()
                await broker.got.wait()
            late.append(f"{joined[0]}-late")
            raise asyncio.CancelledError

    async with serve(advertising(rest, **CLEANS)) as broker:
        with pytest.raises(asyncio.CancelledError):
            await cut_short(broker)
    joined = said(broker, "JoinGroup", "groupId")
    assert said(broker, "DeleteGroups", "groupsNames") == [joined, late]


async def test_a_topic_that_cannot_be_made_is_a_known_problem() -> None:
    def rest(_: Broker, request: RequestFrame) -> bytes | None:
        rows = [{"name": "t", "errorCode": 29}]
        return answer(request, {"topics": rows}) if request.api == "CreateTopics" else None

    async with serve(advertising(rest, **CLEANS)) as broker, target(broker) as opened:
        assert opened.topic_problem is not None
        assert "TOPIC_AUTHORIZATION_FAILED" in opened.topic_problem
        assert f"no topic could be made: {opened.topic_problem}" in opened.remarks


# Connections that are used again


async def test_a_connection_serves_the_next_case() -> None:
    async with serve() as broker, target(broker) as opened:
        counts = []
        for _ in range(3):
            async with opened.scope("case") as scope:
                await one(scope, beat())
            counts.append(len(broker.writers))
        assert counts == counts[:1] * 3


async def test_not_one_that_waits_for_an_answer() -> None:
    """What the first case asked is answered late; the second case must not see it."""
    replies = iter([PARK])
    script = on("Heartbeat", lambda _: next(replies, None))
    async with serve(script) as broker, target(broker) as opened:
        async with opened.scope("first") as scope:
            assert await scope.send(beat()) == []
        before = len(broker.writers)
        async with opened.scope("second") as scope:
            assert (await one(scope, beat())).findings == ()
        assert len(broker.writers) == before + 1


async def test_nor_one_on_which_something_came_while_nobody_used_it() -> None:
    async with serve() as broker, target(broker) as opened:
        async with opened.scope("first") as scope:
            await one(scope, beat())
        connection = opened.lines.take(opened.anchor, lambda _: None)
        assert connection is not None
        opened.lines.lay_aside(opened.anchor, connection)
        connection.data_received(framed(b"what nobody asked for"))
        before = len(broker.writers)
        async with opened.scope("second") as scope:
            assert (await one(scope, beat())).findings == ()
        assert len(broker.writers) == before + 1


@asynccontextmanager
async def inherited(reply: Any) -> AsyncIterator[tuple[AsyncCoordinator, TcpTarget, bytes]]:
    """A second case on the connection of a first one, and what the broker told the first."""
    kept: list[bytes] = []

    def script(request: RequestFrame) -> bytes:
        kept.append(answer(request, OK))
        return kept[0] if len(kept) == 1 else reply(kept[0], kept[-1])

    async with serve(on("Heartbeat", script)) as broker, target(broker) as opened:
        async with opened.scope("first") as scope:
            await one(scope, beat())
        async with opened.scope("second") as scope:
            yield scope, opened, kept[0]


async def test_what_answers_a_case_of_before_again_is_nothing_of_this_one() -> None:
    """Kafka 2.8.0 answers a join that it failed to answer again when another member is removed."""
    async with inherited(lambda first, own: first + own) as (scope, _, _):
        told = await one(scope, beat())
        assert (told.body, told.findings) == ({"throttleTimeMs": 0, **OK}, ())
        assert (await one(scope, beat("r2"))).findings == ()


async def test_nor_is_its_connection_used_any_longer() -> None:
    async with inherited(lambda _, own: own) as (scope, opened, first):
        line = opened.lines.take(opened.anchor, lambda _: None)
        assert line is not None
        line.data_received(first)
        assert line.is_ended
        assert (await one(scope, beat())).findings == ()


async def test_a_case_that_an_earlier_one_cut_off_shows_nothing() -> None:
    async with inherited(lambda first, _: first + framed_end()) as (scope, _, _):
        with pytest.raises(SpoiledRunError, match="earlier case"):
            await one(scope, beat())
        assert await scope.advance(0) == []


async def test_another_wrong_correlation_id_is_still_a_finding() -> None:
    def lie(_: bytes, own: bytes) -> bytes:
        return framed(b"\x00\x00\x00\x63" + own[8:])

    async with inherited(lie) as (scope, _, _):
        assert "correlation id 99" in (await one(scope, beat())).findings[0]


def framed_end() -> bytes:
    """The length of a frame that is too long: the connection is given up."""
    return b"\x7f\xff\xff\xff"


async def test_a_case_that_hangs_up_hangs_up() -> None:
    async with serve() as broker, target(broker) as opened:
        async with opened.scope("first") as scope:
            await one(scope, beat())
            await scope.disconnect("c1")
        before = len(broker.writers)
        async with opened.scope("second") as scope:
            await one(scope, beat())
        assert len(broker.writers) == before + 1


async def test_a_broker_that_is_alone_is_asked_once_where_groups_are() -> None:
    async with serve() as broker, target(broker) as opened:
        before = [r.api for r in broker.requests].count("FindCoordinator")
        async with opened.scope("case") as scope:
            await one(scope, beat())
        assert [r.api for r in broker.requests].count("FindCoordinator") == before
