"""The second half of an audit in parts: judge the groups of a part, and write tables.

The functions are those of `fencepost audit`, so the rows are the same; here none is left out.  A
part is read as a stream in order of time; only the states of live groups are in memory.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from fencepost.traces.audit.audit_results import AuditViolation, GroupResult
from fencepost.traces.operations.operator_json import plain
from fencepost.traces.operations.operator_report import OperatorAudit, OperatorReport
from fencepost.traces.operations.operator_rows import (
    Deployment,
    LifeLine,
    NearTimeout,
    Rebalance,
    Row,
    ThrownOut,
)
from fencepost.traces.operations.operator_words import operator_problems
from fencepost.traces.pipeline.corpus.corpus_tables import DONE
from fencepost.traces.pipeline.corpus.shard_jobs import unwatched
from fencepost.traces.pipeline.logs.around import PartAudit
from fencepost.traces.pipeline.logs.audit_recipe import LogAudit, part_table
from fencepost.traces.pipeline.storage.location import Place
from fencepost.traces.pipeline.storage.log_tables import TABLES

_AT_ONCE = 5_000

DONE_TABLE = "groups"
"""The table of a part that gets its name last: a part with it is done."""


@dataclass(frozen=True)
class AuditPart:
    """Audits the groups of a part.  `until_ms`: when the log ends."""

    audit: LogAudit
    until_ms: int
    schema = DONE

    def __call__(self, number: int) -> pa.Table:
        """Audit the part; return its number and the number of its groups."""
        with unwatched():
            groups = self._audited(number)
        return pa.Table.from_pylist([{"shard": number, "rows": groups}], schema=DONE)

    def _audited(self, number: int) -> int:
        judge = PartAudit(self.audit, number)
        with Tables(self.audit.place, number) as tables:
            operator = OperatorAudit(report=_Rows(tables))
            for exchange in judge.exchanges():
                judge.feed(exchange)
                operator.take(exchange)
            report = operator.finish(self.until_ms)
            results = judge.finish()
            for problem in operator_problems(report):
                tables.add("problems", plain(problem))
            for result in results.values():
                tables.add("groups", group_row(result))
                for found in result.found:
                    tables.add("violations", violation_row(result.group_id, found))
        return len(results)


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
        if len(rows) >= _AT_ONCE:
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


class _Rows(OperatorReport):
    """A report that writes its rows to tables, and keeps those that problems are made of."""

    def __init__(self, tables: Tables) -> None:
        super().__init__()
        self._tables = tables
        for kept in (self.chains, self.self_fencings, self.static_leaves, self.thrown_out):
            kept.most = sys.maxsize

    def add(self, row: Row) -> None:
        """See OperatorReport."""
        match row:
            case LifeLine():
                self._tables.add("life_lines", plain(row))
            case Rebalance():
                self._tables.add("rebalances", plain(row))
            case Deployment():
                self._tables.add("deployments", plain(row))
            case NearTimeout():
                self._tables.add("near_timeouts", plain(row))
            case ThrownOut():
                self._tables.add("thrown_out", plain(row))
                super().add(row)
            case _:
                super().add(row)


def group_row(result: GroupResult) -> dict[str, Any]:
    """Return a result as a row of `log_tables.GROUPS`."""
    row = result.to_json()
    del row["found"]
    return row


def violation_row(group: str, found: AuditViolation) -> dict[str, Any]:
    """Return a violation as a row of `log_tables.VIOLATIONS`."""
    row = {"group": group, **found.to_json()}
    allowed = [{**a, "body": json_text(a["body"])} for a in row["allowed"]]
    return {**row, "allowed": allowed, "observed": json_text(row["observed"])}


def json_text(body: Any) -> str:
    """Return a body as text."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))
