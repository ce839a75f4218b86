"""Audit logs that never end, with Spark's Structured Streaming.

Each group's audit is in the state store, as bytes, under the group's name; Spark's checkpoint says
how far the source was read.  Alerts are written under the number of their batch, so a batch that is
run again gives the same alerts under the same name: none is lost, and none is there twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa

from fencepost.traces.audit.answer_audit import parts
from fencepost.traces.audit.audit_results import UNKNOWN, VIOLATED
from fencepost.traces.audit.audit_settings import LogOptions
from fencepost.traces.audit.log_audit import DAMAGE
from fencepost.traces.audit.possible_errors import PossibleAnswers
from fencepost.traces.logs.logged_exchange import LoggedExchange
from fencepost.traces.logs.request_log import MARK, RequestLog
from fencepost.traces.pipeline.logs.stream_group import StreamGroup
from fencepost.traces.pipeline.storage.ddl import ddl
from fencepost.traces.pipeline.storage.location import Place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import StreamingQuery

SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
}
"""What a session for it needs: states outside the memory of the JVM; and batches only where there
are lines, or what is idle would be looked at for ever (a group is forgotten when others go on)."""

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
_FOUND = pa.schema([("kind", pa.string()), ("row", pa.string())])
_STATE = pa.schema([("state", pa.binary())])
_FORGET_MS = 24 * 60 * 60_000
"""A group of which nothing comes for so long is forgotten."""

ALERT, DAMAGED = "alert", "damaged"
ALERTS_FOLDER, DAMAGED_FOLDER = "alerts", "damaged"


def start(lines: DataFrame, sink: Sink, options: LogOptions, **trigger: Any) -> StreamingQuery:
    """Start a query over lines as `stream_source.RAW`; its checkpoint is in the place, too."""
    found = (
        lines.mapInArrow(_parsing(options), ddl(_LINES))
        .groupBy("damaged", "group")
        .applyInPandasWithState(
            _auditing(options), ddl(_FOUND), ddl(_STATE), "append", "ProcessingTimeTimeout"
        )
    )
    return (
        found.writeStream.queryName("fencepost")
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
    """Writes the alerts of a batch under its number; `told`: called with each alert afterwards."""

    place: Place
    told: Callable[[dict[str, Any]], None] | None = None

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Handle a batch, for `foreachBatch`."""
        self.write(batch.toArrow().to_pylist(), number)

    def write(self, rows: list[dict[str, Any]], number: int) -> None:
        """Write a batch; a file of its number that is there already is the same."""
        name = f"batch-{number:09d}.jsonl"
        found: dict[str, list[dict[str, Any]]] = {ALERT: [], DAMAGED: []}
        for row in rows:
            found[row["kind"]].append(json.loads(row["row"]))
        self._put(f"{DAMAGED_FOLDER}/{name}", found[DAMAGED], ("broker", "place"))
        if found[ALERT]:
            lost = list(self._lost(number))
            alerts = [_said(alert, lost) for alert in found[ALERT]]
            self._put(f"{ALERTS_FOLDER}/{name}", alerts, ("group", "number"))

    def _put(self, name: str, rows: list[dict[str, Any]], order: tuple[str, str]) -> None:
        if not rows:
            return
        rows.sort(key=lambda row: tuple(row[part] for part in order))
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        new = self.place.read_text(name) is None
        self.place.write_text(name, text)
        if new and self.told is not None and name.startswith(ALERTS_FOLDER):
            for row in rows:
                self.told(row)

    def _lost(self, until: int) -> Iterator[dict[str, Any]]:
        """Return the lines that can't be read, of this batch and those before."""
        for name in sorted(self.place.names(DAMAGED_FOLDER)):
            if int(name.removeprefix("batch-").removesuffix(".jsonl")) <= until:
                yield from rows_of(self.place, f"{DAMAGED_FOLDER}/{name}")


def _said(alert: dict[str, Any], lost: list[dict[str, Any]]) -> dict[str, Any]:
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
