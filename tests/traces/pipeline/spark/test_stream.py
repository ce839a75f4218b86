"""The parts of a stream that need no Spark: lines, alerts, and what was read of a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.logs.log_rows import write_logs

from benchmarks.log_traffic import Plan
from fencepost.traces.audit.audit_settings import LogOptions
from fencepost.traces.logs.request_log import RequestLog
from fencepost.traces.pipeline.storage.location import CorpusError, Place

pytest.importorskip("pandas")
pytest.importorskip("pyspark", minversion="4.2")

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from fencepost.traces.pipeline.spark import stream
from fencepost.traces.pipeline.spark.stream import RAW, GrowingLogs, LogWatch, StreamSource

ALL = ReadAllAvailable()


def read(logs: GrowingLogs, start: dict[str, Any], end: dict[str, Any]) -> list[dict[str, Any]]:
    batches = [batch for part in logs.partitions(start, end) for batch in logs.read(part)]
    assert all(batch.schema == RAW for batch in batches)
    return [row for batch in batches for row in batch.to_pylist()]


def test_a_line_is_read_once_and_only_when_its_end_is_there(tmp_path: Path) -> None:
    log = tmp_path / "broker-1.log"
    log.write_bytes(b"one\ntwo\nthr")
    logs = GrowingLogs(tmp_path)
    first = logs.latestOffset(logs.initialOffset(), ALL)
    rows = read(logs, {}, first)
    assert [(row["line"], row["text"]) for row in rows] == [(1, b"one\n"), (2, b"two\n")]
    assert rows[0]["broker"] == "broker-1"
    assert logs.latestOffset(first, ALL) == first
    with log.open("ab") as file:
        file.write(b"ee\nfour\n")
    second = GrowingLogs(tmp_path).latestOffset(first, ALL)
    rows = read(logs, first, second)
    assert [(row["line"], row["text"]) for row in rows] == [(3, b"three\n"), (4, b"four\n")]


def test_a_line_without_end_comes_cut_and_the_next_is_whole(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"one\n" + b"x" * 3_000_000 + b"\ntwo\n" + b"y" * 50 + b"\n")
    logs, seen = GrowingLogs(tmp_path, 9), []
    at: dict[str, Any] = {}
    for _ in range(4):  # a range that ends with a long line holds no line of the next
        end = logs.latestOffset(at, ReadMaxRows(1))
        seen.append([(row["line"], row["text"]) for row in read(logs, at, end)])
        at = end
    assert seen == [[(1, b"one\n")], [(2, b"x" * 10)], [(3, b"two\n")], [(4, b"y" * 10)]]
    log = RequestLog([], line_limit=9)
    (row,) = stream.parsed(log, LogOptions(line_limit=9), {}, "a", "a.log", 2, b"x" * 10)
    assert row[:5] == ("", True, "a", "a.log", 2)


def test_a_range_ends_with_a_line_wherever_the_file_is_cut_for_reading(tmp_path: Path) -> None:
    """The file is looked at a mebibyte at a time, and lines lie across that."""
    lines = [b"%d" % n + b"x" * (n % 1_000) + b"\n" for n in range(5_000)]
    (tmp_path / "a.log").write_bytes(b"".join(lines))
    logs, seen = GrowingLogs(tmp_path), []
    at: dict[str, Any] = {}
    while (end := logs.latestOffset(at, ReadMaxRows(2_300))) != at:
        seen += [row["text"] for row in read(logs, at, end)]
        at = end
    assert seen == lines


def test_a_batch_of_long_lines_is_small(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes((b"x" * 5_000_000 + b"\n") * 8)
    logs = GrowingLogs(tmp_path)
    (part,) = logs.partitions({}, logs.latestOffset({}, ALL))
    assert [batch.num_rows for batch in logs.read(part)] == [4, 4]


def test_no_more_lines_than_asked_for_are_read_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"".join(b"%d\n" % n for n in range(10)))
    logs, seen = GrowingLogs(tmp_path), []
    at: dict[str, Any] = {}
    for _ in range(4):
        end = logs.latestOffset(at, ReadMaxRows(3))
        seen.append([row["text"] for row in read(logs, at, end)])
        at = end
    assert [len(rows) for rows in seen] == [3, 3, 3, 1]
    assert [text for rows in seen for text in rows] == [b"%d\n" % n for n in range(10)]


def test_a_log_that_is_renamed_or_begun_anew_is_known(tmp_path: Path) -> None:
    log = tmp_path / "kafka.log"
    log.write_bytes(b"one\n")
    logs = GrowingLogs(tmp_path)
    first = logs.latestOffset({}, ALL)
    log.rename(tmp_path / "kafka.log.2026-11-21")
    log.write_bytes(b"two\n")
    (tmp_path / "kafka.log.2026-11-20.gz").write_bytes(b"compressed\n")
    second = logs.latestOffset(first, ALL)
    assert [row["text"] for row in read(logs, first, second)] == [b"two\n"]
    with log.open("r+b") as file:
        file.truncate()
        file.write(b"3\n")
    third = logs.latestOffset(second, ALL)
    rows = read(logs, second, third)
    assert [(row["line"], row["text"]) for row in rows] == [(1, b"3\n")]
    log.unlink()
    with pytest.raises(FileNotFoundError, match="before 2 bytes of it were read"):
        logs.partitions(second, third)


def test_lines_are_those_that_the_audit_reads(tmp_path: Path) -> None:
    (old,) = write_logs(tmp_path, Plan(lines=300, groups=3))[:1]
    text = old.read_bytes().splitlines(keepends=True)
    log, until = RequestLog([]), dict[str, int]()
    rows = [
        row
        for number, line in enumerate(text, start=1)
        for row in stream.parsed(log, LogOptions(), until, "broker-0", old.name, number, line)
    ]
    made = [stream._exchange(row) for row in rows]
    assert made == list(RequestLog([old]))
    (lost,) = stream.parsed(log, LogOptions(), until, "b", old.name, 9, text[0][:300])
    assert lost[1] is True
    assert lost[5] == next(iter(RequestLog([old]))).answered_ms


def alert(group: str, **fields: Any) -> dict[str, Any]:
    row = {"group": group, "number": 1, "broker": "b", "from_ms": 100, "at_ms": 200, **fields}
    return {"kind": stream.ALERT, "row": json.dumps(row)}


def lost(at_ms: int, broker: str = "b") -> dict[str, Any]:
    row = {"broker": broker, "place": "x:1", "at_ms": at_ms}
    return {"kind": stream.DAMAGED, "row": json.dumps(row)}


def test_a_batch_that_is_done_again_writes_the_same_alert_once(tmp_path: Path) -> None:
    told: list[dict[str, Any]] = []
    sink = stream.Sink(Place(str(tmp_path)), told.append)
    sink.write([alert("b"), alert("a")], 4)
    sink.write([], 5)
    sink.write([alert("a"), alert("b")], 4)
    assert [row["group"] for row in stream.alerts_in(sink.place)] == ["a", "b"]
    assert [row["group"] for row in told] == ["a", "b"]
    assert {row["outcome"] for row in told} == {"violated"}
    assert len(list(tmp_path.rglob("*.jsonl"))) == 1


@pytest.mark.parametrize(
    ("at_ms", "broker", "outcome"),
    [(150, "b", "unknown"), (99, "b", "violated"), (150, "c", "violated")],
)
def test_a_line_that_cant_be_read_may_explain_an_alert(
    at_ms: int, broker: str, outcome: str, tmp_path: Path
) -> None:
    sink = stream.Sink(Place(str(tmp_path)))
    sink.write([lost(at_ms, broker)], 1)
    sink.write([alert("a")], 2)
    sink.write([lost(150)], 3)  # it came later: an alert that is written again says the same
    sink.write([alert("a")], 2)
    (row,) = stream.alerts_in(sink.place)
    assert row["outcome"] == outcome


def test_a_folder_is_of_one_source_and_its_checkpoint(tmp_path: Path) -> None:
    place = Place(str(tmp_path / "out"))
    given = LogWatch(place, StreamSource(folder="/logs"))
    given.claim()
    given.claim()
    with pytest.raises(CorpusError, match="another source"):
        LogWatch(place, StreamSource(topic="t", bootstrap="h:1")).claim()
    stream.Sink(place).write([alert("a")], 0)
    with pytest.raises(CorpusError, match="has alerts but no checkpoint"):
        given.claim()
    with pytest.raises(CorpusError, match="not empty"):
        LogWatch(Place(str(tmp_path)), StreamSource(folder="/logs")).claim()
