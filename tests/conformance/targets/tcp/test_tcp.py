"""What a scope of a target over TCP sends, and makes of what comes back."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from typing import Any

import pytest
from support.tcp.liars import HANG_UP, PARK, Broker, answer, framed, serve
from support.tcp.tcp_scripts import BEAT, LONG_MS, OK, beat, found, on, one, scoped, send, target

from fencepost.conformance.cases.script import Script
from fencepost.conformance.targets.tcp import tcp_coordinator as scope_module
from fencepost.conformance.targets.tcp.cluster_admin import Deadlines
from fencepost.conformance.targets.tcp.namespacing import Names
from fencepost.conformance.targets.tcp.tcp import Failovers
from fencepost.conformance.targets.tcp.tcp_coordinator import TcpScope
from fencepost.conformance.wire.codec import RequestFrame
from fencepost.model.coordinator import CoordinatorFailure, Send, UnsupportedError
from fencepost.model.messages.messages import JoinGroupRequest
from fencepost.model.plans.steps import Request


async def test_what_it_says_of_itself() -> None:
    async with scoped(name="mine", implementation="kafka", version="4.1.1") as (scope, _):
        hello = await scope.hello()
        assert (hello.implementation, hello.version, hello.clock) == ("kafka", "4.1.1", "real")
        assert hello.features == {"disconnect", "missing-topics"}
        with pytest.raises(UnsupportedError, match="restart"):
            await scope.restart()
        with pytest.raises(UnsupportedError, match="move-coordinator"):
            await scope.move()


async def parked(
    scope: TcpScope, broker: Broker, rid: str, name: str
) -> tuple[RequestFrame, asyncio.StreamWriter]:
    """A join that the broker has got and does not answer, and how to answer it."""
    broker.got.clear()
    assert await scope.send(join(rid, name)) == []
    await broker.got.wait()
    return broker.requests[-1], broker.writers[-1]


def join(rid: str, name: str) -> Send:
    script = Script(delayed=False)
    script.join(name, member_id="")
    (step,) = (step for step in script.steps if isinstance(step, Request))
    fields = {**step.fields, "session_timeout_ms": 6000, "rebalance_timeout_ms": 6000}
    return send("JoinGroup", 5, JoinGroupRequest(**fields).to_body(5), rid, name)


async def test_a_coordinator_that_resigns_still_answers() -> None:
    """One join is answered while it is the coordinator, one when it is none any more."""

    async def resign() -> None:
        for (request, writer), code in zip(waiting, (0, 16), strict=True):
            writer.write(answer(request, {"errorCode": code, "memberId": "m"}))

    async def loaded() -> None:
        return None

    failovers = Failovers(resign, loaded, 0.0, keeps_connections=True)
    async with scoped(on("JoinGroup", PARK), failovers=failovers) as (scope, broker):
        waiting = [
            await parked(scope, broker, rid, name) for rid, name in (("r1", "a"), ("r2", "b"))
        ]
        before = time.monotonic()
        dropped = await scope.restart()
        assert dropped.outage is not None
        began, ended = dropped.outage
        assert before <= began <= ended
        assert [(a.id, a.body and a.body["errorCode"]) for a in dropped.answers] == [("r1", 0)]
        assert [(a.id, a.body and a.body["errorCode"]) for a in dropped.late] == [("r2", 16)]
        assert dropped.dropped == ()


async def test_what_a_coordinator_that_resigns_keeps_to_itself_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def nothing() -> None:
        return None

    monkeypatch.setattr("fencepost.conformance.targets.tcp.tcp_coordinator._RESIGNING_S", 0.01)
    failovers = Failovers(nothing, nothing, 0.0, keeps_connections=True)
    async with scoped(on("JoinGroup", PARK), failovers=failovers) as (scope, broker):
        await parked(scope, broker, "r1", "a")
        dropped = await scope.restart()
        assert (dropped.answers, dropped.late, dropped.dropped) == ((), (), ("r1",))


async def test_what_waits_at_a_move_may_be_answered_later(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing() -> None:
        return None

    monkeypatch.setattr("fencepost.conformance.targets.tcp.tcp_coordinator._RESIGNING_S", 0.01)
    failovers = Failovers(nothing, nothing, 0.0, keeps_connections=True)
    async with scoped(on("JoinGroup", PARK), failovers=failovers) as (scope, broker):
        request, writer = await parked(scope, broker, "r1", "a")
        moved = await scope.move()
        assert (moved.answers, moved.late, moved.dropped) == ((), (), ())
        writer.write(answer(request, {"errorCode": 16, "memberId": "m"}))
        (late,) = await scope.advance(5000)
        assert (late.id, late.body and late.body["errorCode"]) == ("r1", 16)


async def test_groups_have_names_of_their_own() -> None:
    async with scoped() as (scope, broker):
        await one(scope, beat("r1", group="g"))
        await one(scope, beat("r2", group=""))
        await scope.reset({})
        await one(scope, beat("r1", group="g"))
        first, empty, second = [r.body["groupId"] for r in broker.requests if r.api == "Heartbeat"]
        assert first.startswith("fencepost-")
        assert first.endswith("-g")
        assert empty == ""
        assert second.endswith("-g")
        assert second != first


async def test_answers_speak_of_the_case_s_names() -> None:
    def script(_: Broker, request: RequestFrame) -> bytes | None:
        if request.api == "DescribeGroups":
            name = request.body["groups"][0]
            row = {"errorCode": 69, "errorMessage": f"Group {name} not found.", "groupId": name}
            return answer(request, {"groups": [row]})
        if request.api == "ListGroups":
            ours = {"groupId": f"{names[0]}g", "protocolType": ""}
            rows = [ours, {"groupId": "else", "protocolType": ""}, {**ours, "groupId": ""}]
            return answer(request, {"errorCode": 0, "groups": rows})
        return None

    names: list[str] = []
    async with scoped(script) as (scope, broker):
        body = {"groups": ["g"], "includeAuthorizedOperations": False}
        described = await one(scope, send("DescribeGroups", 6, body))
        assert described.body is not None
        assert described.body["groups"][0]["groupId"] == "g"
        assert described.body["groups"][0]["errorMessage"] == "Group g not found."
        names.append(broker.requests[-1].body["groups"][0].removesuffix("g"))
        listed = await one(scope, send("ListGroups", 0, {}, "r2"))
        assert listed.body is not None
        assert listed.body["groups"] == [{"groupId": "g", "protocolType": ""}]


async def test_topics_are_one_of_ours_or_missing() -> None:
    names = Names("p-", "run")
    rows = [{"name": "t"}, {"name": "missing-x"}]
    asked = names.request("OffsetCommit", {"groupId": "g", "topics": rows})
    assert asked == {"groupId": "p-g", "topics": [{"name": "run"}, {"name": "run-missing-x"}]}
    assert names.answer("OffsetCommit", {"topics": asked["topics"]}) == {"topics": rows}
    groups = {"groups": [{"groupId": "g", "topics": [{"name": "t"}]}, {"groupId": "h"}]}
    asked = names.request("OffsetFetch", groups)
    assert asked["groups"][0] == {"groupId": "p-g", "topics": [{"name": "run"}]}
    assert names.answer("OffsetFetch", asked) == groups
    with pytest.raises(UnsupportedError, match="two topics"):
        names.request("OffsetCommit", {"topics": [{"name": "t"}, {"name": "u"}]})


async def test_silence_is_no_answer() -> None:
    async with scoped(on("Heartbeat", PARK)) as (scope, _):
        assert await scope.send(beat()) == []
        assert await scope.advance(0) == []
        assert await scope.advance(20) == []
        assert scope.now_ms() >= 20


async def test_waiting_ends_with_what_comes_in() -> None:
    async with scoped(on("Heartbeat", PARK)) as (scope, broker):
        await scope.send(beat("r1", "c1"))
        await scope.send(beat("r2", "c2"))
        while [r.api for r in broker.requests].count("Heartbeat") < 2:
            broker.got.clear()
            await broker.got.wait()
        request = next(r for r in broker.requests if r.api == "Heartbeat")
        for writer in broker.writers:
            if not writer.is_closing():
                writer.write(answer(request, OK))
        first = await scope.advance(LONG_MS)
        answers = first if len(first) == 2 else [*first, *await scope.advance(LONG_MS)]
        assert {a.id for a in answers} == {"r1", "r2"}
        assert [a.at_ms for a in answers] == sorted(a.at_ms for a in answers)


@pytest.mark.parametrize(
    ("reply", "body", "says"),
    [
        (HANG_UP, None, "closed the connection"),
        (framed(b"\x00\x00\x00\x01garbage is what it is"), {}, "left over"),
        (framed(b"\x00\x00\x00\x01xx"), None, "are not Heartbeat version 3"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", None, "a frame of"),
        (lambda r: answer(r, {"errorCode": 999}), {}, "999"),
        (lambda r: framed(answer(r, OK)[4:] + b"z"), {}, "1 bytes are left over"),
        (lambda r: framed(b"\x00\x00\x00\x63" + answer(r, OK)[8:]), {}, "correlation id 99"),
    ],
)
async def test_a_lie_is_a_finding(reply: Any, body: Any, says: str) -> None:
    async with scoped(on("Heartbeat", reply)) as (scope, _):
        told = await one(scope, beat())
        assert says in " ".join(told.findings)
        assert (told.body is None) == (body is None)


async def test_an_illegal_null_is_a_finding() -> None:
    def null(request: RequestFrame) -> bytes:
        return framed(answer(request, {"errorCode": 69})[4:-4] + b"\xff" * 4)

    body = {"groupId": "g", "generationId": 1, "memberId": "m", "assignments": []}
    async with scoped(on("SyncGroup", null)) as (scope, _):
        told = await one(scope, send("SyncGroup", 0, body))
        assert told.body == {"errorCode": 69, "assignment": ""}
        assert "null" in told.findings[0]


async def test_a_connection_that_ended_is_opened_again() -> None:
    replies = iter([HANG_UP])
    async with scoped(on("Heartbeat", lambda _: next(replies, None))) as (scope, _):
        assert (await one(scope, beat("r1"))).body is None
        assert (await one(scope, beat("r2"))).body is not None


async def test_what_comes_unasked_is_told_with_the_next_answer() -> None:
    codes = iter([2])
    reply = lambda r: answer(r, OK) * next(codes, 1)  # noqa: E731
    async with scoped(on("Heartbeat", reply)) as (scope, _):
        await one(scope, beat("r1"))
        while not scope.strays:
            await scope.advance(1)
        told = await one(scope, beat("r2"))
        assert "no request was open: a second answer to Heartbeat v3" in told.findings[0]
        assert re.search(r"\(after \d+ ms; it begins with [0-9a-f]{8,}\)", told.findings[0])
        assert (await one(scope, beat("r3"))).findings == ()


async def test_not_coordinator_leads_to_another_look() -> None:
    replies = iter([16])
    script = on("Heartbeat", lambda r: answer(r, {"errorCode": next(replies, 25)}))
    async with scoped(script) as (scope, broker):
        await one(scope, beat("r1"))
        before = [r.api for r in broker.requests].count("FindCoordinator")
        assert (await one(scope, beat("r2"))).body == {"throttleTimeMs": 0, "errorCode": 25}
        await one(scope, beat("r3"))
        assert [r.api for r in broker.requests].count("FindCoordinator") == before + 1


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_a_broker_that_is_alone_and_still_named_has_sent_nobody_away(
    elsewhere: bool,
) -> None:
    later = {"nodeId": 2, "host": "127.0.0.1", "port": 9, "errorCode": 0}
    away: list[bool] = []

    def script(_: Broker, request: RequestFrame) -> bytes | None:
        match request.api:
            case "Heartbeat":
                away.append(elsewhere)
                return answer(request, {"errorCode": 16})
            case "FindCoordinator" if any(away):
                return answer(request, found(request, later))
            case _:
                return None

    async with scoped(script) as (scope, _):
        await one(scope, beat())
        assert await scope.stays() is not elsewhere


async def test_a_broker_that_is_alone_is_found_by_any_group_where_a_case_names_none() -> None:
    async with scoped(on("Heartbeat", lambda r: answer(r, {"errorCode": 16}))) as (scope, broker):
        await one(scope, beat(group=""))
        assert await scope.stays()
        assert [r.api for r in broker.requests].count("FindCoordinator") == 2


async def test_who_coordinates_is_looked_up_for_questions_about_all_groups_too() -> None:
    """A list of groups was asked of any broker after a failover, and said nothing of the group."""
    async with scoped(on("Heartbeat", lambda r: answer(r, {"errorCode": 16}))) as (scope, broker):
        await one(scope, beat("r1"))
        before = [r.api for r in broker.requests].count("FindCoordinator")
        await one(scope, send("ListGroups", 0, {}, "r2"))
        assert [r.api for r in broker.requests].count("FindCoordinator") == before + 1


async def test_a_broker_that_is_gone_is_a_failure_of_it() -> None:
    deadlines = Deadlines(connect_s=0.1, answer_s=0.1, coordinator_s=0.2, cleanup_s=0.1)
    async with contextlib.AsyncExitStack() as stack:
        server = contextlib.AsyncExitStack()
        broker = await server.enter_async_context(serve())
        opened = await stack.enter_async_context(target(broker, deadlines=deadlines))
        scope = await stack.enter_async_context(opened.scope("case"))
        await server.aclose()
        with pytest.raises(CoordinatorFailure, match="can't be reached"):
            await scope.send(beat())


async def test_a_dropped_connection_names_what_was_open() -> None:
    async with scoped(on("Heartbeat", PARK)) as (scope, _):
        await scope.send(beat())
        assert (await scope.disconnect("c1")).dropped == ("r1",)
        assert (await scope.disconnect("c1")).dropped == ()
        assert (await scope.disconnect("c9")).dropped == ()


async def test_a_reset_drops_what_was_open() -> None:
    async with scoped(on("Heartbeat", PARK)) as (scope, _):
        await scope.send(beat())
        assert (await scope.reset({})).dropped == ("r1",)
        with pytest.raises(UnsupportedError, match=r"group\.foo"):
            await scope.reset({"group.foo": 1})


async def test_what_cannot_be_sent_is_refused() -> None:
    async with scoped() as (scope, broker):
        with pytest.raises(CoordinatorFailure, match="groupInstanceId"):
            await scope.send(send("Heartbeat", 2, {**BEAT, "groupInstanceId": "A"}))
        with pytest.raises(UnsupportedError, match="Heartbeat version 5"):
            await scope.send(send("Heartbeat", 5, BEAT))
        with pytest.raises(UnsupportedError, match="LeaveGroup/two-list"):
            await scope.send(send("LeaveGroup/two-list", 0, {}))
        assert "Heartbeat" not in [r.api for r in broker.requests]
        await one(scope, beat())
        with pytest.raises(CoordinatorFailure, match="used before"):
            await scope.send(beat())


async def test_who_asks_for_hours_is_not_remembered_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scope_module, "_MOST_IDS", 3)
    async with scoped() as (scope, _):
        for number in range(1, 5):
            await one(scope, beat(f"r{number}"))
        with pytest.raises(CoordinatorFailure, match="used before"):
            await scope.send(beat("r2"))
        await one(scope, beat("r1"))


async def test_one_open_request_for_each_connection() -> None:
    async with scoped(on("Heartbeat", PARK)) as (scope, _):
        await scope.send(beat("r1"))
        with pytest.raises(CoordinatorFailure, match="has an open request"):
            await scope.send(beat("r2"))
