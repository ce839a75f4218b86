"""Request logs as they lie about: rotated, gzipped, cut off, of several brokers."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from benchmarks.request_log_writer import request_log_line
from fencepost.model.messages.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    OffsetCommitRequest,
)
from fencepost.traces.audit.audit_settings import AuditSettings
from fencepost.traces.audit.log_audit import audit_log
from fencepost.traces.logs.log_dates import DatePatternError, LogDates
from fencepost.traces.logs.log_files import BROKEN_FILE, LogFileError
from fencepost.traces.logs.request_log import (
    BAD_JSON,
    NO_REQUEST,
    OTHER_API,
    OTHER_LINE,
    TEXT_FORMAT,
    TOO_LONG,
    LoggedExchange,
    RequestLog,
)

NOON = 1_795_262_400_000


def beat(at_ms: float, member_id: str = "m", took_ms: float = 1.5) -> bytes:
    body = {"groupId": "g", "generationId": 1, "memberId": member_id, "groupInstanceId": None}
    answer = {"throttleTimeMs": 0, "errorCode": 0}
    connection = "10.0.0.1:9092-10.0.0.7:51234-3"
    start = at_ms - took_ms
    return request_log_line("Heartbeat", 4, "c", connection, start, at_ms, body, answer)


def read(*paths: Path, **options: object) -> tuple[RequestLog, list[LoggedExchange]]:
    log = RequestLog(list(paths), **options)  # type: ignore[arg-type]
    return log, list(log)


def test_a_line_is_an_exchange(tmp_path: Path) -> None:
    path = tmp_path / "kafka-request.log"
    path.write_bytes(beat(NOON + 447))
    _, (exchange,) = read(path)
    assert exchange.place == "kafka-request.log:1"
    assert (exchange.broker, exchange.host, exchange.client_id) == (
        "kafka-request",
        "10.0.0.7",
        "c",
    )
    assert (exchange.at_ms, exchange.answered_ms) == (NOON + 445, NOON + 447)
    assert exchange.request == HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    assert exchange.answer == HeartbeatResponse(error_code=0)
    assert exchange.group_ids == ("g",)


def test_what_is_no_evidence_is_counted_with_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "kafka-request.log"
    whole = beat(NOON)
    other = whole.replace(b'"requestApiKey":12', b'"requestApiKey":1')
    text = b"[2026-11-21 12:00:00,000] DEBUG Completed request:RequestHeader(apiKey=X) (k)\n"
    trace = b"java.io.IOException: Broken pipe\n\tat a.b.C(D.java:1)\n"
    path.write_bytes(trace + other + text + b"\xff\xfe\n" + whole + whole[: len(whole) // 2])
    log, exchanges = read(path)
    assert [e.line for e in exchanges] == [6]
    assert dict(log.skipped.counts) == {OTHER_LINE: 3, OTHER_API: 1, TEXT_FORMAT: 1, BAD_JSON: 1}
    assert log.skipped.first[BAD_JSON] == "kafka-request.log:7"


def test_a_line_without_end_is_passed_over_in_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lengths of lines that bombs have; each read is at most a limit long."""
    path = tmp_path / "kafka-request.log.gz"
    bomb = b"x" * 3_000_000
    whole = beat(NOON + 7)
    padded = whole.replace(b'"memberId":"m"', b'"memberId":"%s"' % bomb)
    other = padded.replace(b'"requestApiKey":12', b'"requestApiKey":1')
    path.write_bytes(gzip.compress(bomb + b"\n" + whole + padded + other + bomb))
    asked: list[int] = []
    really = gzip.GzipFile.read

    def read_some(file: gzip.GzipFile, size: int | None = -1) -> bytes:
        asked.append(-1 if size is None else size)
        return really(file, size)

    monkeypatch.setattr(gzip.GzipFile, "read", read_some)
    log, exchanges = read(path, line_limit=10_000)
    assert [e.line for e in exchanges] == [2]
    assert dict(log.skipped.counts) == {TOO_LONG: 3, OTHER_API: 1}
    assert log.skipped.first[TOO_LONG] == "kafka-request.log.gz:1"
    assert log.skipped.lines == 5
    assert 0 < min(asked) <= max(asked) <= 1 << 20


