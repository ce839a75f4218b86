"""Print a simulation as tables, and write it as a folder with JSON and a page.

The page has the figures side by side, and each partition's timeline.  All forms have one time axis,
so that they can be compared.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from fencepost.conformance.simulate.deployment_scenario import DeploymentScenario
from fencepost.conformance.simulate.simulate import FIGURES, Cost, Variant, costs_json, percentiles
from fencepost.model.history.words import at_most, plural, sentence, verdict_line
from fencepost.traces.files.text_files import cell
from fencepost.traces.report.report_writer import PlainReport, TemplatePage, write_report

_LOST = "unavailable_partition_s"
_DRAWN = 40
"""Partitions that have a lane; of more, those with the longest gaps."""
_WIDTH, _ROW, _LEFT, _TOP, _CHART = 1000, 18, 150, 20, 64
_LETTER = 6.2
_THIN = 0.4
"""A gap that is narrower, in the picture's units, is not drawn."""
_ROUND_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600)
_REBALANCES = 200
_PICTURES = 12
"""Forms that have a timeline."""
_COLUMNS = 4
"""Forms that stand side by side; of more, each is a row."""

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HeldBar:
    """A time for which a partition was consumed by a member, or by two (`kind` `twice`)."""

    x: float
    width: float
    kind: str
    says: str
    name: str


@dataclass(frozen=True, slots=True)
class PartitionLane:
    """A partition."""

    name: str
    y: int
    away: str
    bars: tuple[HeldBar, ...]


@dataclass(frozen=True, slots=True)
class PartitionTimeline:
    """One form's picture: the number of unconsumed partitions, rebalances, and a lane each.

    `end`: of this run; others may last longer.
    """

    name: str
    height: int
    end: float
    most: int
    area: str
    base: int
    ticks: tuple[tuple[float, str], ...]
    marks: tuple[tuple[float, str], ...]
    lanes: tuple[PartitionLane, ...]
    count: int
    document: Document
    rebalances: tuple[Mapping[str, Any], ...]


def simulation_verdict(documents: Sequence[Document]) -> str:
    """Return the verdict on one line: the cost of one form, or the forms that lose least and most.

    `documents`: of each form, as its JSON.  Of several seeds the figures are medians.
    """
    first, count = documents[0], len(documents)
    troubles = sum(len(_troubles(document)) for document in documents)
    trouble = f"; {plural(troubles, 'problem')}" if troubles else ""
    if count == 1:
        rebalances = plural(round(_median(first, "rebalances")), "rebalance")
        lost = f"{_median(first, _LOST):,.1f} partition-seconds not consumed"
        gap = f", the longest gap {_median(first, 'longest_gap_s'):,.1f} s"
        words = f"{rebalances}, {lost}"
        return verdict_line(
            (first["scenario"],), (f"{words}{gap}{trouble}", f"{words}{trouble}", words)
        )
    ranked = sorted(documents, key=lambda document: _median(document, _LOST))
    (best, least), (worst, most) = (
        (str(each["variant"]), f"{_median(each, _LOST):,.1f}") for each in (ranked[0], ranked[-1])
    )
    which = "" if count == 2 else " most,"
    words = f"{best} loses least, {least} partition-seconds; {worst}{which} {most}"
    short = f"{at_most(45, best)} loses least, {least} partition-seconds"
    return verdict_line((first["scenario"],), (f"{words}{trouble}", words, short))


def _median(document: Document, name: str) -> float:
    of_all = document.get("percentiles")
    return float((document[name] if of_all is None else of_all[name]["p50"]) or 0.0)


