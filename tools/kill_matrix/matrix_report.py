"""Renders the kill matrix, for people and as JSON.

One cell says how short the evidence of a kill is, and what it took to find it.  At the end are the
totals of each engine, and of the two ways apart: to see a bug by properties alone is worth more
than to see that an answer differs from a right one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.checking.row_properties import STATES
from tools.kill_matrix.kill_matrix import (
    BY_COMPARISON,
    BY_PROPERTIES,
    COMPARE,
    DIFFER,
    EXAMPLES,
    EXPLORE,
    PAIRS,
    PROVE,
    SEARCH,
    EngineResult,
    Row,
)
from tools.kill_matrix.suite_engines import CATALOGUE, COVER

ABOUT: Mapping[str, str] = {
    EXPLORE: "exploration by properties alone: acts · worlds visited",
    SEARCH: "Hypothesis by properties alone: acts, shrunk · walks tried",
    COMPARE: "exploration beside kafka-4: acts until answers differ · pairs of worlds visited",
    DIFFER: "Hypothesis beside kafka-4: acts, shrunk · walks tried",
    CATALOGUE: "certify: steps of the shortest case that fails · cases that fail",
    COVER: "certify --suite cover, short walks first: steps of the first that fails · walks tried",
    PROVE: "prove: obligations that fail · obligations",
}
_TITLES: Mapping[str, str] = {
    EXPLORE: "explore",
    SEARCH: "hypoth.",
    COMPARE: "explore\nbeside",
    DIFFER: "hypoth.\nbeside",
    CATALOGUE: "cata-\nlogue",
    COVER: "cover\nsuite",
    PROVE: "proofs",
}
_WAYS: Mapping[str, tuple[str, ...]] = {
    "by properties alone": BY_PROPERTIES,
    "by comparison": BY_COMPARISON,
    "by a suite": (CATALOGUE, COVER),
    "by proof": (PROVE,),
}
_NOT_KILLED = "–"  # noqa: RUF001  (a dash, for nothing)
_NOT_APPLICABLE = "n/a"


def print_matrix(rows: Sequence[Row], engines: Sequence[str], screen: Console) -> None:
    """The table, what its cells mean, the totals, and what survives."""
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column("mutant", no_wrap=True)
    for engine in engines:
        grid.add_column(_TITLES[engine], justify="right", no_wrap=True)
    for row in rows:
        grid.add_row(row.mutant.name, *(_cell(row.results[e]) for e in engines))
    screen.print(grid)
    screen.print()
    for engine in engines:
        screen.print(Text(f"{engine:<16} {ABOUT[engine]}"))
    notes = {k.note for row in rows for k in row.results.values() if k.killed is None}
    for note in sorted(notes):
        screen.print(Text(f"{_NOT_APPLICABLE:<16} {note}"))
    screen.print(Text(f"{_NOT_KILLED:<16} not found"))
    screen.print()
    print_totals(rows, engines, screen)


def print_totals(rows: Sequence[Row], engines: Sequence[str], screen: Console) -> None:
    """How many are killed, by each engine and each way; then survivors and what was missed."""
    for name, count in totals(rows, engines).items():
        screen.print(Text(f"{name:<20} {count['killed']:>4} of {count['asked']} killed"))
    survivors = [row.mutant.name for row in rows if row.survives]
    missed = [f"{row.mutant.name} by {', '.join(row.missed)}" for row in rows if row.missed]
    if missed:
        screen.print(
            Text(f"missed by engines that should find it: {'; '.join(missed)}", "bold red")
        )
    if survivors:
        screen.print(Text(f"{len(survivors)} survive: {', '.join(survivors)}", "bold red"))
    else:
        screen.print(Text("no survivor", "bold green"))


def _cell(result: EngineResult) -> str:
    if result.killed is None:
        return _NOT_APPLICABLE
    return f"{result.length} · {result.cost}" if result.killed else _NOT_KILLED


def print_one(row: Row, engines: Sequence[str], screen: Console) -> None:
    """One mutant: what each engine found, with what shows it."""
    screen.print(Text.assemble((f"mutant:{row.mutant.name}", "bold"), f"  {row.mutant.about}"))
    if row.mutant.breaks:
        screen.print(Text(f"breaks {', '.join(row.mutant.breaks)}"))
    for engine in engines:
        result = row.results[engine]
        screen.print()
        found = _cell(result) + (f"  {result.by or result.note}".rstrip())
        screen.print(Text.assemble((f"{engine:<16}", "bold"), f" {found}"))
        for line in result.lines:
            screen.print(Text(f"  {line}"), soft_wrap=True)
    screen.print()
    print_totals([row], engines, screen)


def totals(rows: Sequence[Row], engines: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return for each engine that was asked, then for each way: how many are killed, of how many.

    Of the rows to which it applies.
    """
    ways = {name: tuple(e for e in way if e in engines) for name, way in _WAYS.items()}
    groups = {e: (e,) for e in engines} | {n: w for n, w in ways.items() if len(w) > 1}
    return {
        name: {
            "killed": sum(row.killed_by(*group) for row in rows),
            "asked": sum(any(row.results[e].killed is not None for e in group) for row in rows),
        }
        for name, group in (groups | {"in all": tuple(engines)}).items()
    }


def matrix_json(rows: Sequence[Row], engines: Sequence[str]) -> dict[str, Any]:
    """Return the matrix as JSON: the same for the same code."""
    return {
        "format": "fencepost-kill-matrix",
        "version": 1,
        "judge": KAFKA_4.name,
        "bounds": {"states": STATES, "pairs": PAIRS, "examples": EXAMPLES},
        "engines": [{"engine": engine, "about": ABOUT[engine]} for engine in engines],
        "mutants": [_row_json(row, engines) for row in rows],
        "totals": totals(rows, engines),
        "survivors": [row.mutant.name for row in rows if row.survives],
        "missed": {row.mutant.name: list(row.missed) for row in rows if row.missed},
    }


def _row_json(row: Row, engines: Sequence[str]) -> dict[str, Any]:
    return {
        "name": row.mutant.name,
        "source": row.mutant.source,
        "visible": row.mutant.visible,
        "breaks": list(row.mutant.breaks),
        "survives": row.survives,
        "kills": [_result_json(row.results[engine]) for engine in engines],
    }


def _result_json(result: EngineResult) -> dict[str, Any]:
    return {
        "engine": result.engine,
        "killed": result.killed,
        "length": result.length,
        "cost": result.cost,
        "by": result.by,
        "note": result.note,
        "trace": list(result.lines),
    }
