"""Rows of the kill matrix, made side by side by worker processes."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.mutants.mutants import find_mutant
from fencepost.properties.workers.pool import run_side_by_side
from fencepost.traces.files.run_trace import run_lines, run_trace
from tools.kill_matrix.kill_matrix import EngineResult, Row
from tools.kill_matrix.suite_engines import ENGINES

Seconds = dict[str, float]
Told = Callable[[Row], None]


def row_of(
    name: str, engines: Sequence[str], report: Path | None
) -> tuple[list[EngineResult], Seconds]:
    """Return what comes of each engine for one mutant, and the seconds that each took."""
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
    """The evidence as lines, which fit through a pipe; as a trace file, if there is a folder."""
    shown = result.evidence
    if shown is None:
        return result
    if report is not None:
        said = f"{name} breaks {result.by}" if result.by else f"{name} answers otherwise"
        trace = run_trace(shown.worlds, shown.run, judged_by=KAFKA_4, message=said)
        trace.write(report / f"{name}-{result.engine}.json")
    return replace(result, lines=run_lines(shown.worlds, shown.run), evidence=None)


def rows(
    names: Sequence[str],
    engines: Sequence[str],
    *,
    jobs: int,
    report: Path | None = None,
    told: Told | None = None,
) -> tuple[list[Row], Seconds]:
    """Return a row for each mutant, in this order, and the seconds of processor time by engine.

    Raises WorkerLostError, and what an engine raises.
    """
    total: Seconds = dict.fromkeys(engines, 0.0)
    found: dict[str, Row] = {}
    made = (
        ((name, row_of(name, engines, report)) for name in names)
        if jobs == 1 or len(names) == 1
        else run_side_by_side(partial(_row_in_worker, engines=engines, report=report), names, jobs)
    )
    for name, (results, seconds) in made:
        found[name] = Row(find_mutant(name), {k.engine: k for k in results})
        for engine, spent in seconds.items():
            total[engine] += spent
        if told is not None:
            told(found[name])
    return [found[name] for name in names], total


def _row_in_worker(
    name: str, engines: Sequence[str], report: Path | None
) -> tuple[list[EngineResult], Seconds]:
    """As `row_of`, with the mutant's name in its errors.

    Garbage is collected seldom: worlds are many and few are cyclic, and it took an eighth of the
    time.
    """
    gc.set_threshold(200_000, 50, 100)
    try:
        return row_of(name, engines, report)
    except Exception as error:
        raise RuntimeError(f"{name}: {type(error).__name__}: {error}") from error
