"""A history: what is kept of a request, and what is passed on instead."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from fencepost.conformance.serve.broker_history import (
    CONTROL,
    History,
    HistoryFileError,
    KeptBody,
    RecordedExchange,
    appending,
)
from fencepost.conformance.wire.codec import RequestHeader
from fencepost.conformance.wire.record_batches import batch_of
from fencepost.model.messages.messages import HeartbeatRequest, HeartbeatResponse

BEAT = {"groupId": "g", "generationId": 1, "memberId": "m", "groupInstanceId": "i"}


def header(number: int = 1, client_id: str = "c", version: int = 4) -> RequestHeader:
    return RequestHeader(12, version, number, client_id, 0)


def received(history: History, connection: str = "one", number: int = 1) -> RecordedExchange:
    exchange = history.receive(1, connection, "Heartbeat", header(number))
    assert exchange is not None
    exchange.request_body = KeptBody.of(BEAT)
    return exchange


def test_a_request_and_its_answer_are_bodies_and_messages() -> None:
    history = History()
    exchange = received(history)
    assert dict(exchange.request_body or {}) == BEAT
    assert (exchange.answer_body, exchange.answer) == (None, None)
    history.answer(exchange, {"throttleTimeMs": 0, "errorCode": 82})
    assert isinstance(exchange.request, HeartbeatRequest)
    assert exchange.request.group_instance_id == "i"
    assert isinstance(exchange.answer, HeartbeatResponse)
    assert exchange.answer.error_code == 82
    assert exchange.answered_ms is not None
    assert exchange.at_ms <= exchange.answered_ms <= history.now_ms()


def test_a_version_that_the_model_lacks_has_bodies_only() -> None:
    exchange = History().receive(1, "one", "OffsetCommit", header(version=11))
    assert exchange is not None
    exchange.request_body = KeptBody.of({"groupId": "g"})
    exchange.answer_body = KeptBody.of({"topics": []})
    assert (exchange.request, exchange.answer) == (None, None)
    assert exchange.answer_body == {"topics": []}


def test_records_are_kept_as_numbers_wherever_they_are() -> None:
    records = base64.b64encode(batch_of([b"a", b"b"])).decode()
    body = {"responses": [{"partitions": [{"records": records}, {"records": None}]}]}
    first, second = json.loads(KeptBody.of(body).text)["responses"][0]["partitions"]
    assert (first["records"]["count"], second["records"]) == (2, None)


def test_the_control_is_no_part_of_it() -> None:
    history = History()
    history.opened("own", 1)
    assert history.receive(1, "own", "ApiVersions", header(client_id=CONTROL)) is None
    assert (history.exchanges, history.connections) == ([], {})


def test_what_is_over_is_passed_on_and_nothing_is_kept() -> None:
    lines: list[bytes] = []
    history = History(sink=lines.append)
    history.opened("one", 1)
    history.answer(received(history), {"errorCode": 0})
    received(history, number=2)  # gets no answer: a request without one, and then
    received(history, number=3)  # the end of the connection
    assert len(lines) == 2
    history.closed("one", by_client=True)
    rows = [json.loads(line) for line in lines]
    assert [row["correlation_id"] for row in rows] == [1, 2, 3]
    assert [row["answered_ms"] is None for row in rows] == [False, True, True]
    assert rows[0]["request"] == BEAT
    assert rows[0]["answer"] == {"errorCode": 0}
    assert "answer" not in rows[1]
    assert (history.exchanges, history.connections, history._open) == ([], {}, {})


def test_a_file_is_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "history"
    for line in (b"one\n", b"two\n"):
        with appending(path) as write:
            write(line)
    assert path.read_bytes() == b"one\ntwo\n"
    with pytest.raises(HistoryFileError, match="can't be written"), appending(tmp_path):
        pass
