"""Audit logs that never end, with Spark's Structured Streaming.

Each group's audit is in the state store, as bytes, under the group's name; Spark's checkpoint has
the read position in the source.  Alerts are written under the number of their batch, so a batch
that is run again gives the same alerts under the same name: none is lost, and none is there twice.

A folder of growing logs is a source.  Progress is counted in bytes and lines of each file, by its
inode and not its name, so that a rotated log is still the same.  A line is read when it is
complete.  A file that became shorter is read from its beginning.  Compressed files are left out,
since they were read before.

A folder of alerts belongs to one source and one way to judge it.  Other ones are refused, and so is
a folder whose checkpoint is gone, because every alert would be written again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows

from fencepost.traces.audit.audit_results import UNKNOWN, VIOLATED
from fencepost.traces.audit.audit_settings import LogOptions
from fencepost.traces.audit.log_audit import DAMAGE, parts
from fencepost.traces.audit.possible_errors import PossibleAnswers
from fencepost.traces.files.bounded import LINE_LIMIT, bounded_lines
from fencepost.traces.files.run_trace import tool_version
from fencepost.traces.logs.request_log import MARK, LoggedExchange, RequestLog
from fencepost.traces.pipeline.logs.stream_group import StreamGroup
from fencepost.traces.pipeline.storage.location import CorpusError, Place
from fencepost.traces.pipeline.storage.trace_rows import ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery


SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
}
"""Settings of a session for it: states outside the memory of the JVM; and batches only where there
are lines, or an idle group would be looked at for ever (a group is forgotten when others go on)."""

_LINES = pa.schema(
    [
        ("group", pa.string()),
        ("damaged", pa.bool_()),  # not a line of the group, but one that can't be read
        ("broker", pa.string()),
        ("source", pa.string()),
        ("line", pa.int64()),
        ("until_ms", pa.int64()),  # the latest answer of its segment up to here
        ("arrived_ms", pa.int64()),
        ("answered_ms", pa.int64()),
        ("connection", pa.string()),
        ("client_id", pa.string()),
        ("api", pa.string()),
        ("version", pa.int32()),
        ("request", pa.binary()),
        ("response", pa.binary()),
    ]
)
_ROWS = pa.schema([("kind", pa.string()), ("row", pa.string())])
_STATE = pa.schema([("state", pa.binary())])
_FORGET_MS = 24 * 60 * 60_000
"""A group without lines for this many ms is forgotten."""

ALERT, DAMAGED = "alert", "damaged"
ALERTS_FOLDER, DAMAGED_FOLDER = "alerts", "damaged"


def start(lines: DataFrame, sink: Sink, options: LogOptions, **trigger: Any) -> StreamingQuery:
    """Start a query over lines as `stream_source.RAW`; its checkpoint is in the place, too."""
    rows = (
        lines.mapInArrow(_parsing(options), ddl(_LINES))
        .groupBy("damaged", "group")
        .applyInPandasWithState(
            _auditing(options), ddl(_ROWS), ddl(_STATE), "append", "ProcessingTimeTimeout"
        )
    )
    return (
        rows.writeStream.queryName("fencepost")
        .foreachBatch(sink)
        .option("checkpointLocation", sink.place.full("checkpoint"))
        .trigger(**trigger)
        .start()
    )


def _parsing(
    options: LogOptions,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        log = RequestLog([], dates=options.dates(), line_limit=options.line_limit)
        until: dict[str, int] = {}
        for batch in batches:
            rows: list[tuple[Any, ...]] = []
            for raw in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                rows += parsed(log, options, until, *raw)
            columns = list(zip(*rows, strict=True)) or [()] * len(_LINES)
            arrays = [pa.array(c, f.type) for c, f in zip(columns, _LINES, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=_LINES)

    return parse


def parsed(
    log: RequestLog,
    options: LogOptions,
    until: dict[str, int],
    broker: str,
    source: str,
    line: int,
    text: bytes,
) -> Iterator[tuple[Any, ...]]:
    """Return a line as rows of its groups; `until`: source → the latest answer so far."""
    skew = options.skew.get(broker, 0)
    made = log.of_line(broker, source, line, text, skew)
    if isinstance(made, str):
        if made in DAMAGE:
            dated = log.dates.read(text[: text.find(MARK)])
            at_ms = until.get(source, 0) if dated is None else dated - skew
            place = ("", True, broker, source, line, at_ms, at_ms, at_ms)
            yield (*place, "", "", "", 0, b"", b"")
        return
    until[source] = max(until.get(source, 0), made.answered_ms)
    whole = made.request_body.get("groupId") is not None
    for x in (made,) if whole else parts(made):
        group = x.request_body["groupId"] if whole else x.request_body["groups"][0]
        if not options.groups or group in options.groups:
            yield (str(group), False, broker, source, line, until[source], *x.columns())


def _auditing(options: LogOptions) -> Callable[..., Iterator[pd.DataFrame]]:
    known: list[PossibleAnswers] = []

    def audit(
        key: tuple[bool, str], frames: Iterator[pd.DataFrame], state: Any
    ) -> Iterator[pd.DataFrame]:
        damaged, group = key
        if state.hasTimedOut:
            state.remove()
            return
        rows = [row for frame in frames for row in frame.itertuples(index=False, name=None)]
        if damaged:
            lost = [{"broker": r[2], "place": f"{r[3]}:{r[4]}", "at_ms": int(r[5])} for r in rows]
            yield _frame(DAMAGED, lost)
            return
        settings = options.settings()
        if not known:
            known.append(PossibleAnswers(settings.revision))
        (bytes_,) = state.get if state.exists else (None,)
        going = StreamGroup(group, settings, known[0], bytes_)
        alerts = going.take(map(_exchange, sorted(rows, key=_order)))
        state.update((going.state(),))
        state.setTimeoutDuration(_FORGET_MS)
        yield _frame(ALERT, alerts)

    return audit


def _frame(kind: str, rows: list[dict[str, Any]]) -> pd.DataFrame:
    texts = [json.dumps(row, ensure_ascii=False) for row in rows]
    return pd.DataFrame({"kind": [kind] * len(texts), "row": texts}, dtype="object")


def _order(row: tuple[Any, ...]) -> tuple[Any, ...]:
    _, _, broker, source, line, until_ms, *_ = row
    return until_ms, broker, source, line


def _exchange(row: tuple[Any, ...]) -> LoggedExchange:
    _, _, broker, source, line, _, *columns = row
    return LoggedExchange.from_columns(source, line, broker, columns)


@dataclass(frozen=True)
class Sink:
    """Writes the alerts of a batch under its number.

    `on_alert`: called with each alert afterwards.
    """

    place: Place
    on_alert: Callable[[dict[str, Any]], None] | None = None

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Handle a batch, for `foreachBatch`."""
        self.write(batch.toArrow().to_pylist(), number)

    def write(self, rows: list[dict[str, Any]], number: int) -> None:
        """Write a batch; a file of its number that is there already is the same."""
        name = f"batch-{number:09d}.jsonl"
        by_kind: dict[str, list[dict[str, Any]]] = {ALERT: [], DAMAGED: []}
        for row in rows:
            by_kind[row["kind"]].append(json.loads(row["row"]))
        self._put(f"{DAMAGED_FOLDER}/{name}", by_kind[DAMAGED], ("broker", "place"))
        if by_kind[ALERT]:
            lost = list(self._lost(number))
            alerts = [_message(alert, lost) for alert in by_kind[ALERT]]
            self._put(f"{ALERTS_FOLDER}/{name}", alerts, ("group", "number"))

    def _put(self, name: str, rows: list[dict[str, Any]], order: tuple[str, str]) -> None:
        if not rows:
            return
        rows.sort(key=lambda row: tuple(row[part] for part in order))
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        new = self.place.read_text(name) is None
        self.place.write_text(name, text)
        if new and self.on_alert is not None and name.startswith(ALERTS_FOLDER):
            for row in rows:
                self.on_alert(row)

    def _lost(self, until: int) -> Iterator[dict[str, Any]]:
        """Return the lines that can't be read, of this batch and those before."""
        for name in sorted(self.place.names(DAMAGED_FOLDER)):
            if int(name.removeprefix("batch-").removesuffix(".jsonl")) <= until:
                yield from rows_of(self.place, f"{DAMAGED_FOLDER}/{name}")


