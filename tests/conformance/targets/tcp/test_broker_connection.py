from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from support.tcp.liars import (
    HANG_UP,
    PARK,
    Broker,
    Handler,
    Script,
    answer,
    closing,
    framed,
    raw,
    saying,
    serve,
)

from fencepost.conformance.targets.tcp.broker_connection import (
    Connection,
    Door,
    Ended,
    Event,
    Reply,
    Stray,
    ask,
)
from fencepost.conformance.targets.tcp.security import Address
from fencepost.conformance.wire.codec import RequestFrame, encode_request

LONG_S = 30.0
"""Never waited out: what is waited for comes."""

BEAT: dict[str, Any] = {"groupId": "g", "generationId": 1, "memberId": "m", "groupInstanceId": None}


@asynccontextmanager
async def connected(
    broker: Broker, max_frame: int = 1000
) -> AsyncIterator[tuple[Connection, asyncio.Queue[Event]]]:
    events: asyncio.Queue[Event] = asyncio.Queue()
    connection = await Connection.open(
        "127.0.0.1", broker.port, events.put_nowait, timeout_s=LONG_S, max_frame=max_frame
    )
    with contextlib.closing(connection):
        yield connection, events


def beat(connection: Connection, request_id: str = "r1") -> None:
    connection.send(
        request_id, "Heartbeat", 3, lambda i: encode_request("Heartbeat", 3, i, "c", BEAT)
    )


async def event_of(script: Script) -> Event:
    async with serve(script) as broker, connected(broker) as (connection, events):
        beat(connection)
        return await events.get()


async def test_an_answer_is_matched_to_its_request() -> None:
    async with serve() as broker, connected(broker) as (connection, events):
        for request_id in ("r1", "r2"):
            beat(connection, request_id)
            assert connection.pending is not None
            event = await events.get()
            assert isinstance(event, Reply)
            assert event.request.id == request_id
            assert event.decoded.body == {"throttleTimeMs": 0, "errorCode": 25}
            assert event.decoded.findings == ()
            assert connection.pending is None
        assert [r.correlation_id for r in broker.requests] == [1, 2]


async def test_a_second_open_request_is_refused() -> None:
    async with serve(lambda *_: PARK) as broker, connected(broker) as (connection, _):
        beat(connection)
        with pytest.raises(RuntimeError, match="r1 is open"):
            beat(connection, "r2")


async def test_a_wrong_correlation_id_is_a_finding() -> None:
    event = await event_of(
        lambda _, r: answer(
            RequestFrame(r.api, r.version, r.correlation_id + 7, r.client_id, r.body),
            {"errorCode": 0},
        )
    )
    assert isinstance(event, Reply)
    assert event.decoded.body == {"throttleTimeMs": 0, "errorCode": 0}
    assert event.decoded.findings == ("The answer has the correlation id 8, its request had 1.",)


async def test_a_hang_up_ends_the_open_request() -> None:
    event = await event_of(lambda *_: HANG_UP)
    assert isinstance(event, Ended)
    assert event.request is not None
    assert event.request.id == "r1"
    assert event.reason == "The broker closed the connection."


async def test_a_hang_up_within_a_frame_says_so() -> None:
    def script(broker: Broker, request: RequestFrame) -> bytes:
        whole = answer(request, {"errorCode": 0})
        asyncio.get_running_loop().call_soon(broker.writers[0].close)
        return whole[:7]

    event = await event_of(script)
    assert isinstance(event, Ended)
    assert "7 bytes into a frame" in event.reason


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", 0x48545450),
        (b"\xff\xff\xff\xff", -1),
        (b"\x00\x00\x03\xe9", 1001),
    ],
)
async def test_a_frame_of_a_size_that_cannot_be_ends_the_connection(data: bytes, size: int) -> None:
    async with raw(saying(data)) as broker, connected(broker) as (connection, events):
        beat(connection)
        event = await events.get()
        assert isinstance(event, Ended)
        assert f"a frame of {size} bytes" in event.reason
        assert connection.is_ended


async def test_garbage_is_an_answer_with_findings() -> None:
    event = await event_of(lambda *_: framed(b"\xde\xad\xbe\xef\x00"))
    assert isinstance(event, Reply)
    assert event.decoded.body is None
    assert len(event.decoded.findings) == 2  # unreadable, and another correlation id


async def test_an_empty_frame_is_garbage_too() -> None:
    event = await event_of(lambda *_: framed(b""))
    assert isinstance(event, Reply)
    assert event.decoded.body is None


async def test_what_nobody_asked_for_is_stray() -> None:
    def script(_: Broker, request: RequestFrame) -> bytes:
        return answer(request, {"errorCode": 0}) * 2

    async with serve(script) as broker, connected(broker) as (connection, events):
        beat(connection)
        assert isinstance(await events.get(), Reply)
        assert isinstance(await events.get(), Stray)


async def test_an_answer_in_pieces_is_one_answer() -> None:
    async def handle(_: Broker, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        for byte in framed(b"\x00\x00\x00\x01" + bytes(6)):
            writer.write(bytes([byte]))
            await writer.drain()
        await reader.read()

    async with raw(handle) as broker, connected(broker) as (connection, events):
        beat(connection)
        event = await events.get()
        assert isinstance(event, Reply)
        assert event.decoded.body == {"throttleTimeMs": 0, "errorCode": 0}


async def test_after_its_end_a_request_ends_at_once() -> None:
    async with raw(closing) as broker, connected(broker) as (connection, events):
        assert isinstance(await events.get(), Ended)
        beat(connection)
        event = await events.get()
        assert isinstance(event, Ended)
        assert event.request is not None


async def test_closing_gives_back_what_was_open_and_no_event() -> None:
    async with serve(lambda *_: PARK) as broker, connected(broker) as (connection, events):
        beat(connection)
        await broker.got.wait()
        request = connection.close()
        assert request is not None
        assert request.id == "r1"
        await asyncio.sleep(0)
        assert events.empty()


async def test_nobody_there_is_an_os_error() -> None:
    async with raw(closing) as broker:
        port = broker.port
    with pytest.raises(OSError, match="Connect"):
        await Connection.open("127.0.0.1", port, lambda _: None, timeout_s=LONG_S)


async def test_silence_has_its_deadline() -> None:
    async with serve(lambda *_: PARK) as broker:
        with pytest.raises(TimeoutError):
            await ask(
                Door(Address("127.0.0.1", broker.port), "localhost"),
                "Heartbeat",
                3,
                BEAT,
                timeout_s=0.05,
            )


@pytest.mark.parametrize("handle", [closing, saying(b"x"), saying(b"HTTP/1.1 400\r\n")])
async def test_a_question_to_no_broker_has_an_end(handle: Handler) -> None:
    async with raw(handle) as broker:
        event = await ask(
            Door(Address("127.0.0.1", broker.port), "localhost"),
            "Heartbeat",
            3,
            BEAT,
            timeout_s=LONG_S,
        )
    assert isinstance(event, Ended)
