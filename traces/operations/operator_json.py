"""The operator's report as JSON, as `operator-report-1.schema.json` describes it.

Names are those of the rows' fields.  Times are ms since 1970, durations ms; what the log can't tell
is null or `unknown`.  The same log gives the same bytes.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from fencepost.traces.operations.operator_report import KINDS, LimitedRows, OperatorReport
from fencepost.traces.operations.operator_rows import Cause, Rebalance, Remedy
from fencepost.traces.operations.operator_words import operator_problems

_TABLES = (
    "chains",
    "self_fencings",
    "static_leaves",
    "thrown_out",
    "near_timeouts",
    "rebalances",
    "deployments",
    "life_lines",
)
"""The parts of a report that are rows, some of which a long log's report leaves out."""


def operator_json(report: OperatorReport) -> dict[str, Any]:
    """Return the report, with its problems first."""
    return {
        "from_ms": report.from_ms,
        "until_ms": report.until_ms,
        "groups": report.groups,
        "unreadable": report.unreadable,
        "unshown": {kind: count for kind in KINDS if (count := _unshown(report, kind))},
        "problems": [plain(problem) for problem in operator_problems(report)],
        "rebalances_by_cause": {c.value: report.causes[c] for c in Cause if report.causes[c]},
        "rebalances_by_remedy": {r.value: report.remedies[r] for r in Remedy if report.remedies[r]},
        "rebalances_unclear": dict(sorted(report.unclear.items())),
        "rebalances_by_group": [
            {"group": group, "causes": {c.value: f.causes[c] for c in Cause if f.causes[c]}}
            for group, f in sorted(report.figures.items())
        ],
        "at_end": [
            {
                "group": group,
                "static": f.static,
                "dynamic": f.dynamic,
                "rebalancing_ms": f.rebalancing_ms,
                "session_ms": f.session_ms,
                "assignors": list(f.assignors),
            }
            for group, f in sorted(report.figures.items())
        ],
        "rebalances_by_hour": [
            {"hour_ms": hour, "rebalances": report.by_hour[hour]} for hour in sorted(report.by_hour)
        ],
        **{name: _kept(getattr(report, name)) for name in _TABLES},
    }


def _unshown(report: OperatorReport, kind: str) -> int:
    """Return in how many groups the log can't show this kind of problem."""
    return sum(kind in kinds for kinds in report.unshown.values())


def _kept(kept: LimitedRows[Any]) -> dict[str, Any]:
    return {"count": kept.count, "rows": [plain(row) for row in kept.rows]}


def plain(value: Any) -> Any:
    """Return a row, or a part of one, as JSON has it."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        row = {f.name: plain(getattr(value, f.name)) for f in fields(value)}
        if isinstance(value, Rebalance):
            row["duration_ms"] = value.duration_ms
        return row
    return [plain(each) for each in value] if isinstance(value, tuple) else value