def _message(alert: dict[str, Any], lost: list[dict[str, Any]]) -> dict[str, Any]:
    """Return an alert with its outcome, which a damaged line may turn to unknown."""
    from_ms, until_ms = alert["from_ms"], alert["at_ms"]
    place = next(
        (
            line["place"]
            for line in lost
            if line["broker"] == alert["broker"] and from_ms <= line["at_ms"] <= until_ms
        ),
        None,
    )
    return {"outcome": VIOLATED if place is None else UNKNOWN, "damaged": place, **alert}


def rows_of(place: Place, name: str) -> Iterator[dict[str, Any]]:
    """Read the rows of a file of JSON lines."""
    for line in (place.read_text(name) or "").splitlines():
        yield json.loads(line)


def alerts_in(place: Place) -> Iterator[dict[str, Any]]:
    """Read every alert that was written, batch by batch."""
    for name in sorted(place.names(ALERTS_FOLDER)):
        yield from rows_of(place, f"{ALERTS_FOLDER}/{name}")


NAME = "fencepost-logs"
RAW = pa.schema(
    [
        ("broker", pa.string()),
        ("source", pa.string()),
        ("line", pa.int64()),
        ("text", pa.binary()),
    ]
)
"""A line of a log, wherever it comes from; `source` and `line` are its place."""

