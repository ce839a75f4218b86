"""Write and read the tables of an audit: those of its files, and those of its parts.

A file's table has row groups of one part each.  The rows of parts are those of `fencepost audit`;
here none is left out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from fencepost.traces.audit.audit_results import AuditViolation, GroupResult
from fencepost.traces.logs.log_files import LogFiles
from fencepost.traces.logs.request_log import is_included
from fencepost.traces.operations.operator_report import KINDS, GroupFigures, OperatorReport
from fencepost.traces.operations.operator_rows import (
    Deployment,
    EmptySpan,
    Expiration,
    Failover,
    FencingChain,
    LifeLine,
    Loop,
    NearTimeout,
    OffsetsRemoved,
    PendingId,
    Rebalance,
    Restart,
    Row,
    SelfFencing,
    StaticLeave,
    ThrownOut,
)
from fencepost.traces.operations.problem_words import operator_problems
from fencepost.traces.pipeline.logs.audit_plan import LogAudit
from fencepost.traces.pipeline.storage.location import Place
from fencepost.traces.pipeline.storage.log_tables import FILES, TABLES

_ROWS_A_BATCH = 5_000
_ROWS_AT_ONCE = 60_000
"""The number of rows of a file that are buffered before they are written."""
_BYTES_AT_ONCE = 1 << 28
"""Bytes of bodies to buffer, where lines are long."""

Cells = tuple[Any, ...]


def file_table(folder: str, number: int) -> str:
    """Return the name of a file's table."""
    return f"{folder}/file-{number:06d}.parquet"


def part_table(folder: str, number: int) -> str:
    """Return the name of a part's table."""
    return f"{folder}/part-{number:06d}.parquet"


class RowBuffer:
    """Rows on their way into a table."""

    def __init__(self, writer: pq.ParquetWriter, schema: pa.Schema) -> None:
        self._writer = writer
        self._schema = schema
        self._rows: list[Cells] = []

    def add(self, row: Cells) -> None:
        """Add a row."""
        self._rows.append(row)
        if len(self._rows) >= _ROWS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write the rows that wait."""
        rows, self._rows = self._rows, []
        if rows:
            columns = zip(*rows, strict=True)
            arrays = [pa.array(c, f.type) for c, f in zip(columns, self._schema, strict=True)]
            self._writer.write_table(pa.table(arrays, schema=self._schema))


class RowsByPart:
    """Rows on their way into row groups of one part each.  `counts`: the rows of each part."""

    def __init__(self, writer: pq.ParquetWriter, schema: pa.Schema, parts: int) -> None:
        self.counts = [0] * parts
        self._buffer = RowBuffer(writer, schema)
        self._waiting: dict[int, list[Cells]] = {}
        self._held = self._bytes = 0

    def add(self, row: Cells, size: int) -> None:
        """Add a row, whose first cell is its part, and which has about this many bytes."""
        part = row[0]
        self.counts[part] += 1
        self._waiting.setdefault(part, []).append(row)
        self._held += 1
        self._bytes += size
        if self._held >= _ROWS_AT_ONCE or self._bytes >= _BYTES_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write the rows that wait."""
        for part in sorted(self._waiting):
            for row in self._waiting[part]:
                self._buffer.add(row)
            self._buffer.flush()
        self._waiting.clear()
        self._held = self._bytes = 0


def rows_of_part(
    audit: LogAudit, folder: str, part: int, broker: str, columns: list[str] | None = None
) -> Iterator[tuple[int, int, Cells]]:
    """Yield a broker's rows of a part, in order, with one batch in memory.

    Each comes with the number of its file, and the latest time of the broker's log up to there:
    whoever merges brokers by that has the order in which all of their rows are merged by time.
    """
    before_ms = 0
    for number in audit.numbers[broker]:
        with audit.place.opened(file_table(folder, number)) as table:
            groups = table.metadata.num_row_groups
            mine = [g for g in range(groups) if _part(table, g) == part]
            for batch in table.iter_batches(_ROWS_A_BATCH, row_groups=mine, columns=columns):
                until = batch.schema.get_field_index("until_ms")
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    yield number, max(before_ms, row[until]), row
        (last_ms,) = audit.place.read(file_table("files", number), ["until_ms"])[0].to_pylist()
        before_ms = max(before_ms, last_ms or 0)


def _part(table: pq.ParquetFile, group: int) -> int:
    part: int = table.metadata.row_group(group).column(0).statistics.min
    return part


