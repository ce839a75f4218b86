"""Write the rows of an audit as tables, a file of each for every part.

The rows are those of `fencepost audit`; here none is left out.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

import msgspec
import pyarrow as pa

from fencepost.traces.audit.audit_results import AuditViolation, GroupResult
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
    PendingId,
    Rebalance,
    Restart,
    Row,
    SelfFencing,
    StaticLeave,
    ThrownOut,
)
from fencepost.traces.operations.problem_words import operator_problems
from fencepost.traces.pipeline.storage.location import Place
from fencepost.traces.pipeline.storage.log_tables import TABLES

_ROWS_A_BATCH = 5_000


def file_table(folder: str, number: int) -> str:
    """Return the name of a file's table."""
    return f"{folder}/file-{number:06d}.parquet"


def part_table(folder: str, number: int) -> str:
    """Return the name of a part's table."""
    return f"{folder}/part-{number:06d}.parquet"


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