LINES_AT_ONCE = 200_000
_BYTES_AT_ONCE = 1 << 20
_BATCH_BYTES = 1 << 24
"""A batch ends with the line that takes it over this many bytes."""
_COMPRESSED = (".gz", ".zip", ".zst", ".bz2")

Offsets = dict[str, dict[str, int]]


class LogFolder(DataSource):  # type: ignore[misc]  # PySpark is not followed
    """The options: `path` names the folder; `lineLimit`: a line of more bytes comes cut."""

    @classmethod
    def name(cls) -> str:
        """Return the name for `format`."""
        return NAME

    def schema(self) -> str:
        """Return `RAW` as DDL."""
        return ddl(RAW)

    def streamReader(self, schema: Any) -> GrowingLogs:  # noqa: ARG002, N802  (PySpark's)
        """Return the reader."""
        return GrowingLogs(Path(self.options["path"]), int(self.options["lineLimit"]))


@dataclass(frozen=True)
class FileRange(InputPartition):  # type: ignore[misc]
    """Bytes of a file, from the beginning of a line to the end of one; `line`: lines before."""

    path: str
    broker: str
    begin: int
    end: int
    line: int


class GrowingLogs(DataSourceStreamReader):  # type: ignore[misc]
    """Reads the lines that were added."""

    def __init__(self, folder: Path, line_limit: int = LINE_LIMIT) -> None:
        self._folder = folder
        self._line_limit = line_limit

    def initialOffset(self) -> Offsets:  # noqa: N802
        """Return the offset at which nothing was read."""
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return how much is read at once."""
        return ReadMaxRows(LINES_AT_ONCE)

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:  # noqa: N802
        """Return how far each file can be read."""
        left = 2**62 if isinstance(limit, ReadAllAvailable) else limit.max_rows
        offsets: Offsets = {}
        for number, path in sorted(self._files().items()):
            before = start.get(number, {"bytes": 0, "lines": 0})
            if path.stat().st_size < before["bytes"]:
                before = {"bytes": 0, "lines": 0}
            size, lines = _whole_lines(path, before["bytes"], left)
            left -= lines
            offsets[number] = {"bytes": before["bytes"] + size, "lines": before["lines"] + lines}
        return offsets

    def partitions(self, start: Offsets, end: Offsets) -> list[FileRange]:
        """Return the new range of each file that grew."""
        files = self._files()
        ranges = []
        for number, until in end.items():
            since = start.get(number, {"bytes": 0, "lines": 0})
            if until["bytes"] < since["bytes"]:
                since = {"bytes": 0, "lines": 0}
            if until["bytes"] == since["bytes"]:
                continue
            if number not in files:
                raise FileNotFoundError(
                    f"a log of {self._folder} is gone before {until['bytes'] - since['bytes']} "
                    "bytes of it were read: keep logs for longer, and begin with an empty --out"
                )
            path = files[number]
            name = path.name.partition(".log")[0]
            ranges.append(
                FileRange(str(path), name, since["bytes"], until["bytes"], since["lines"])
            )
        return ranges

    def read(self, partition: FileRange) -> Iterator[pa.RecordBatch]:
        """Yield the lines of a range."""
        rows: list[tuple[str, str, int, bytes]] = []
        held = 0
        source = Path(partition.path).name
        with Path(partition.path).open("rb") as file:
            file.seek(partition.begin)
            lines = bounded_lines(file, self._line_limit)
            number = partition.line
            while file.tell() < partition.end and (text := next(lines, b"")):
                number += 1
                rows.append((partition.broker, source, number, text))
                held += len(text)
                if len(rows) == 5_000 or held > _BATCH_BYTES:
                    yield _batch(rows)
                    rows.clear()
                    held = 0
        if rows:
            yield _batch(rows)

    def _files(self) -> dict[str, Path]:
        paths = {}
        for path in self._folder.iterdir():
            if path.is_file() and ".log" in path.name and path.suffix not in _COMPRESSED:
                status = path.stat()
                paths[f"{status.st_dev}:{status.st_ino}"] = path
        return paths


def _batch(rows: list[tuple[str, str, int, bytes]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, RAW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=RAW)


def _whole_lines(path: Path, begin: int, most: int) -> tuple[int, int]:
    """Return the size of the whole lines from `begin` on, at most `most`, and their number."""
    size = lines = 0
    with path.open("rb") as file:
        file.seek(begin)
        while lines < most and (data := file.read(_BYTES_AT_ONCE)):
            count = data.count(b"\n")
            before = file.tell() - begin - len(data)
            if lines + count > most:
                held = 0
                for _ in range(most - lines):
                    held = data.index(b"\n", held) + 1
                return before + held, most
            lines += count
            if count:
                size = before + data.rindex(b"\n") + 1
    return size, lines


FORMAT = "fencepost-log-watch"
VERSION = 1
MANIFEST = "watch.json"
_LOOK_S = 1
_LINES_AT_ONCE = 200_000
_KAFKA_LINES = (
    "coalesce(cast(key AS string), concat(topic, '-', partition)) AS broker",
    "concat(topic, '-', partition) AS source",
    "offset AS line",
    "value AS text",
)
"""A record's key is the broker; without one, a partition is."""


