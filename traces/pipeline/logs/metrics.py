"""Compute metrics from the rows of an audit: per group and day, per hour, per deployment.

A rebalance belongs to the day and hour of its cause.  From its cause until the first assignment is
sent (or, if another rebalance came first, until its joins are answered) the group's partitions are
counted as not consumed.  Overlapping times count once; a time over midnight counts on both days.
This is an upper bound: members that keep their partitions meanwhile, as cooperative ones do, look
the same in a log.

Make the page of an audit's metrics, with its charts.

The charts: rebalances by the hour and their causes, how long they took, the time in which
partitions were not consumed, and fencing by the day.  Each chart is an image in the page; the table
beside it has the same numbers.
"""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import matplotlib as mpl
import pyarrow as pa
from matplotlib.figure import Figure

from fencepost.model.history.words import plural
from fencepost.traces.operations.operator_rows import Cause, Remedy
from fencepost.traces.operations.problem_words import seconds
from fencepost.traces.pages.html import page
from fencepost.traces.pipeline.corpus.corpus import DONE
from fencepost.traces.pipeline.corpus.shard_jobs import JobEngine, Merge
from fencepost.traces.pipeline.logs.audit_plan import LogAudit
from fencepost.traces.pipeline.logs.part_tables import part_table
from fencepost.traces.pipeline.storage.log_tables import table

DAY_MS, HOUR_MS = 86_400_000, 3_600_000
UP_TO_MS = (100, 300, 1_000, 3_000, 10_000, 30_000, 60_000, 300_000, 2**53)
"""Classes of the duration of rebalances."""
FOLDER = "metrics"

CAUSES = {cause: cause.value.replace(" ", "_") for cause in Cause} | {
    Cause.UNKNOWN: "unknown_cause"
}
_REMEDIES = {
    Remedy.STATIC.value: "static_avoids",
    Remedy.LONGER_SESSION.value: "longer_session_avoids",
    Remedy.NO_LEAVE.value: "no_leave_avoids",
    Remedy.LONGER_POLL.value: "longer_poll_avoids",
}
_COLUMN_OF = {cause.value: column for cause, column in CAUSES.items()}
SUMS = (
    "rebalances",
    *CAUSES.values(),  # rebalances by their cause
    "rebalance_ms",  # all durations that are known
    "rebalances_of_unknown_length",
    "stopped_ms",  # in which partitions were not consumed, at most
    "fenced",  # members that were told so
    "thrown_out",  # members whose session expired, though they were alive
    "restarts",
    "expirations",
    "expirations_for_good",  # of these, members that did not come back
    "loops",  # that began on this day
    "unused_member_ids",
    "failovers",
    "deployments",
    "deployment_rebalances",
    *_REMEDIES.values(),  # rebalances that this would have avoided
)
_COUNTED = (
    ("restarts", "restarts", "at_ms"),
    ("loops", "loops", "from_ms"),
    ("pending_ids", "unused_member_ids", "at_ms"),
    ("failovers", "failovers", "at_ms"),
)
"""Tables whose rows are counted: their name, the column of their count, and that of their time."""
GROUP_DAYS = table(
    ("group", pa.string()),
    ("day_ms", pa.int64()),  # its beginning, UTC
    *((name, pa.int64()) for name in SUMS),
)
"""A group's day on which anything happened."""

DAYS = table(("day_ms", pa.int64()), *((name, pa.int64()) for name in SUMS))
HOURS = table(("hour_ms", pa.int64()), ("cause", pa.string()), ("rebalances", pa.int64()))
DURATIONS = table(("up_to_ms", pa.int64()), ("rebalances", pa.int64()))
TOP = pa.schema(
    [("shard", pa.int64()), ("group", pa.string()), *((name, pa.int64()) for name in SUMS)]
)
_MOST = 20


@dataclass(frozen=True)
class _Of:
    """A job on the rows of a part."""

    audit: LogAudit

    def rows(self, name: str, part: int, columns: list[str]) -> Iterator[dict[str, Any]]:
        with self.audit.place.opened(part_table(name, part)) as rows:
            for batch in rows.iter_batches(5_000, columns=columns):
                yield from batch.to_pylist()


