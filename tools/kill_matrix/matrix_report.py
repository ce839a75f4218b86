"""Make the rows of the kill matrix in worker processes, and print it for people and as JSON.

A cell has the length of a kill's evidence, and its cost.  At the end are the totals of each engine,
and of the two ways apart: to find a bug by properties alone is worth more than to find an answer
that differs from a right one.

The suites are engines, too: cases run against a mutant through the adapter.  The catalogue is run
whole, since the number of cases that notice the mutant counts.  Of the cover suite the shortest
walks are run first, and the first that fails ends the run.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from fencepost.conformance.cases import entries_of
from fencepost.conformance.cases.case_registry import Entry
from fencepost.conformance.cases.suites import find_suite
from fencepost.conformance.run.certify import Options, open_target
from fencepost.conformance.targets.in_process import InProcessTarget
from fencepost.model.revision import Revision
from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.checking.row_properties import STATES
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.mutants.mutants import find_mutant
from fencepost.properties.workers.processes import run_side_by_side
from fencepost.traces.files.bounded import own_version
from fencepost.traces.files.run_trace import run_lines, run_trace
from tools.kill_matrix.kill_matrix import (
    BY_COMPARISON,
    BY_PROPERTIES,
    COMPARE,
    DIFFER,
    EXPLORE,
    MODEL_ENGINES,
    PAIRS,
    PROVE,
    SEARCH,
    EngineResult,
    Row,
    SearchSpace,
    search_space_of,
)

CATALOGUE = "catalogue"
COVER = "cover"
_WALKS = 900
"""Greatest number of walks of the cover suite to try."""
_BATCH = 50
"""Walks of the cover suite to run at once; each counts."""


def by_catalogue(revision: Revision) -> EngineResult:
    """Return the shortest case that fails; the cost is the number of failing cases."""
    failing = asyncio.run(_failing(revision, [entries_of(revision.protocol.name)]))
    return _result(CATALOGUE, failing, len(failing))


def by_cover(revision: Revision) -> EngineResult:
    """Return the first walk that fails, short ones first; the cost is the number of walks."""
    if revision.protocol.name != KAFKA_4.protocol.name:
        return EngineResult(COVER, killed=None, note="mutants of this protocol have no cover suite")
    walks = _walks()
    batches = [walks[first : first + _BATCH] for first in range(0, len(walks), _BATCH)]
    failing = asyncio.run(_failing(revision, batches))
    if not failing:
        return _result(COVER, [], len(walks))
    order = {entry.id: number for number, entry in enumerate(walks, start=1)}
    first = min(failing, key=lambda result: order[result.case.id])
    return _result(COVER, [first], order[first.case.id])


@cache
def _walks() -> tuple[Entry, ...]:
    """Return the cover suite, short walks first; the longest, most of its steps, are left out."""
    entries = find_suite(COVER, KAFKA_4).entries
    return tuple(sorted(entries, key=lambda e: len(e.case({}, delayed=False).steps))[:_WALKS])


async def _failing(revision: Revision, batches: Sequence[Sequence[Entry]]) -> list[CaseResult]:
    """Return the failing cases of the first batch that has any."""
    target = InProcessTarget(revision.name, revision, own_version())
    async with open_target(target, search_space_of(revision).base, Options()) as suite:
        for batch in batches:
            results = await suite.run(batch)
            if failing := [r for r in results if r.outcome is Outcome.FAIL]:
                return failing
    return []


def _result(engine: str, failing: Sequence[CaseResult], cost: int) -> EngineResult:
    if not failing:
        return EngineResult(engine, killed=False, cost=cost)
    least = min(failing, key=lambda r: (len(r.case.steps), r.case.id))
    lines = (least.case.about, least.message)
    return EngineResult(engine, True, len(least.case.steps), cost, least.case.id, lines=lines)


ENGINES: Mapping[str, Callable[[Revision], EngineResult]] = {
    **{name: engine for name, engine in MODEL_ENGINES.items() if name != "proofs"},
    CATALOGUE: by_catalogue,
    COVER: by_cover,
    "proofs": MODEL_ENGINES["proofs"],
}
"""All engines, in the order of the output."""


ABOUT: Mapping[str, str] = {
    EXPLORE: "exploration by properties alone: acts · worlds visited",
    SEARCH: "Hypothesis by properties alone: acts, shrunk · walks tried",
    COMPARE: "exploration beside the right model: acts until answers differ · pairs of worlds",
    DIFFER: "Hypothesis beside the right model: acts, shrunk · walks tried",
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
    """Print the table, the meaning of its cells, the totals, and the survivors."""
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
    """Print the numbers of kills, by engine and by way; then survivors and missed mutants."""
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
    """Print one mutant: each engine's result, with its evidence."""
    screen.print(Text.assemble((f"mutant:{row.mutant.name}", "bold"), f"  {row.mutant.about}"))
    if row.mutant.breaks:
        screen.print(Text(f"breaks {', '.join(row.mutant.breaks)}"))
    for engine in engines:
        result = row.results[engine]
        screen.print()
        cell_text = _cell(result) + (f"  {result.by or result.note}".rstrip())
        screen.print(Text.assemble((f"{engine:<16}", "bold"), f" {cell_text}"))
        for line in result.lines:
            screen.print(Text(f"  {line}"), soft_wrap=True)
    screen.print()
    print_totals([row], engines, screen)