def write_file_row(audit: LogAudit, number: int, log: LogFiles[Any], **read: Any) -> None:
    """Write the row of a file in `log_tables.FILES`, last; `read`: the columns of its content."""
    file, only = audit.files[number], frozenset(audit.options.groups)
    row = {
        "file": file.name,
        "broker": file.broker,
        "lines": log.skipped.lines,
        "skipped": [
            {"reason": reason, "lines": lines, "first": first}
            for reason, (lines, first) in log.skipped.by_reason().items()
        ],
        "others": [
            {"group": name, "protocol": protocol}
            for name, protocol in sorted(log.other_groups.items())
            if is_included(name, only)
        ],
        **read,
    }
    audit.place.write(file_table("files", number), pa.Table.from_pylist([row], schema=FILES))


class Tables:
    """The tables of a part, written row by row; they appear when the block succeeds."""

    def __init__(self, place: Place, part: int) -> None:
        self._stack = ExitStack()
        self._writers = {  # they are closed the other way round: `groups` last
            name: self._stack.enter_context(place.writing(part_table(name, part), schema))
            for name, schema in TABLES.items()
        }
        self._rows: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}

    def add(self, name: str, row: dict[str, Any]) -> None:
        """Add a row."""
        rows = self._rows[name]
        rows.append(row)
        if len(rows) >= _ROWS_A_BATCH:
            self._flush(name)

    def _flush(self, name: str) -> None:
        rows, self._rows[name] = self._rows[name], []
        if rows:
            self._writers[name].write_table(pa.Table.from_pylist(rows, schema=TABLES[name]))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            for name in TABLES if kind is None else ():
                self._flush(name)
        except BaseException:
            self._stack.__exit__(*sys.exc_info())
            raise
        self._stack.__exit__(kind, error, trace)


_TABLE_OF: dict[type, str] = {
    Rebalance: "rebalances",
    LifeLine: "life_lines",
    Deployment: "deployments",
    ThrownOut: "thrown_out",
    NearTimeout: "near_timeouts",
    Restart: "restarts",
    Expiration: "expirations",
    PendingId: "pending_ids",
    Loop: "loops",
    Failover: "failovers",
    EmptySpan: "empty_spans",
    OffsetsRemoved: "removed_offsets",
    FencingChain: "chains",
    SelfFencing: "self_fencings",
    StaticLeave: "static_leaves",
}


class PartReport(OperatorReport):
    """A report that writes its rows to tables, and keeps what problems and figures are made of."""

    def __init__(self, tables: Tables) -> None:
        super().__init__()
        self._tables = tables

    def add(self, row: Row) -> None:
        """See OperatorReport."""
        if (name := _TABLE_OF.get(type(row))) is not None:
            self._tables.add(name, msgspec.to_builtins(row))
        self.note(row)

    def write(self) -> None:
        """Write the problems and the figures, at the end."""
        for problem in operator_problems(self):
            self._tables.add("problems", msgspec.to_builtins(problem))
        for group, figures in sorted(self.figures.items()):
            if figures.empty is not None:
                self._tables.add("empty_spans", msgspec.to_builtins(figures.empty))
            self._tables.add("figures", figures_row(group, figures, self))


def figures_row(group: str, figures: GroupFigures, report: OperatorReport) -> dict[str, Any]:
    """Return the figures of a group as a row of `log_tables.FIGURES`."""
    shows = {kind: report.shows(group, kind) for kind in KINDS}
    return {
        "group": group,
        "rebalances": figures.causes.total(),
        "rebalancing_total_ms": figures.known_ms,
        "failed_rebalances": figures.failed,
        "deployments": figures.deployments,
        "deployment_restarts": figures.restarts,
        "deployment_rebalances": figures.cost,
        "replacements": figures.replaced,
        "fenced": figures.fenced if shows["fenced"] else None,
        "thrown_out": figures.thrown_out if shows["short-session"] else None,
        "expirations": figures.expirations,
        "expirations_for_good": figures.never_back,
        "restarts": figures.came_back,
        "loops": figures.loops,
        "unused_member_ids": figures.pending,
        "failovers": figures.failovers,
        "group_lost": figures.lost is not None,
        "last_expired_ms": None if figures.lost is None else figures.lost.from_ms,
        "static": figures.static,
        "dynamic": figures.dynamic,
        "rebalancing_ms": figures.rebalancing_ms,
        "kind": figures.kind.value,
        "library": figures.library,
        "unshown": [kind for kind in KINDS if not shows[kind]],
    }


def group_row(result: GroupResult) -> dict[str, Any]:
    """Return a result as a row of `log_tables.GROUPS`."""
    row = result.entry().plain()
    del row["found"]
    return row


def violation_row(group: str, violation: AuditViolation) -> dict[str, Any]:
    """Return a violation as a row of `log_tables.VIOLATIONS`."""
    row = {"group": group, **violation.entry().plain()}
    allowed = [{**a, "body": json_text(a["body"])} for a in row["allowed"]]
    return {**row, "allowed": allowed, "observed": json_text(row["observed"])}


def json_text(body: Any) -> str:
    """Return a body as text."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))
