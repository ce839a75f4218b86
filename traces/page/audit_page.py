"""The page of an audit: what the broker answered, and what an operator should know.

Decides the order: answers that no state explains first, since then nothing else may be believed;
then what is wrong with the clients, then rebalances, deployments, life lines.  Of long tables the
first rows are shown, with their count; the JSON has the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fencepost.traces.audit.operator_report import OperatorReport
from fencepost.traces.audit.operator_rows import Cause, LifeLine, Rebalance, Remedy
from fencepost.traces.audit.operator_words import at, problems, seconds, times
from fencepost.traces.page.render import page
from fencepost.traces.page.trace_data import Shown
from fencepost.traces.page.trace_page import links, traces_data

_ROWS = 200
_DRAWN = 40
_WIDTH, _ROW, _LEFT = 1000, 26, 220
_LONG_NAME = 30


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of a group: `outcome` explained, violated or unknown; its trace's name, if any."""

    group: str
    outcome: str
    reason: str
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class Bar:
    """One holder of an instance id, drawn; `x` and `width` of the picture."""

    x: float
    width: float
    kind: str
    """`a` or `b`, in turn."""
    fenced: bool
    says: str


@dataclass(frozen=True, slots=True)
class Lane:
    """One instance id, drawn."""

    name: str
    y: int
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """Life lines, drawn: of the instance ids with the most holders."""

    width: int
    height: int
    left: int
    lanes: tuple[Lane, ...]
    count: int


def audit_page(
    report: OperatorReport,
    judged: Sequence[Judged] = (),
    traces: Mapping[str, Shown] | None = None,
) -> str:
    """The page.  `judged`: every group; `traces`: of violated ones, by name."""
    shown = dict(traces or {})
    data = traces_data(list(shown.values()))
    counts = {word: sum(1 for g in judged if g.outcome == word) for word in _OUTCOMES}
    found = problems(report)
    return page(
        "audit.html",
        _heading(report, counts, len(found)),
        {**data, "index": True},
        heading=_heading(report, counts, len(found)),
        outcome=next((_OUTCOMES[w] for w in _OUTCOMES if counts[w]), "index"),
        facts=_facts(report, counts if judged else {}),
        judged=[g for g in judged if g.outcome != "explained"][:_ROWS],
        unexplained=counts["violated"] + counts["unknown"],
        problems=found[:_ROWS],
        causes=[(c.value, report.causes[c]) for c in Cause if report.causes[c]],
        remedies=[(r.value, report.remedies[r]) for r in Remedy if report.remedies[r]],
        hours=[(at(hour), count) for hour, count in sorted(report.by_hour.items())][-_ROWS:],
        most=max(report.by_hour.values(), default=0),
        deployments=report.deployments.rows[:_ROWS],
        rebalances=report.rebalances.rows[:_ROWS],
        near=report.near_timeouts.rows[:_ROWS],
        life_lines=report.life_lines.rows[:_ROWS],
        picture=_picture(report),
        report=report,
        at=at,
        seconds=seconds,
        times=times,
        saved=_saved,
        links=links(data, shown),
        traces=data["traces"],
    )


_OUTCOMES = {"violated": "violated", "unknown": "unknown", "explained": "holds"}
"""What may be said of a group, the worst first, and the word that colours it."""


def _heading(report: OperatorReport, counts: Mapping[str, int], found: int) -> str:
    told = ", ".join(f"{counts[w]:,} {w}" for w in reversed(_OUTCOMES) if counts[w])
    groups = times(sum(counts.values()) or report.groups, "group")
    return f"{groups}{': ' if told else ''}{told}; {times(found, 'problem')} with clients"


def _facts(report: OperatorReport, counts: Mapping[str, int]) -> list[tuple[str, str]]:
    if report.from_ms is None or report.until_ms is None:
        return [("the log", "holds no request of a group")]
    return [
        ("from", at(report.from_ms)),
        ("to", at(report.until_ms)),
        ("rebalances", f"{report.rebalances.count:,}"),
        *((word, f"{count:,}") for word, count in counts.items()),
    ]


def _saved(row: Rebalance) -> str:
    """What would have avoided a rebalance, with the timeout that it takes."""
    if row.session_ms is None:
        return row.remedy.value
    return f"{row.remedy.value}, session.timeout.ms {row.session_ms}"


def _picture(report: OperatorReport) -> Picture | None:
    """The life lines of those instance ids that changed hands most."""
    if report.from_ms is None or report.until_ms is None:
        return None
    by_instance: dict[tuple[str, str], list[LifeLine]] = {}
    for line in report.life_lines.rows:
        by_instance.setdefault((line.group, line.instance_id), []).append(line)
    if not by_instance:
        return None
    busiest = sorted(by_instance, key=lambda key: (-len(by_instance[key]), key))[:_DRAWN]
    span = max(report.until_ms - report.from_ms, 1)
    lanes = []
    for number, key in enumerate(busiest):
        bars = []
        for turn, line in enumerate(by_instance[key]):
            x, end = (
                _LEFT + (_WIDTH - _LEFT) * (ms - report.from_ms) / span
                for ms in (line.from_ms, line.until_ms or report.until_ms)
            )
            kind = "ab"[turn % 2]
            fenced = line.fenced_ms is not None
            width = max(round(end - x, 1), 1.0)
            bars.append(Bar(round(x, 1), width, kind, fenced, _says(line)))
        name = f"{key[1]} in {key[0]}"
        short = name if len(name) <= _LONG_NAME else f"{name[: _LONG_NAME - 1]}…"
        lanes.append(Lane(short, number * _ROW, tuple(bars)))
    height = len(lanes) * _ROW
    return Picture(_WIDTH, height, _LEFT, tuple(lanes), len(by_instance))


def _says(line: LifeLine) -> str:
    until = "" if line.until_ms is None else f" to {at(line.until_ms)}"
    by = "" if line.by is None else f" by {line.by}"
    return f"{line.process}, {at(line.from_ms)}{until}: {line.end.value}{by}"