def simulation_page(
    about: str, documents: Sequence[Document], figures: Sequence[Sequence[tuple[str, str]]]
) -> TemplatePage:
    """Make the page.  `documents`: of each form, as its JSON; `figures`: of each, as text."""
    lasted_s = max(0.001, *(document["lasted_s"] for document in documents))
    first = documents[0]
    names = [document["variant"] for document in documents]
    sizes = {(document["members"], document["partitions"]) for document in documents}
    corner, heads = "figure", names
    rows = [
        (cells[0][0], [written for _, written in cells]) for cells in zip(*figures, strict=True)
    ]
    if len(names) > _COLUMNS:
        corner, heads = "form", [label for label, _ in figures[0]]
        rows = [
            (name, [written for _, written in cells])
            for name, cells in zip(names, figures, strict=True)
        ]
    return TemplatePage(
        "simulation.html",
        f"{first['scenario']}: simulation",
        {
            "about": about,
            "verdict": simulation_verdict(documents),
            "first": first,
            "several": len(first.get("seeds", ())),
            "forms": len(names),
            "has_one_size": len(sizes) == 1,
            "corner": corner,
            "heads": heads,
            "rows": rows,
            "timelines": [_timeline(document, lasted_s) for document in documents[:_PICTURES]],
            "width": _WIDTH,
            "left": _LEFT,
            "top": _TOP,
            "chart": _CHART,
            "troubles": [
                (document["variant"], line)
                for document in documents
                for line in _troubles(document)
            ],
        },
        "simulation.css",
    )


def _troubles(document: Document) -> list[str]:
    sentences = [f"{line}." for line in document["halted"]]
    sentences += [
        f"At {each['at_s']:,.1f} s {each['member']} got {each['code']} ({each['where']}), "
        "and its process ended."
        for each in document["failures"][:20]
    ]
    if document["balanced_after_s"] is None:
        sentences.append("The group was not balanced at the end.")
    return sentences


def _timeline(document: Document, lasted_s: float) -> PartitionTimeline:
    scale = (_WIDTH - _LEFT) / lasted_s
    rows = document["each_partition"]
    worst = sorted(rows, key=lambda row: -row["unavailable_s"])[:_DRAWN]
    chosen = sorted(worst, key=lambda row: (row["topic"], row["partition"]))
    begin = _TOP + _CHART + 12
    lanes = tuple(
        PartitionLane(
            f"{row['topic']}-{row['partition']}",
            begin + number * _ROW,
            f"{row['unavailable_s']:,.1f} s",
            _bars(row, scale),
        )
        for number, row in enumerate(chosen)
    )
    most, area = _away(rows, document["lasted_s"], scale)
    return PartitionTimeline(
        document["variant"],
        begin + len(lanes) * _ROW + 4,
        round(_LEFT + document["lasted_s"] * scale, 1),
        most,
        area,
        _TOP + _CHART,
        _ticks(lasted_s, scale),
        tuple(
            (round(_LEFT + row["at_s"] * scale, 1), f"{row['at_s']:,.1f} s: {_row_text(row)}")
            for row in document["each_rebalance"]
        ),
        lanes,
        len(rows),
        document,
        tuple({**row, "said": _row_text(row)} for row in document["each_rebalance"][:_REBALANCES]),
    )


def _row_text(row: Mapping[str, Any]) -> str:
    note = f" ({row['note']})" if row["note"] else ""
    also = f", also {', '.join(row['also'])}" if row["also"] else ""
    return f"{row['cause']}: {row['who']}{note}{also}"


def _ticks(lasted_s: float, scale: float) -> tuple[tuple[float, str], ...]:
    step = next((s for s in _ROUND_S if lasted_s / s <= 8), math.ceil(lasted_s / 8))
    count = int(lasted_s / step)
    return tuple(
        (round(_LEFT + number * step * scale, 1), f"{number * step:,g} s")
        for number in range(count + 1)
    )


def _bars(row: Mapping[str, Any], scale: float) -> tuple[HeldBar, ...]:
    """Return the bars of a lane; those of one member that nearly touch are one."""
    merged: list[list[Any]] = []
    for from_s, until_s, member in row["held"]:
        last = merged[-1] if merged else None
        if last and last[2] == member and 0 <= (from_s - last[1]) * scale < _THIN:
            last[1] = until_s
        else:
            merged.append([from_s, until_s, member])
    bars, turn, before, end_s = [], 0, None, 0.0
    for from_s, until_s, member in merged:
        turn += before is not None and member != before
        before = member
        bars.append(_bar(from_s, until_s, member, "ab"[turn % 2], scale))
        if from_s < end_s:
            both_s = min(until_s, end_s)
            bars.append(_bar(from_s, both_s, "two members", "twice", scale))
        end_s = max(end_s, until_s)
    return tuple(bars)


def _bar(from_s: float, until_s: float, member: str, kind: str, scale: float) -> HeldBar:
    width = max(round((until_s - from_s) * scale, 1), 0.5)
    name = member if kind != "twice" and len(member) * _LETTER + 8 < width else ""
    says = f"{member}, {from_s:,.1f} s to {until_s:,.1f} s"
    return HeldBar(round(_LEFT + from_s * scale, 1), width, kind, says, name)