@dataclass(frozen=True)
class StreamSource:
    """A source of lines: a folder, or a topic of the brokers at `bootstrap`."""

    folder: str | None = None
    topic: str | None = None
    bootstrap: str | None = None

    def lines(self, session: SparkSession, line_limit: int) -> DataFrame:
        """Read its lines, as `stream_source.RAW` describes; of a folder's no more bytes than so."""
        if self.folder is not None:
            session.dataSource.register(LogFolder)
            read = session.readStream.format(NAME).option("path", self.folder)
            return read.option("lineLimit", line_limit).load()
        read = session.readStream.format("kafka").options(
            **{
                "kafka.bootstrap.servers": self.bootstrap,
                "subscribe": self.topic,
                "startingOffsets": "earliest",
                "maxOffsetsPerTrigger": str(_LINES_AT_ONCE),
            }
        )
        return read.load().selectExpr(*_KAFKA_LINES)


@dataclass(frozen=True)
class LogWatch:
    """A source and how it is judged; `parts`: the number of tasks that share the groups."""

    place: Place
    source: StreamSource
    options: LogOptions = field(default_factory=LogOptions)
    parts: int = 16

    def text(self) -> str:
        """Return the text of `watch.json`."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            "source": asdict(self.source),
            "options": asdict(self.options),
            "parts": self.parts,
            "made_by": tool_version(),
        }
        return json.dumps(document, indent=1) + "\n"

    def claim(self) -> None:
        """Begin, or continue.  Raises CorpusError if the folder belongs to another source."""
        known = self.place.read_text(MANIFEST)
        if known is None:
            if self.place.names(""):
                raise CorpusError(f"{self.place} is not empty; choose another folder")
            self.place.write_text(MANIFEST, self.text())
        elif known != self.text():
            raise CorpusError(
                f"{self.place} is of another source, other options or another fencepost "
                f"({' '.join(known.split())}); choose another folder"
            )
        elif self.place.names(ALERTS_FOLDER) and not self.place.names("checkpoint"):
            raise CorpusError(
                f"{self.place} has alerts but no checkpoint, so all alerts would be written again; "
                "choose another folder"
            )


def watch_logs(
    session: SparkSession,
    watch: LogWatch,
    on_alert: Callable[[dict[str, Any]], None],
    *,
    every_s: float | None,
) -> None:
    """Watch until the query ends; `every_s` None: only the lines that are there now.

    Raises CorpusError, and what the query raises.
    """
    watch.claim()
    session.conf.set("spark.sql.shuffle.partitions", str(watch.parts))
    trigger: dict[str, Any] = (
        {"availableNow": True} if every_s is None else {"processingTime": f"{every_s} seconds"}
    )
    sink = Sink(watch.place, on_alert)
    query = start(
        watch.source.lines(session, watch.options.line_limit), sink, watch.options, **trigger
    )
    try:
        while not query.awaitTermination(_LOOK_S):
            pass
    finally:
        query.stop()