@dataclass(frozen=True)
class Measure(_Of):
    """Writes the metrics of each group of a part, day by day."""

    schema = DONE

    def __call__(self, number: int) -> pa.Table:
        """Write the part's rows; return its number and theirs."""
        rows = [
            {"group": group, "day_ms": day_ms, **{name: counts[name] for name in SUMS}}
            for (group, day_ms), counts in sorted(self._counted(number).items())
        ]
        made = pa.Table.from_pylist(rows, schema=GROUP_DAYS)
        self.audit.place.write(part_table(FOLDER, number), made)
        return pa.Table.from_pylist([{"shard": number, "rows": len(rows)}], schema=DONE)

    def _counted(self, number: int) -> dict[tuple[str, int], Counter[str]]:
        counted: dict[tuple[str, int], Counter[str]] = {}

        def on(group: str, at_ms: int, **counts: int) -> None:
            counted.setdefault((group, _floor(at_ms, DAY_MS)), Counter()).update(counts)

        stopped: dict[str, list[tuple[int, int]]] = {}
        columns = ["group", "start_ms", "completed_ms", "stable_ms", "cause", "remedy"]
        for row in self.rows("rebalances", number, [*columns, "duration_ms"]):
            group, start_ms = row["group"], row["start_ms"]
            counts = {"rebalances": 1, _COLUMN_OF[row["cause"]]: 1}
            if (avoids := _REMEDIES.get(row["remedy"])) is not None:
                counts[avoids] = 1
            if row["duration_ms"] is None:
                counts["rebalances_of_unknown_length"] = 1
            else:
                counts["rebalance_ms"] = row["duration_ms"]
            on(group, start_ms, **counts)
            until_ms = row["completed_ms"] if row["stable_ms"] is None else row["stable_ms"]
            stopped.setdefault(group, []).append((start_ms, until_ms))
        for group, times in stopped.items():
            for day_ms, ms in by_day(united(times)):
                on(group, day_ms, stopped_ms=ms)
        for row in self.rows("life_lines", number, ["group", "fenced_ms"]):
            if row["fenced_ms"] is not None:
                on(row["group"], row["fenced_ms"], fenced=1)
        for row in self.rows("thrown_out", number, ["group", "at_ms"]):
            on(row["group"], row["at_ms"], thrown_out=1)
        for row in self.rows("expirations", number, ["group", "at_ms", "back_ms", "is_unclear"]):
            for_good = row["back_ms"] is None and not row["is_unclear"]
            on(row["group"], row["at_ms"], expirations=1, expirations_for_good=int(for_good))
        for name, column, moment in _COUNTED:
            for row in self.rows(name, number, ["group", moment]):
                on(row["group"], row[moment], **{column: 1})
        for row in self.rows("deployments", number, ["group", "from_ms", "rebalances"]):
            cost = row["rebalances"]
            on(row["group"], row["from_ms"], deployments=1, deployment_rebalances=cost)
        return counted


@dataclass(frozen=True)
class ByDay(_Of):
    """The days of a part, all groups together."""

    schema = DAYS

    def __call__(self, number: int) -> pa.Table:
        """Return a row for each of a group's."""
        return self.audit.place.read(part_table(FOLDER, number)).drop_columns(["group"])


@dataclass(frozen=True)
class ByHour(_Of):
    """The rebalances of a part, hour by hour."""

    schema = HOURS

    def __call__(self, number: int) -> pa.Table:
        """Return a row for each hour and cause."""
        counts: Counter[tuple[int, str]] = Counter()
        for row in self.rows("rebalances", number, ["start_ms", "cause"]):
            counts[_floor(row["start_ms"], HOUR_MS), row["cause"]] += 1
        rows = [{"hour_ms": h, "cause": c, "rebalances": n} for (h, c), n in counts.items()]
        return pa.Table.from_pylist(rows, schema=HOURS)


@dataclass(frozen=True)
class ByDuration(_Of):
    """The rebalances of a part by how long they took, of those that came to their end."""

    schema = DURATIONS

    def __call__(self, number: int) -> pa.Table:
        """Return a row for each class."""
        counts: Counter[int] = Counter()
        for row in self.rows("rebalances", number, ["duration_ms"]):
            if row["duration_ms"] is not None:
                counts[next(ms for ms in UP_TO_MS if row["duration_ms"] <= ms)] += 1
        rows = [{"up_to_ms": ms, "rebalances": n} for ms, n in counts.items()]
        return pa.Table.from_pylist(rows, schema=DURATIONS)


@dataclass(frozen=True)
class Busiest(_Of):
    """The groups of a part that rebalanced most."""

    schema = TOP

    def __call__(self, number: int) -> pa.Table:
        """Return a row for each, all its days together."""
        counted: dict[str, Counter[str]] = {}
        for row in self.rows(FOLDER, number, ["group", *SUMS]):
            counted.setdefault(row.pop("group"), Counter()).update(row)
        most = sorted(counted.items(), key=lambda item: (-item[1]["rebalances"], item[0]))[:_MOST]
        rows = [{"shard": number, "group": g, **{n: c[n] for n in SUMS}} for g, c in most]
        return pa.Table.from_pylist(rows, schema=TOP)


