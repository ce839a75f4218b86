from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from conformance.liars import (
    HANG_UP,
    PARK,
    Broker,
    Handler,
    Script,
    answer,
    closing,
    framed,
    hanging,
    honest,
    raw,
    saying,
    serve,
)

from fencepost.conformance.address import Address, AddressError, parse_address
from fencepost.conformance.admin import Deadlines
from fencepost.conformance.renaming import Names
from fencepost.conformance.target import TargetUnavailableError
from fencepost.conformance.tcp import TcpTarget
from fencepost.conformance.tcp_scope import TcpScope
from fencepost.conformance.wire import API_KEYS, RequestFrame
from fencepost.model.coordinator import (
    CONFIG_DEFAULTS,
    Answer,
    AsyncCoordinator,
    CoordinatorFailure,
    Send,
    UnsupportedError,
)
from fencepost.model.messages import APIS

LONG_MS = 30_000
"""Never waited out: what is waited for comes."""

SHORT = Deadlines(connect_s=5, answer_s=0.1, coordinator_s=0.2, probe_s=0.1, cleanup_s=0.2)
PATIENT = Deadlines(connect_s=30, answer_s=30, coordinator_s=30, probe_s=30, cleanup_s=30)
BEAT: dict[str, Any] = {"groupId": "g", "generationId": 1, "memberId": "m", "groupInstanceId": None}
OK = {"errorCode": 0}


def target(broker: Broker, **options: Any) -> TcpTarget:
    return TcpTarget(broker.address, **{"deadlines": PATIENT, "probe": False, **options})


@asynccontextmanager
async def scoped(script: Script = honest, **options: Any) -> AsyncIterator[tuple[TcpScope, Broker]]:
    async with (
        serve(script) as broker,
        target(broker, **options) as opened,
        opened.scope("case") as scope,
    ):
        assert isinstance(scope, TcpScope)
        yield scope, broker


def send(api: str, version: int, body: Mapping[str, Any], rid: str = "r1", on: str = "c1") -> Send:
    return Send(rid, on, "app", api, version, body)


def beat(rid: str = "r1", on: str = "c1", group: str = "g") -> Send:
    return send("Heartbeat", 3, {**BEAT, "groupId": group}, rid, on)


async def one(scope: AsyncCoordinator, request: Send) -> Answer:
    answers = await scope.send(request) or await scope.advance(LONG_MS)
    assert [a.id for a in answers] == [request.id]
    return answers[0]


def on(api: str, reply: Any) -> Script:
    """The honest broker but for one API; `reply` is bytes, or makes them of the request."""

    def script(_: Broker, request: RequestFrame) -> bytes | None:
        if request.api != api:
            return None
        return reply(request) if callable(reply) else reply  # type: ignore[no-any-return]

    return script


def advertising(rest: Script = honest, **more: tuple[int, int]) -> Script:
    """The broker of `rest`, with these APIs too, or in these versions."""
    bounds = {"Metadata": (0, 8), "FindCoordinator": (0, 3)}
    bounds |= {name: (api.lowest, api.highest) for name, api in APIS.items()}

    def script(broker: Broker, request: RequestFrame) -> bytes | None:
        if request.api != "ApiVersions":
            return rest(broker, request)
        rows = [
            {"apiKey": API_KEYS[name], "minVersion": low, "maxVersion": high}
            for name, (low, high) in (bounds | more).items()
        ]
        return answer(request, {"errorCode": 0, "apiKeys": rows})

    return script


# Addresses


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("tcp://localhost:9092", Address("localhost", 9092)),
        ("127.0.0.1:1", Address("127.0.0.1", 1)),
        ("tcp://[::1]:65535", Address("::1", 65535)),
    ],
)
def test_an_address_is_read(text: str, address: Address) -> None:
    assert parse_address(text) == address
    assert parse_address(str(address)) == address


