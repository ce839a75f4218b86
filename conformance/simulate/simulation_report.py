"""Tells what a simulation came to: tables in the terminal, and a folder with JSON and a page."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from fencepost.conformance.simulate.cost import FIGURES, Cost, Variant, costs_json, percentiles
from fencepost.conformance.simulate.deployment_scenario import DeploymentScenario
from fencepost.conformance.simulate.simulation_page import simulation_page
from fencepost.traces.report.report_folder import write_texts

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
"""The figures, what each is called, and how it is written."""
_MEANS: Mapping[str, Callable[[Number], str]] = {
    "rebalances": lambda mean: f"{mean:,.1f}",
    "unavailable_partition_s": _seconds,
}
"""Figures of which the mean is told, too: `advise` gives means."""
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
    if scenario.about:
        console.print(scenario.about, soft_wrap=True, markup=False)
    console.print(_title(variants), soft_wrap=True, markup=False)
    console.print(_each_a_row(variants) if as_rows else _figures(variants))
    for variant in variants:
        for line in _trouble(variant.first, named=len(variants) > 1):
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
    return f"{first.scenario}: {size}, {runs}"


def _figures(variants: Sequence[Variant]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("")
    for variant in variants:
        table.add_column(variant.first.variant, justify="right")
    if len(variants[0].costs) > 1:
        table.add_row("", *("p50 / p95" for _ in variants), style="dim")
    columns = [_shown(variant) for variant in variants]
    for name, (said, _) in columns[0].items():
        table.add_row(said, *(column[name][1] for column in columns))
    if len(variants[0].costs) > 1:
        for name in _MEANS:
            means = (percentiles(variant.costs)[name]["mean"] for variant in variants)
            table.add_row(f"{ROWS[name][0]}, mean", *(_MEANS[name](mean) for mean in means))
    return table


def _each_a_row(variants: Sequence[Variant]) -> Table:
    """The figures that settings are chosen by, a row for each form."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("p50 / p95" if len(variants[0].costs) > 1 else "")
    rows = {variant.first.variant: _shown(variant) for variant in variants}
    names = [name for name in _CHOSEN_BY if all(name in row for row in rows.values())]
    for name in names:
        table.add_column(_CHOSEN_BY[name], justify="right")
    for form, row in rows.items():
        table.add_row(form, *(row[name][1] for name in names))
    return table


def _trouble(cost: Cost, *, named: bool) -> list[str]:
    """What went wrong, in sentences."""
    who = f"{cost.variant}: " if named else ""
    said = [f"{who}{line}." for line in cost.halted]
    said += [
        f"{who}{each.at_s:,.1f} s: {each.member} was told {each.code} ({each.where}), and ended."
        for each in cost.failures[:_ROWS]
    ]
    if len(cost.failures) > _ROWS:
        said.append(f"{who}{len(cost.failures) - _ROWS} more processes ended so.")
    if cost.balanced_after_s is None:
        said.append(f"{who}the group was not balanced at the end.")
    return said


def _rebalances(cost: Cost) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name, side in (("at", "right"), ("cause", "left"), ("members", "right"), ("took", "right")):
        table.add_column(name, justify="right" if side == "right" else "left")
    for row in cost.each_rebalance[:_ROWS]:
        also = f", also {', '.join(row.also)}" if row.also else ""
        note = f" ({row.note})" if row.note else ""
        table.add_row(
            f"{row.at_s:,.1f} s",
            f"{row.cause}: {row.who}{note}{also}",
            "-" if row.members is None else str(row.members),
            "cut off" if row.took_s is None else f"{row.took_s:,.1f} s",
        )
    return table


def write_report(scenario: DeploymentScenario, variants: Sequence[Variant], folder: Path) -> None:
    """Write `simulation.json`, `runs.csv` and `index.html`.  Raises ReportError if it can't be."""
    document = costs_json(variants)
    texts = {
        "simulation.json": json.dumps(document, indent=1, ensure_ascii=False) + "\n",
        "runs.csv": runs_csv(variants),
        "index.html": simulation_page(
            scenario.about,
            [variant.to_json() for variant in variants],
            [list(_shown(variant).values()) for variant in variants],
        ),
    }
    write_texts(texts, folder, "--report")


def runs_csv(variants: Sequence[Variant]) -> str:
    """A row for each run: its form, its seed, and its figures."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["variant", "seed", *FIGURES])
    for variant in variants:
        for cost in variant.costs:
            writer.writerow([cost.variant, cost.seed, *cost.figures().values()])
    return text.getvalue()


def _shown(variant: Variant) -> dict[str, tuple[str, str]]:
    """A form's figures, without those of racks where they aren't known: their names, as written."""
    names = [
        name
        for name in ROWS
        if name != "far_partition_s" or variant.first.far_partition_s is not None
    ]
    several = percentiles(variant.costs) if len(variant.costs) > 1 else None
    found = {}
    for name in names:
        said, written = ROWS[name]
        if several is None:
            found[name] = said, written(getattr(variant.first, name))
        else:
            of = several[name]
            found[name] = said, f"{written(of['p50'])} / {written(of['p95'])}"
    return found