def test_a_line_of_the_greatest_length_is_read(tmp_path: Path) -> None:
    path = tmp_path / "kafka-request.log"
    path.write_bytes(2 * beat(NOON))
    length = len(beat(NOON)) - 1
    assert len(read(path, line_limit=length)[1]) == 2
    assert read(path, line_limit=length - 1)[0].skipped.counts == {TOO_LONG: 2}


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b'"memberId":"m"', b'"memberId":' + b"[" * 200 + b"]" * 200, BAD_JSON),
        (b'"memberId":"m"', b'"memberId":' + b"[" * 5_000 + b"]" * 5_000, BAD_JSON),
        (b'"totalTimeMs":1.5', b'"totalTimeMs":1e300', NO_REQUEST),
        (b'"totalTimeMs":1.5', b'"totalTimeMs":-1e300', NO_REQUEST),
        (b'"totalTimeMs":1.5', b'"totalTimeMs":1e999', None),
        (b'"totalTimeMs":1.5', b'"totalTimeMs":"1"', NO_REQUEST),
        (b'"requestApiVersion":4', b'"requestApiVersion":4.5', NO_REQUEST),
        (b'"requestApiVersion":4', b'"requestApiVersion":[4]', NO_REQUEST),
        (b'"clientId":"c"', b'"clientId":{"a":1}', NO_REQUEST),
        (b'"connection":"', b'"connection":7,"x":"', NO_REQUEST),
    ],
)
def test_odd_values_are_counted_and_nothing_breaks(
    tmp_path: Path, old: bytes, new: bytes, reason: str | None
) -> None:
    path = tmp_path / "kafka-request.log"
    line = beat(NOON)
    assert old in line
    path.write_bytes(line.replace(old, new) + line)
    log, exchanges = read(path)
    assert [e.line for e in exchanges] == [2]
    assert [e.columns() for e in exchanges]
    assert reason is None or log.skipped.counts == {reason: 1}


def test_rotated_and_gzipped_files_are_one_broker_s_in_order_of_time(tmp_path: Path) -> None:
    late, early = tmp_path / "kafka-request.log", tmp_path / "kafka-request.log.2026-11-21-06.gz"
    late.write_bytes(beat(NOON + 5_000, "late"))
    early.write_bytes(gzip.compress(beat(NOON, "early")))
    log, exchanges = read(late, early)
    assert list(log.brokers) == ["kafka-request"]
    assert [e.request_body["memberId"] for e in exchanges] == ["early", "late"]


