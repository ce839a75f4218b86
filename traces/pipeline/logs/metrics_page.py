"""Make the page of an audit's metrics, with its charts.

The charts: rebalances by the hour and their causes, how long they took, the time in which
partitions were not consumed, and fencing by the day.  Each chart is an image in the page; the table
beside it has the same numbers.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from fencepost.model.history.words import plural
from fencepost.traces.operations.operator_rows import Cause
from fencepost.traces.operations.operator_words import seconds
from fencepost.traces.pages.html import page
from fencepost.traces.pipeline.logs.metrics import UP_TO_MS, Metrics

_INK = "#7a7a85"
_COLOURS = ("#3b7dd8", "#e08a1e", "#2a9d76", "#b3589a", "#c94f4f", "#6f62c9", "#8a8f3c", _INK)
_MOST_HOURS = 24 * 31
_LEAST_BARS = 8
_SVG: Any = {
    "svg.hashsalt": "fencepost",  # the same numbers are the same bytes
    "svg.fonttype": "path",
    "font.size": 9.0,
    "text.color": _INK,
    "axes.labelcolor": _INK,
}


@dataclass(frozen=True, slots=True)
class Chart:
    """An image, what it shows, and the same as a table."""

    title: str
    says: str
    image: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def metrics_page(metrics: Metrics, name: str) -> str:
    """Make the page; `name`: of the audit."""
    totals = metrics.totals
    count = totals["rebalances"]
    facts = [
        ("Rebalances", f"{count:,}"),
        ("Partitions not consumed, at most", seconds(totals["stopped_ms"])),
        ("Members fenced", f"{totals['fenced']:,}"),
        ("Thrown out alive", f"{totals['thrown_out']:,}"),
        ("Deployments", f"{totals['deployments']:,}, {_each(totals)}"),
        ("Static membership would have avoided", plural(totals["static_avoids"], "rebalance")),
        ("A longer session timeout", f"{totals['longer_session_avoids']:,}"),
        ("No LeaveGroup from static members", f"{totals['no_leave_avoids']:,}"),
    ]
    charts = [_by_hour(metrics), _durations(metrics), _stopped(metrics), _fenced(metrics)]
    busiest = [
        (
            row["group"],
            f"{row['rebalances']:,}",
            seconds(row["stopped_ms"]),
            f"{row['fenced']:,}",
            f"{row['static_avoids']:,}",
        )
        for row in metrics.busiest
    ]
    heading = f"Rebalances of {name}"
    values = {"heading": heading, "facts": facts, "charts": charts, "busiest": busiest}
    return page("metrics.html", heading, {}, **values)


def _each(totals: dict[str, int]) -> str:
    if not totals["deployments"]:
        return "none"
    return f"{totals['deployment_rebalances'] / totals['deployments']:.1f} rebalances each"


def _by_hour(metrics: Metrics) -> Chart:
    rows = metrics.hours.to_pylist()
    hours = sorted({row["hour_ms"] for row in rows})
    shown = hours[-_MOST_HOURS:]
    causes = [c.value for c in Cause if any(row["cause"] == c.value for row in rows)]
    counts = {(row["hour_ms"], row["cause"]): row["rebalances"] for row in rows}
    series = {cause: [counts.get((hour, cause), 0) for hour in shown] for cause in causes}
    cut = f", the last {_MOST_HOURS} of {len(hours)}" if len(shown) < len(hours) else ""
    return Chart(
        "Rebalances by the hour",
        f"By their cause; hours with any{cut}, UTC.",
        _bars([_hour(hour) for hour in shown], series),
        ("hour", *causes),
        tuple((_hour(h), *(f"{series[c][n]:,}" for c in causes)) for n, h in enumerate(shown)),
    )


def _durations(metrics: Metrics) -> Chart:
    counts = dict(zip(*(c.to_pylist() for c in metrics.durations.columns), strict=True))
    names = [*(f"≤ {seconds(ms)}" for ms in UP_TO_MS[:-1]), "longer"]
    series = [counts.get(ms, 0) for ms in UP_TO_MS]
    return Chart(
        "How long rebalances took",
        "From the cause until the first assignment; those that ended in another one are left out.",
        _bars(names, {"rebalances": series}),
        ("duration", "rebalances"),
        tuple((name, f"{n:,}") for name, n in zip(names, series, strict=True)),
    )


def _stopped(metrics: Metrics) -> Chart:
    days, ms = (metrics.days[name].to_pylist() for name in ("day_ms", "stopped_ms"))
    return Chart(
        "Partitions not consumed",
        "Seconds in which a group was between its members, all groups together, at most: "
        "cooperative members go on meanwhile.",
        _bars(list(map(_day, days)), {"seconds": [one / 1000 for one in ms]}),
        ("day", "time"),
        tuple((_day(day), seconds(one)) for day, one in zip(days, ms, strict=True)),
    )


def _fenced(metrics: Metrics) -> Chart:
    names = {"fenced": "fenced", "thrown_out": "thrown out alive", "static_avoids": "avoidable"}
    days = list(map(_day, metrics.days["day_ms"].to_pylist()))
    series = {word: metrics.days[name].to_pylist() for name, word in names.items()}
    return Chart(
        "Members fenced or removed, and rebalances that static membership would have avoided",
        "By the day, UTC.",
        _bars(days, series, beside=True),
        ("day", *series),
        tuple((day, *(f"{s[n]:,}" for s in series.values())) for n, day in enumerate(days)),
    )


def _bars(names: Sequence[str], series: dict[str, list[Any]], *, beside: bool = False) -> str:
    with mpl.rc_context(_SVG):
        figure = Figure(figsize=(8, 2.6), layout="constrained")
        axes = figure.add_subplot()
        below = [0.0] * len(names)
        width = 0.8 / len(series) if beside and series else 0.8
        for number, (label, values) in enumerate(series.items()):
            colour = _COLOURS[number % len(_COLOURS)]
            at = [n + number * width * beside for n in range(len(names))]
            bottom = None if beside else below
            axes.bar(at, values, width, bottom=bottom, label=label, color=colour)
            below = [low + value for low, value in zip(below, values, strict=True)]
        every = max(1, len(names) // 12)
        axes.set_xticks(range(0, len(names), every), names[::every], rotation=30, ha="right")
        axes.tick_params(colors=_INK)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(_INK)
        axes.set_xlim(-0.6, max(len(names), _LEAST_BARS) - 0.4)
        if len(series) > 1:
            figure.legend(loc="outside upper left", frameon=False, ncols=8)
        text = io.BytesIO()
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    return f"data:image/svg+xml;base64,{base64.b64encode(text.getvalue()).decode()}"


def _hour(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:00")


def _day(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d")