def totals(rows: Sequence[Row], engines: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return the numbers of kills and of mutants, for each engine that ran, then for each way.

    Only mutants to which the engine applies count.
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


def _space_of(row: Row) -> SearchSpace:
    return search_space_of(row.mutant.revision)


def matrix_json(rows: Sequence[Row], engines: Sequence[str]) -> dict[str, Any]:
    """Return the matrix as JSON, which depends on the code alone."""
    spaces = {space.base.name: space for space in map(_space_of, rows)}
    return {
        "format": "fencepost-kill-matrix",
        "version": 1,
        "judge": ", ".join(spaces),
        "bounds": {
            "states": STATES,
            "pairs": PAIRS,
            "examples": max((space.examples for space in spaces.values()), default=0),
        },
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


Seconds = dict[str, float]
Progress = Callable[[Row], None]


def row_of(
    name: str, engines: Sequence[str], report: Path | None
) -> tuple[list[EngineResult], Seconds]:
    """Return each engine's result for one mutant, and the seconds that each took."""
    mutant = find_mutant(name)
    results = []
    seconds: Seconds = {}
    for engine in engines:
        began = time.process_time()
        result = ENGINES[engine](mutant.revision)
        seconds[engine] = time.process_time() - began
        results.append(_in_words(mutant.name, result, report))
    return results, seconds


def _in_words(name: str, result: EngineResult, report: Path | None) -> EngineResult:
    """Replace the evidence by lines, which fit through a pipe; write a trace file into a folder."""
    evidence = result.evidence
    if evidence is None:
        return result
    if report is not None:
        message = f"{name} breaks {result.by}" if result.by else f"{name} answers otherwise"
        judge = search_space_of(evidence.worlds.revision).base
        trace = run_trace(evidence.worlds, evidence.run, judged_by=judge, message=message)
        trace.write(report / f"{name}-{result.engine}.json")
    return replace(result, lines=run_lines(evidence.worlds, evidence.run), evidence=None)


def rows(
    names: Sequence[str],
    engines: Sequence[str],
    *,
    jobs: int,
    report: Path | None = None,
    progress: Progress | None = None,
) -> tuple[list[Row], Seconds]:
    """Return a row for each mutant, in this order, and the seconds of processor time by engine.

    Raises WorkerLostError, and the engines' errors.
    """
    total: Seconds = dict.fromkeys(engines, 0.0)
    by_name: dict[str, Row] = {}
    made = (
        ((name, row_of(name, engines, report)) for name in names)
        if jobs == 1 or len(names) == 1
        else run_side_by_side(partial(_row_in_worker, engines=engines, report=report), names, jobs)
    )
    for name, (results, seconds) in made:
        by_name[name] = Row(find_mutant(name), {k.engine: k for k in results})
        for engine, spent in seconds.items():
            total[engine] += spent
        if progress is not None:
            progress(by_name[name])
    return [by_name[name] for name in names], total


def _row_in_worker(
    name: str, engines: Sequence[str], report: Path | None
) -> tuple[list[EngineResult], Seconds]:
    """Like `row_of`, with the mutant's name in its errors.

    Collect garbage seldom: worlds are many and few are cyclic, and it took an eighth of the time.
    """
    gc.set_threshold(200_000, 50, 100)
    try:
        return row_of(name, engines, report)
    except Exception as error:
        raise RuntimeError(f"{name}: {type(error).__name__}: {error}") from error