def test_a_damaged_gzip_ends_and_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "kafka-request.log.gz"
    whole = gzip.compress(b"".join(beat(NOON + i, f"m{i * 7919}") for i in range(2_000)))
    path.write_bytes(whole[: len(whole) // 2])
    log, exchanges = read(path)
    assert 0 < len(exchanges) < 2_000
    assert log.skipped.counts[BROKEN_FILE] == 1


def test_brokers_are_merged_in_order_of_time_with_their_skew_taken_away(tmp_path: Path) -> None:
    for broker, ats in {"b1": (0, 20), "b2": (1_010,)}.items():
        (tmp_path / broker).mkdir()
        lines = b"".join(beat(NOON + at, broker) for at in ats)
        (tmp_path / broker / "kafka-request.log").write_bytes(lines)
    paths = [tmp_path / b / "kafka-request.log" for b in ("b1", "b2")]
    _, skewed = read(*paths)
    assert [e.broker for e in skewed] == ["b1", "b1", "b2"]
    _, exchanges = read(*paths, skew={"b2": 1_000})
    assert [e.broker for e in exchanges] == ["b1", "b2", "b1"]
    assert exchanges[1].answered_ms == NOON + 10


def test_a_skew_of_no_broker_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "kafka-request.log"
    path.write_bytes(beat(NOON))
    with pytest.raises(LogFileError, match="of a broker 'b9'; there are kafka-request"):
        RequestLog([path], skew={"b9": 1})


def test_an_old_kafka_s_name_for_the_generation_of_a_commit(tmp_path: Path) -> None:
    body = {
        "groupId": "g",
        "generationId": 3,
        "memberId": "m",
        "groupInstanceId": None,
        "topics": [],
    }
    answer = {"throttleTimeMs": 0, "topics": []}
    path = tmp_path / "kafka-request.log"
    path.write_bytes(request_log_line("OffsetCommit", 7, "c", "c", NOON, NOON + 1, body, answer))
    _, (exchange,) = read(path)
    assert isinstance(exchange.request, OffsetCommitRequest)
    assert exchange.request.generation_id == 3


def test_a_commit_that_says_topics_by_id_is_read_as_the_version_before(tmp_path: Path) -> None:
    part = {
        "partitionIndex": 0,
        "committedOffset": 1,
        "committedLeaderEpoch": 0,
        "committedMetadata": "",
    }
    body = {
        "groupId": "g",
        "generationIdOrMemberEpoch": 3,
        "memberId": "m",
        "groupInstanceId": None,
        "topics": [{"topicId": "AAAAAAAAAAEAAAAAAAAAAQ", "partitions": [part]}],
    }
    rows = [{"partitionIndex": 0, "errorCode": 0}]
    answer = {
        "throttleTimeMs": 0,
        "topics": [{"topicId": "AAAAAAAAAAEAAAAAAAAAAQ", "partitions": rows}],
    }
    path = tmp_path / "kafka-request.log"
    path.write_bytes(request_log_line("OffsetCommit", 10, "c", "c", NOON, NOON + 1, body, answer))
    log, (exchange,) = read(path)
    assert not log.skipped.counts
    assert isinstance(exchange.request, OffsetCommitRequest)
    assert (exchange.version, exchange.request.generation_id) == (9, 3)
    assert exchange.answer_body["topics"][0]["name"] == "AAAAAAAAAAEAAAAAAAAAAQ"


@pytest.mark.parametrize(
    ("pattern", "zone", "head"),
    [
        ("yyyy-MM-dd HH:mm:ss,SSS", "UTC", b"[2026-11-21 12:00:00,447] DEBUG "),
        ("ISO8601", "UTC", b"[2026-11-21 12:00:00,447] DEBUG "),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "UTC", b"2026-11-21T13:00:00.447+01:00 DEBUG "),
        ("%d %b %Y %H:%M:%S,%f", "UTC", b"DEBUG 21 Nov 2026 12:00:00,447 x"),
        ("yyyy-MM-dd HH:mm:ss,SSS", "Europe/Berlin", b"[2026-11-21 13:00:00,447] DEBUG "),
    ],
)
def test_dates_by_pattern_and_zone(pattern: str, zone: str, head: bytes) -> None:
    assert LogDates(pattern, zone).read(head) == NOON + 447


def test_a_head_without_a_date_tells_none() -> None:
    assert LogDates().read(b"[2026-13-45 12:00:00,447] DEBUG ") is None
    assert LogDates().read(b"DEBUG ") is None


@pytest.mark.parametrize(
    ("pattern", "says"),
    [("HH:mm:ss,SSS", "has no full date"), ("yyyy-QQ-dd", "'QQ', which is not read")],
)
def test_a_pattern_that_can_t_be_used_is_refused(pattern: str, says: str) -> None:
    with pytest.raises(DatePatternError, match=says):
        LogDates(pattern)


def test_a_zone_that_is_not_there_is_refused() -> None:
    with pytest.raises(DatePatternError, match="no time zone 'Mars/Olympus'"):
        LogDates(timezone="Mars/Olympus")


@pytest.mark.parametrize(
    ("key", "protocol"), [(68, "consumer"), (76, "share"), (78, "share"), (88, "streams")]
)
def test_groups_of_other_protocols_are_named(tmp_path: Path, key: int, protocol: str) -> None:
    path = tmp_path / "kafka-request.log"
    other = beat(NOON).replace(b'"requestApiKey":12', f'"requestApiKey":{key}'.encode())
    path.write_bytes(other + beat(NOON))
    log, exchanges = read(path)
    assert len(exchanges) == 1
    assert log.other_groups == {"g": protocol}
    assert audit_log(RequestLog([path]), AuditSettings()).other_groups == {"g": protocol}