@pytest.mark.parametrize(
    "text", ["", "host", "tcp://:9092", "host:0", "host:65536", "host:x", "::1:9092", "h:-1", "h:²"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(AddressError, match=r"tcp://\[::1\]:9092"):
        parse_address(text)


async def test_a_host_elsewhere_needs_remote() -> None:
    with pytest.raises(AddressError, match="--remote"):
        async with TcpTarget("tcp://192.0.2.1:9092"):
            pass


async def test_a_coordinator_elsewhere_needs_it_too() -> None:
    away = {"nodeId": 1, "host": "192.0.2.1", "port": 9092, "errorCode": 0}
    async with serve(on("FindCoordinator", lambda r: answer(r, _found(r, away)))) as broker:
        with pytest.raises(AddressError, match="--remote"):
            async with target(broker):
                pass


def _found(request: RequestFrame, row: Mapping[str, Any]) -> dict[str, Any]:
    return {"coordinators": [row]} if request.version >= 4 else dict(row)


async def test_and_so_does_any_other_broker_of_the_cluster() -> None:
    def script(broker: Broker, request: RequestFrame) -> bytes | None:
        if request.api == "DescribeConfigs":
            return answer(request, {"results": []})
        if request.api != "Metadata":
            return None
        here = {"nodeId": 1, "host": "127.0.0.1", "port": broker.port}
        away = {"nodeId": 2, "host": "192.0.2.1", "port": 9092}
        return answer(request, {"brokers": [here, away], "topics": []})

    async with serve(advertising(script, DescribeConfigs=(1, 4))) as broker:
        with pytest.raises(AddressError, match=r"192\.0\.2\.1:9092 is not on this machine"):
            async with target(broker):
                pass


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(AddressError, match=r"group\.min\.session\.timeout\.ms"):
        TcpTarget("tcp://localhost:1", settings={"group.foo": 1})


# What is no broker


@pytest.mark.parametrize(
    ("handle", "says"),
    [
        (hanging, "did not answer ApiVersions within 0.1 s: is it a Kafka broker?"),
        (closing, "no Kafka broker"),
        (saying(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "HTTP/1.1 400"),
        (saying(framed(b"\x00" * 4 + b"garbage")), "are not ApiVersions"),
        (saying(framed(b"")), "are not ApiVersions"),
    ],
)
async def test_what_is_no_broker_is_unavailable(handle: Handler, says: str) -> None:
    async with raw(handle) as broker:
        with pytest.raises(TargetUnavailableError, match=f"127.0.0.1:{broker.port}") as caught:
            async with target(broker, deadlines=SHORT):
                pass
    assert says in str(caught.value)


async def test_a_port_where_nobody_listens_is_unavailable() -> None:
    async with raw(closing) as broker:
        pass
    with pytest.raises(TargetUnavailableError, match="start the broker, or correct the address"):
        async with target(broker):
            pass


@pytest.mark.parametrize("reply", [PARK, HANG_UP, framed(b"xx")])
async def test_a_broker_that_names_no_coordinator_is_unavailable(reply: bytes) -> None:
    async with serve(on("FindCoordinator", reply)) as broker:
        with pytest.raises(TargetUnavailableError, match="named no coordinator"):
            async with target(broker, deadlines=SHORT):
                pass


async def test_a_broker_that_forbids_it_is_unavailable_at_once() -> None:
    row = {"host": "", "port": -1, "errorCode": 30}
    async with serve(on("FindCoordinator", lambda r: answer(r, _found(r, row)))) as broker:
        with pytest.raises(TargetUnavailableError, match="GROUP_AUTHORIZATION_FAILED"):
            async with target(broker):
                pass
        assert [r.api for r in broker.requests].count("FindCoordinator") == 1


# Entry


@pytest.mark.parametrize("refusal", ["hang up", "error 35", "garbage"])
async def test_api_versions_falls_back_to_version_0(refusal: str) -> None:
    def script(_: Broker, request: RequestFrame) -> bytes | None:
        if request.api != "ApiVersions" or request.version == 0:
            return None
        if refusal == "hang up":
            return HANG_UP
        if refusal == "garbage":
            return framed(request.correlation_id.to_bytes(4) + b"\x00\x23\x01\x00")
        rows = [{"apiKey": 18, "minVersion": 0, "maxVersion": 0}]
        return answer(request, {"errorCode": 35, "apiKeys": rows}, version=0)

    async with serve(script) as broker, target(broker) as opened:
        assert opened.advertised["JoinGroup"] == (0, 9)


async def test_a_version_that_means_offsets_in_zookeeper_is_not_asked_for() -> None:
    async with serve(lambda _, __: None) as broker, target(broker) as opened:
        assert opened.admin.advertised["OffsetCommit"][0] == 0
        lowest = {api: bounds[0] for api, bounds in opened.describe().apis.items()}
    assert (lowest["OffsetCommit"], lowest["OffsetFetch"], lowest["JoinGroup"]) == (1, 1, 0)


async def test_it_asks_until_there_is_a_coordinator() -> None:
    codes = iter([15, 14, 16])

    def reply(request: RequestFrame) -> bytes | None:
        code = next(codes, None)
        row = {"host": "", "port": -1, "errorCode": code}
        return None if code is None else answer(request, _found(request, row))

    async with serve(on("FindCoordinator", reply)) as broker, target(broker):
        assert [r.api for r in broker.requests].count("FindCoordinator") == 4


async def test_groups_are_asked_about_where_they_are() -> None:
    async with serve() as other:
        row = {"nodeId": 2, "host": "127.0.0.1", "port": other.port, "errorCode": 0}
        script = on("FindCoordinator", lambda r: answer(r, _found(r, row)))
        async with scoped(script) as (scope, broker):
            await one(scope, beat())
            assert "Heartbeat" in [r.api for r in other.requests]
            assert "Heartbeat" not in [r.api for r in broker.requests]


async def test_settings_are_the_options_then_the_brokers_then_the_defaults() -> None:
    told = {
        "group.max.size": "2147483647",
        "group.min.session.timeout.ms": "100",
        "group.initial.rebalance.delay.ms": "0",
        "group.max.session.timeout.ms": None,
        "group.something.else": "7",
    }

    def rest(_: Broker, request: RequestFrame) -> bytes | None:
        if request.api != "DescribeConfigs":
            return None
        configs = [{"name": n, "value": v} for n, v in told.items()]
        row = {"errorCode": 0, "resourceType": 4, "resourceName": "1", "configs": configs}
        return answer(request, {"results": [row]})

    options = {"group.min.session.timeout.ms": 4000}
    async with (
        serve(advertising(rest, DescribeConfigs=(1, 4))) as broker,
        target(broker, settings=options) as opened,
        opened.scope("case") as scope,
    ):
        assert (await scope.reset({"group.max.size": 3})).config == {
            "group.initial.rebalance.delay.ms": 0,
            "group.min.session.timeout.ms": 4000,
            "group.max.session.timeout.ms": 1_800_000,
            "group.max.size": None,
        }
        assert opened.settings_source == {
            "group.initial.rebalance.delay.ms": "describe-configs",
            "group.min.session.timeout.ms": "option",
            "group.max.session.timeout.ms": "default",
            "group.max.size": "describe-configs",
        }


async def test_brokers_that_differ_in_a_setting_are_no_target() -> None:
    key = "group.min.session.timeout.ms"
    values = {"1": "100", "2": "6000"}

    def rest(broker: Broker, request: RequestFrame) -> bytes | None:
        match request.api:
            case "Metadata" if not request.body["topics"]:
                at = {"host": "127.0.0.1", "port": broker.port}
                nodes = [{"nodeId": 1, **at}, {"nodeId": 2, **at}]
                return answer(request, {"brokers": nodes, "topics": []})
            case "DescribeConfigs":
                (asked,) = request.body["resources"]
                configs = [{"name": key, "value": values[asked["resourceName"]]}]
                row = {"errorCode": 0, **asked, "configs": configs}
                row.pop("configurationKeys")
                return answer(request, {"results": [row]})
            case _:
                return None

    async with serve(advertising(rest, DescribeConfigs=(1, 4))) as broker:
        with pytest.raises(TargetUnavailableError, match="100 at broker 1 and 6000 at 2"):
            async with target(broker):
                pass
        async with target(broker, settings={key: 6000}) as opened:
            assert opened.settings[key] == 6000
        values["2"] = "100"
        async with target(broker) as opened:
            assert opened.settings[key] == 100


async def test_a_broker_that_finds_no_two_settings_at_once_is_asked_for_all() -> None:
    key = "group.min.session.timeout.ms"

    def forgetful(_: Broker, request: RequestFrame) -> bytes | None:
        if request.api != "DescribeConfigs":
            return None
        (asked,) = request.body["resources"]
        found = [{"name": key, "value": "100"}] if asked["configurationKeys"] is None else []
        row = {"errorCode": 0, "resourceType": 4, "resourceName": "1", "configs": found}
        return answer(request, {"results": [row]})

    async with (
        serve(advertising(forgetful, DescribeConfigs=(1, 4))) as broker,
        target(broker) as opened,
    ):
        assert opened.settings[key] == 100


async def test_a_broker_that_tells_no_settings_has_the_defaults() -> None:
    async with serve() as broker, target(broker) as opened:
        assert opened.settings == CONFIG_DEFAULTS
        assert set(opened.settings_source.values()) == {"default"}


async def test_what_is_advertised_but_broken_is_found() -> None:
    def script(_: Broker, request: RequestFrame) -> bytes | None:
        match request.api, request.version:
            case "JoinGroup", 7 | 9:
                return HANG_UP
            case "LeaveGroup", 3:
                return answer(request, OK, version=2)
            case "Heartbeat", 4:
                return framed(answer(request, OK)[4:] + b"more")
            case ("JoinGroup", 5) | ("SyncGroup", 5):
                return PARK
            case _:
                return None

    async with (
        serve(script) as broker,
        target(broker, probe=True, deadlines=Deadlines(answer_s=2, probe_s=2)) as opened,
        opened.scope("case") as scope,
    ):
        apis = (await scope.hello()).apis
        assert apis["JoinGroup"] == (0, 6)
        assert apis["LeaveGroup"] == (0, 2)
        assert apis["Heartbeat"] == (0, 3)
        assert apis["SyncGroup"] == (0, 4)
        assert opened.advertised["JoinGroup"] == (0, 9)
        assert set(opened.broken) == {"JoinGroup", "LeaveGroup", "Heartbeat", "SyncGroup"}
        assert set(opened.broken["JoinGroup"]) == {7, 9}
        assert "4 bytes are left over" in opened.broken["Heartbeat"][4]


# A scope


async def test_what_it_says_of_itself() -> None:
    async with scoped(name="mine", implementation="kafka", version="4.1.1") as (scope, _):
        hello = await scope.hello()
        assert (hello.implementation, hello.version, hello.clock) == ("kafka", "4.1.1", "real")
        assert hello.features == {"disconnect"}
        with pytest.raises(UnsupportedError, match="restart"):
            await scope.restart()


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
        assert "no request was open" in told.findings[0]
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


async def test_one_open_request_for_each_connection() -> None:
    async with scoped(on("Heartbeat", PARK)) as (scope, _):
        await scope.send(beat("r1"))
        with pytest.raises(CoordinatorFailure, match="has an open request"):
            await scope.send(beat("r2"))


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


async def test_a_topic_that_cannot_be_made_is_a_known_problem() -> None:
    def rest(_: Broker, request: RequestFrame) -> bytes | None:
        rows = [{"name": "t", "errorCode": 29}]
        return answer(request, {"topics": rows}) if request.api == "CreateTopics" else None

    async with serve(advertising(rest, **CLEANS)) as broker, target(broker) as opened:
        assert opened.topic_problem is not None
        assert "TOPIC_AUTHORIZATION_FAILED" in opened.topic_problem


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
            return answer(request, _found(request, row))

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
