"""How a target over TCP is found: its address, who answers there, what it tells of itself."""

from __future__ import annotations

import pytest
from support.tcp.liars import (
    HANG_UP,
    PARK,
    Broker,
    Handler,
    answer,
    closing,
    framed,
    hanging,
    raw,
    saying,
    serve,
)
from support.tcp.tcp_scripts import OK, SHORT, advertising, beat, found, on, one, scoped, target

from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.target_registry import TargetOptions, find_target
from fencepost.conformance.targets.tcp.cluster_admin import Deadlines
from fencepost.conformance.targets.tcp.security import Address, AddressError, parse_address
from fencepost.conformance.targets.tcp.tcp import TcpTarget
from fencepost.conformance.wire.codec import RequestFrame

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
    async with serve(on("FindCoordinator", lambda r: answer(r, found(r, away)))) as broker:
        with pytest.raises(AddressError, match="--remote"):
            async with target(broker):
                pass


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


async def test_a_coordinator_that_cant_be_reached_is_named_with_the_broker_that_could() -> None:
    async with raw(closing) as gone:
        pass
    there = {"nodeId": 1, "host": "127.0.0.1", "port": gone.port, "errorCode": 0}
    async with serve(on("FindCoordinator", lambda r: answer(r, found(r, there)))) as broker:
        with pytest.raises(TargetUnavailableError) as caught:
            async with target(broker):
                pass
    assert str(caught.value) == (
        f"FindCoordinator names 127.0.0.1:{gone.port}, which can't be reached (Connection "
        f"refused); 127.0.0.1:{broker.port} can be reached: correct the address "
        "that the broker advertises."
    )


async def test_an_address_that_stands_for_the_broker_itself_is_not_looked_for() -> None:
    """rivine names 127.0.0.1:9092, wherever it listens."""
    async with raw(closing) as gone:
        pass
    there = {"nodeId": 1, "host": "127.0.0.1", "port": gone.port, "errorCode": 0}
    named_as = Address("127.0.0.1", gone.port)
    async with serve(on("FindCoordinator", lambda r: answer(r, found(r, there)))) as broker:
        options = TargetOptions(named_as=named_as)
        async with find_target(f"tcp://127.0.0.1:{broker.port}", options) as reached:
            assert isinstance(reached, TcpTarget)
            assert reached.anchor == Address("127.0.0.1", broker.port)


async def test_a_broker_that_forbids_it_is_unavailable_at_once() -> None:
    row = {"host": "", "port": -1, "errorCode": 30}
    async with serve(on("FindCoordinator", lambda r: answer(r, found(r, row)))) as broker:
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
        return None if code is None else answer(request, found(request, row))

    async with serve(on("FindCoordinator", reply)) as broker, target(broker):
        assert [r.api for r in broker.requests].count("FindCoordinator") == 4


async def test_groups_are_asked_about_where_they_are() -> None:
    async with serve() as other:
        row = {"nodeId": 2, "host": "127.0.0.1", "port": other.port, "errorCode": 0}
        script = on("FindCoordinator", lambda r: answer(r, found(r, row)))
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
        "offsets.retention.check.interval.ms": str(10**11),
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
            "offsets.retention.check.interval.ms": None,
            "offset.metadata.max.bytes": None,
            "message.max.bytes": None,
        }
        assert opened.settings_source == {
            "group.initial.rebalance.delay.ms": "describe-configs",
            "group.min.session.timeout.ms": "option",
            "group.max.session.timeout.ms": "assumed",
            "group.max.size": "describe-configs",
            "offsets.retention.check.interval.ms": "describe-configs",
            "offset.metadata.max.bytes": "assumed",
            "message.max.bytes": "assumed",
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


async def test_each_version_is_broken_or_works_by_itself() -> None:
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
        hello = await scope.hello()
        assert hello.versions("JoinGroup") == (0, 1, 2, 3, 4, 5, 6, 8)
        assert hello.versions("LeaveGroup") == (0, 1, 2, 4, 5)
        assert hello.versions("Heartbeat") == (0, 1, 2, 3)
        assert hello.versions("SyncGroup") == (0, 1, 2, 3, 4)
        assert hello.versions("ConsumerGroupHeartbeat") == ()
        assert opened.advertised["JoinGroup"] == (0, 9)
        assert set(opened.broken) == {"JoinGroup", "LeaveGroup", "Heartbeat", "SyncGroup"}
        assert set(opened.broken["JoinGroup"]) == {7, 9}
        assert "4 bytes are left over" in opened.broken["Heartbeat"][4]