@dataclass(frozen=True, slots=True)
class Metrics:
    """All groups together: by day, by hour and cause, by duration; and the busiest groups."""

    days: pa.Table
    hours: pa.Table
    durations: pa.Table
    busiest: list[dict[str, Any]]

    @property
    def totals(self) -> dict[str, int]:
        """The sum of all days."""
        return {name: sum(self.days[name].to_pylist()) for name in SUMS}


def measure_logs(engine: JobEngine, audit: LogAudit) -> Metrics:
    """Compute the metrics, and write them beside the audit."""
    parts = range(audit.parts)
    engine.each(Measure(audit), parts)
    days = engine.merged(ByDay(audit), parts, Merge(("day_ms",), SUMS, ()))
    hours = engine.merged(ByHour(audit), parts, Merge(("hour_ms", "cause"), ("rebalances",), ()))
    lasted = engine.merged(ByDuration(audit), parts, Merge(("up_to_ms",), ("rebalances",), ()))
    for name, made in (("days", days), ("hours", hours), ("durations", lasted)):
        audit.place.write(f"{FOLDER}_{name}.parquet", made)
    rows = engine.each(Busiest(audit), parts).drop_columns(["shard"]).to_pylist()
    rows.sort(key=lambda row: (-row["rebalances"], row["group"]))
    return Metrics(days, hours, lasted, rows[:_MOST])


def united(times: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge times that overlap."""
    spans: list[tuple[int, int]] = []
    for since, until in sorted(times):
        if spans and since <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(spans[-1][1], until)
        else:
            spans.append((since, until))
    return spans


def by_day(times: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield each day of a time, and how much of it."""
    for since, until in times:
        day_ms = _floor(since, DAY_MS)
        while day_ms < until:
            ms = min(until, day_ms + DAY_MS) - max(since, day_ms)
            if ms:
                yield day_ms, ms
            day_ms += DAY_MS


def _floor(at_ms: int, unit_ms: int) -> int:
    return at_ms - at_ms % unit_ms


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
    """An image, its title, and the same as a table."""

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
        ("Members that expired", _expired(totals)),
        ("Restarts with a rebalance", f"{totals['restarts']:,}"),
        ("Loops", f"{totals['loops']:,}"),
        ("Member ids that were not used", f"{totals['unused_member_ids']:,}"),
        ("Failovers of groups", f"{totals['failovers']:,}"),
        ("Members fenced", f"{totals['fenced']:,}"),
        ("Thrown out alive", f"{totals['thrown_out']:,}"),
        ("Deployments", f"{totals['deployments']:,}, {_each(totals)}"),
        ("Static membership would have avoided", plural(totals["static_avoids"], "rebalance")),
        ("A longer session timeout", f"{totals['longer_session_avoids']:,}"),
        ("No LeaveGroup from static members", f"{totals['no_leave_avoids']:,}"),
        ("A longer max.poll.interval.ms", f"{totals['longer_poll_avoids']:,}"),
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


def _expired(totals: dict[str, int]) -> str:
    never = totals["expirations_for_good"]
    return f"{totals['expirations']:,}{f', {never:,} for good' if never else ''}"


def _by_hour(metrics: Metrics) -> Chart:
    rows = metrics.hours.to_pylist()
    hours = sorted({row["hour_ms"] for row in rows})
    last_hours = hours[-_MOST_HOURS:]
    causes = [c.value for c in Cause if any(row["cause"] == c.value for row in rows)]
    counts = {(row["hour_ms"], row["cause"]): row["rebalances"] for row in rows}
    series = {cause: [counts.get((hour, cause), 0) for hour in last_hours] for cause in causes}
    cut = f", the last {_MOST_HOURS} of {len(hours)}" if len(last_hours) < len(hours) else ""
    return Chart(
        "Rebalances by the hour",
        f"By their cause; hours with any{cut}, UTC.",
        _bars([_hour(hour) for hour in last_hours], series),
        ("hour", *causes),
        tuple((_hour(h), *(f"{series[c][n]:,}" for c in causes)) for n, h in enumerate(last_hours)),
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
        _bars(list(map(_day, days)), {"seconds": [each / 1000 for each in ms]}),
        ("day", "time"),
        tuple((_day(day), seconds(each)) for day, each in zip(days, ms, strict=True)),
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