def _away(rows: Sequence[Mapping[str, Any]], until_s: float, scale: float) -> tuple[int, str]:
    """Return the most partitions without a consumer at once, and the outline over time."""
    steps: dict[float, int] = {0.0: 0}
    for row in rows:
        end_s = 0.0
        for from_s, to_s, _ in (*row["held"], (until_s, until_s, "")):
            if from_s > end_s:
                steps[end_s] = steps.get(end_s, 0) + 1
                steps[from_s] = steps.get(from_s, 0) - 1
            end_s = max(end_s, to_s)
    times = sorted(steps)
    counts = list(accumulate(steps[at] for at in times))
    most = max(*counts, 1)
    base = _TOP + _CHART
    points = [f"M{_LEFT} {base}"]
    for at, count in zip(times, counts, strict=True):
        x, y = round(_LEFT + at * scale, 1), round(base - count / most * _CHART, 1)
        points.append(f"H{x}V{y}")
    points.append(f"H{round(_LEFT + until_s * scale, 1)}V{base}Z")
    return max(counts), "".join(points)


_ROWS = 20
Number = float | None


def _count(value: Number) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _seconds(value: Number) -> str:
    return "never" if value is None else f"{value:,.1f} s"


def _bytes(value: Number) -> str:
    return "-" if value is None else f"{value / 1000:,.1f} kB"


ROWS: Mapping[str, tuple[str, Callable[[Number], str]]] = {
    "rebalances": ("rebalances", _count),
    "generations": ("generations", _count),
    "partitions_moved": ("partitions moved", _count),
    "unavailable_partition_s": ("not consumed, over all partitions", _seconds),
    "longest_gap_s": ("longest time that a partition was not consumed", _seconds),
    "twice_partition_s": ("consumed by two at once, over all partitions", _seconds),
    "far_partition_s": ("consumed from another rack, over all partitions", _seconds),
    "balanced_after_s": ("balanced after", _seconds),
    "requests": ("requests at the coordinator", _count),
    "bytes": ("bytes there, both ways", _bytes),
}
"""The figures: of each the name and the function that formats it."""
_MEANS: Mapping[str, Callable[[Number], str]] = {
    "rebalances": lambda mean: f"{mean:,.1f}",
    "unavailable_partition_s": _seconds,
}
"""Figures whose mean is printed, too: `advise` gives means."""
_CHOSEN_BY = {
    "rebalances": "rebalances",
    "partitions_moved": "moved",
    "unavailable_partition_s": "not consumed",
    "longest_gap_s": "longest",
    "far_partition_s": "from another rack",
    "balanced_after_s": "balanced after",
}


def print_variants(
    scenario: DeploymentScenario,
    variants: Sequence[Variant],
    console: Console,
    *,
    as_rows: bool = False,
) -> None:
    """Print what each form costs, side by side or `as_rows`; of one alone its rebalances, too."""
    first = variants[0].first
    verdict = simulation_verdict([variant.document().plain() for variant in variants])
    for line in filter(None, (verdict, scenario.about, _title(variants))):
        console.print(line, soft_wrap=True, markup=False)
    console.print(_each_a_row(variants) if as_rows else _figures(variants))
    for variant in variants:
        is_named = len(variants) > 1
        for line in (
            *_trouble(variant.first, named=is_named),
            *_never_applied(variant, named=is_named),
        ):
            console.print(line, soft_wrap=True, markup=False)
    if len(variants) == 1 and first.each_rebalance:
        console.print(_rebalances(first))
        if len(first.each_rebalance) > _ROWS:
            left = len(first.each_rebalance) - _ROWS
            console.print(f"{left} more rebalances are in --json and --report.")


def _title(variants: Sequence[Variant]) -> str:
    first, seeds = variants[0].first, len(variants[0].costs)
    runs = f"seed {first.seed}" if seeds == 1 else f"{seeds} seeds from {first.seed} on"
    sizes = {(variant.first.members, variant.first.partitions) for variant in variants}
    size = f"{len(variants)} sets of values"
    if len(sizes) == 1:
        size = f"{first.members} members, {first.partitions} partitions"
    return sentence(f"{size}, {runs}")


