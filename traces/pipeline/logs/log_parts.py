"""The first half of an audit in parts: a log file becomes tables, sorted by part.

Each part has its own row groups in the file's table, in order of the lines, so auditing a part
reads no other part.  A group with most of the lines is a long stream, and never a table in
memory.  What the audit needs of the rest of the log (connections, damaged lines) is written beside
it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fencepost.traces.audit.answer_audit import BrokerActivity, parts
from fencepost.traces.audit.log_audit import DAMAGE
from fencepost.traces.logs.logged_exchange import LoggedExchange
from fencepost.traces.logs.request_log import RequestLog
from fencepost.traces.pipeline.corpus.corpus_tables import DONE
from fencepost.traces.pipeline.corpus.shard_jobs import unwatched
from fencepost.traces.pipeline.logs.audit_recipe import LogAudit, file_table
from fencepost.traces.pipeline.storage.log_tables import CONNECTIONS, FILES, LINES, USES

_AT_ONCE = 60_000
"""The number of rows that are buffered before they are written."""
_BYTES_AT_ONCE = 1 << 28
"""The bytes of bodies that are buffered, where lines are long."""

Row = tuple[Any, ...]


@dataclass(frozen=True)
class ReadLog:
    """Reads a file of the audit into tables.  The one in `files` is written last."""

    audit: LogAudit
    schema = DONE

    def __call__(self, number: int) -> pa.Table:
        """Read the file; return its number and the number of its exchanges."""
        with unwatched():
            exchanges = self._read(number)
        return pa.Table.from_pylist([{"shard": number, "rows": exchanges}], schema=DONE)

    def _read(self, number: int) -> int:
        audit, file = self.audit, self.audit.files[number]
        options, place = audit.options, audit.place
        skew = {b: ms for b, ms in options.skew.items() if b == file.broker}
        log = RequestLog([], dates=options.dates(), line_limit=options.line_limit)
        log.skew.update(skew)
        damaged: list[dict[str, int]] = []

        def skipped(_: str, where: str, reason: str, at_ms: int) -> None:
            if reason in DAMAGE:
                damaged.append({"line": int(where.rpartition(":")[2]), "at_ms": at_ms})

        log.skipped.listeners.append(skipped)
        only = frozenset(options.groups)
        firsts: dict[str, int] = {}
        count, from_ms, until_ms = 0, None, None
        broker, first_ms, pauses = BrokerActivity(), None, []
        with (
            place.writing(file_table("lines", number), LINES) as to_lines,
            place.writing(file_table("uses", number), USES) as to_uses,
        ):
            lines, uses = _Lines(to_lines, audit.parts), _Buffer(to_uses, USES)
            for exchange in log.of_file(file.broker, Path(file.path)):
                count += 1
                if first_ms is None:
                    first_ms = exchange.answered_ms
                broker.wrote(exchange.answered_ms)
                while broker.pauses:
                    since, until = broker.pauses.popleft()
                    pauses.append({"line": exchange.line, "since_ms": since, "until_ms": until})
                firsts.setdefault(exchange.connection, exchange.arrived_ms)
                uses.add((exchange.line, exchange.answered_ms, exchange.connection))
                if from_ms is None or exchange.arrived_ms < from_ms:
                    from_ms = exchange.arrived_ms
                if until_ms is None or exchange.answered_ms > until_ms:
                    until_ms = exchange.answered_ms
                for group, part in _groups(exchange):
                    if not only or group in only:
                        lines.add(audit.part_of(group), until_ms, part)
            lines.flush()
            uses.flush()
        rows = [{"connection": name, "first_ms": ms} for name, ms in firsts.items()]
        place.write(
            file_table("connections", number), pa.Table.from_pylist(rows, schema=CONNECTIONS)
        )
        told = log.skipped
        row = {
            "file": file.name,
            "broker": file.broker,
            "lines": told.lines,
            "exchanges": count,
            "from_ms": from_ms,
            "until_ms": until_ms,
            "skipped": [
                {"reason": reason, "lines": lines_, "first": told.first[reason]}
                for reason, lines_ in told.counts.items()
            ],
            "damaged": damaged,
            "first_ms": first_ms,
            "last_ms": broker.last_ms if count else None,
            "pauses": pauses,
            "parts": lines.counts,
        }
        place.write(file_table("files", number), pa.Table.from_pylist([row], schema=FILES))
        return count


def _groups(exchange: LoggedExchange) -> Iterator[tuple[object, LoggedExchange]]:
    """Yield an exchange for each group that it is about."""
    group = exchange.request_body.get("groupId")
    if group is not None:
        yield group, exchange
        return
    for part in parts(exchange):
        yield part.request_body["groups"][0], part


class _Buffer:
    """Rows on their way into a table."""

    def __init__(self, writer: pq.ParquetWriter, schema: pa.Schema) -> None:
        self._writer = writer
        self._schema = schema
        self._rows: list[Row] = []

    def add(self, row: Row) -> None:
        self._rows.append(row)
        if len(self._rows) >= _AT_ONCE:
            self.flush()

    def flush(self) -> None:
        rows, self._rows = self._rows, []
        if rows:
            columns = zip(*rows, strict=True)
            arrays = [pa.array(c, f.type) for c, f in zip(columns, self._schema, strict=True)]
            self._writer.write_table(pa.table(arrays, schema=self._schema))


class _Lines:
    """Lines on their way into row groups of one part each."""

    def __init__(self, writer: pq.ParquetWriter, parts_: int) -> None:
        self.counts = [0] * parts_
        self._buffer = _Buffer(writer, LINES)
        self._waiting: dict[int, list[Row]] = {}
        self._held = self._bytes = 0

    def add(self, part: int, until_ms: int, x: LoggedExchange) -> None:
        columns = x.columns()
        self.counts[part] += 1
        self._waiting.setdefault(part, []).append((part, x.line, until_ms, *columns))
        self._held += 1
        self._bytes += len(columns[-1]) + len(columns[-2])
        if self._held >= _AT_ONCE or self._bytes >= _BYTES_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        for part in sorted(self._waiting):
            for row in self._waiting[part]:
                self._buffer.add(row)
            self._buffer.flush()
        self._waiting.clear()
        self._held = self._bytes = 0


@dataclass
class Cursor:
    """How far each broker's log was read: the number of the file, and the line."""

    at: dict[str, tuple[int, int]] = field(default_factory=dict)


def lines_of(
    audit: LogAudit, part: int, broker: str, cursor: Cursor
) -> Iterator[tuple[int, LoggedExchange]]:
    """Yield a broker's lines of a part, in order, with one row group in memory.

    Each comes with the latest answer of the broker's log up to there: whoever merges brokers by
    that has the order in which all of their lines are merged by their answers.
    """
    before_ms = 0
    for number in audit.numbers[broker]:
        name = audit.files[number].name
        with audit.place.opened(file_table("lines", number)) as table:
            groups = table.metadata.num_row_groups
            mine = [g for g in range(groups) if _part(table, g) == part]
            for batch in table.iter_batches(5_000, row_groups=mine):
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    _, line, until_ms, *columns = row
                    cursor.at[broker] = number, line
                    exchange = LoggedExchange.from_columns(name, line, broker, columns)
                    yield max(before_ms, until_ms), exchange
        (last_ms,) = audit.place.read(file_table("files", number), ["until_ms"])[0].to_pylist()
        before_ms = max(before_ms, last_ms or 0)


def _part(table: pq.ParquetFile, group: int) -> int:
    part: int = table.metadata.row_group(group).column(0).statistics.min
    return part