def _figures(variants: Sequence[Variant]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("")
    for variant in variants:
        table.add_column(variant.first.variant, justify="right")
    if len(variants[0].costs) > 1:
        table.add_row("", *("p50 / p95" for _ in variants), style="dim")
    columns = [_written(variant) for variant in variants]
    for name, (label, _) in columns[0].items():
        table.add_row(label, *(column[name][1] for column in columns))
    if len(variants[0].costs) > 1:
        for name in _MEANS:
            means = (percentiles(variant.costs)[name].mean for variant in variants)
            table.add_row(f"{ROWS[name][0]}, mean", *(_MEANS[name](mean) for mean in means))
    return table


def _each_a_row(variants: Sequence[Variant]) -> Table:
    """Return the figures that settings are chosen by, a row for each form."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("p50 / p95" if len(variants[0].costs) > 1 else "")
    rows = {variant.first.variant: _written(variant) for variant in variants}
    names = [name for name in _CHOSEN_BY if all(name in row for row in rows.values())]
    for name in names:
        table.add_column(_CHOSEN_BY[name], justify="right")
    for form, row in rows.items():
        table.add_row(form, *(row[name][1] for name in names))
    return table


def _trouble(cost: Cost, *, named: bool) -> list[str]:
    """Return the problems of a run, in sentences."""
    who = f"{cost.variant}: " if named else ""
    sentences = [f"{who}{line}." for line in cost.halted]
    sentences += [
        f"{who}{each.at_s:,.1f} s: {each.member} got {each.code} ({each.where}), and ended."
        for each in cost.failures[:_ROWS]
    ]
    if len(cost.failures) > _ROWS:
        sentences.append(f"{who}{len(cost.failures) - _ROWS} more processes ended so.")
    if cost.balanced_after_s is None:
        sentences.append(f"{who}the group was not balanced at the end.")
    return sentences


def _never_applied(variant: Variant, *, named: bool) -> Iterator[str]:
    """Yield a sentence for each rule of a user's own revision that decided nothing."""
    who = f"{variant.first.variant}: " if named else ""
    runs = "this run" if len(variant.costs) == 1 else "these runs"
    for rule in variant.rules_never_applied:
        yield f"{who}{rule} never applied in {runs}."


def _rebalances(cost: Cost) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("at", "cause", "members", "took", "would have avoided it"):
        is_text = name in {"cause", "would have avoided it"}
        table.add_column(name, justify="left" if is_text else "right")
    for row in cost.each_rebalance[:_ROWS]:
        also = f", also {', '.join(row.also)}" if row.also else ""
        note = f" ({row.note})" if row.note else ""
        table.add_row(
            f"{row.at_s:,.1f} s",
            f"{row.cause}: {row.who}{note}{also}",
            "-" if row.members is None else str(row.members),
            "cut off" if row.took_s is None else f"{row.took_s:,.1f} s",
            row.remedy,
        )
    return table


def write_simulation(
    scenario: DeploymentScenario, variants: Sequence[Variant], folder: Path
) -> None:
    """Write `simulation.json`, `runs.csv` and `index.html`.  Raises ReportError."""
    page = simulation_page(
        scenario.about,
        [variant.document().plain() for variant in variants],
        [list(_written(variant).values()) for variant in variants],
    )
    others = {"runs.csv": runs_csv(variants)}
    write_report(PlainReport("simulation.json", costs_json(variants), page, others), folder)


def runs_csv(variants: Sequence[Variant]) -> str:
    """Return a row for each run: its form, its seed, and its figures."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["variant", "seed", *FIGURES])
    for variant in variants:
        for cost in variant.costs:
            writer.writerow([cell(cost.variant), cost.seed, *cost.figures().values()])
    return text.getvalue()


def _written(variant: Variant) -> dict[str, tuple[str, str]]:
    """Return the names and formatted figures of a form, without racks where they aren't known."""
    names = [
        name
        for name in ROWS
        if name != "far_partition_s" or variant.first.far_partition_s is not None
    ]
    several = percentiles(variant.costs) if len(variant.costs) > 1 else None
    figures = {}
    for name in names:
        label, write = ROWS[name]
        if several is None:
            figures[name] = label, write(getattr(variant.first, name))
        else:
            of = several[name]
            figures[name] = label, f"{write(of.p50)} / {write(of.p95)}"
    return figures
