"""Measure the explorer on a published state space, beside other tools.

The state space is kip345-small, whose counts are published, with its four invariants checked in
every state.  Each exploration runs in a process of its own, so that its memory is its own, and the
other tools run in the same session.  Seconds are those of the search, without the start of a
program.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.kip345_invariants import invariants
from benchmarks.kip345_packed import PackedSystem, packed_invariants
from benchmarks.kip345_small import CONFIGURATIONS, Configuration, SmallSystem
from benchmarks.programs import (
    RUN_S,
    ProgramError,
    build_stateright,
    output_of,
    plain_python,
    stateright,
)
from fencepost.properties.explorer.exploration import Exploration
from fencepost.properties.explorer.explorer import explore
from fencepost.traces.files.bounded import pip_install

_THREADS = (1, 2)


def explore_figures(
    configurations: Sequence[str], ways: Sequence[str], *, jobs: int, beside: Path | None
) -> dict[str, Any]:
    """Return the figures of each configuration: of each way (see WAYS), and of the other tools.

    A missing figure is `{"unavailable": why and the remedy}`.  `times_plain_python` and
    `times_stateright` (the quicker of its runs) are ratios of the first way's states per second.
    """
    program = _attempt(lambda: {"program": build_stateright(beside)}) if beside else {}
    figures = {}
    for name in configurations:
        rows: dict[str, Any] = {way: _attempt(partial(_apart, name, way, jobs)) for way in ways}
        if beside is not None:
            rows |= _beside(beside, program, name)
            own = rows[ways[0]]
            rows["times_plain_python"] = _ratio(own, [rows["plain_python"]])
            others = [rows[f"stateright_{threads}"] for threads in _THREADS]
            rows["times_stateright"] = _ratio(own, others)
        figures[name] = rows
    return {"explore": figures}


def figures_of(name: str, way: str, jobs: int) -> dict[str, Any]:
    """Return the figures of one exploration in this process.  Raises ProgramError without NumPy."""
    configuration = CONFIGURATIONS[name]
    result = WAYS[way](configuration, jobs)
    counts = (result.states, result.transitions, len(result.levels))
    published = (configuration.states, configuration.transitions, configuration.levels)
    return {
        "states": result.states,
        "transitions": result.transitions,
        "levels": len(result.levels),
        "as_published": counts == published,
        "violations": sorted(result.violations),
        "jobs": jobs,
        "seconds": round(result.seconds, 3),
        "states_per_second": round(result.states / result.seconds),
        "transitions_per_second": round(result.transitions / result.seconds),
        "peak_bytes": result.peak_bytes,
    }


def _frontier(configuration: Configuration, jobs: int) -> Exploration[Any, Any]:
    if importlib.util.find_spec("numpy") is None:
        raise ProgramError(f"NumPy is missing: {pip_install('frontier')}, or name another way")
    from benchmarks.kip345_frontier import (  # noqa: PLC0415  (needs an extra)
        SmallFrontierSystem,
        frontier_invariants,
    )

    system = SmallFrontierSystem(configuration)
    return explore(system, frontier_invariants(system), jobs=jobs)


def _packed(configuration: Configuration, jobs: int) -> Exploration[Any, Any]:
    system = PackedSystem(configuration)
    return explore(system, packed_invariants(system.packing), jobs=jobs)


def _singly(configuration: Configuration, jobs: int) -> Exploration[Any, Any]:
    return explore(SmallSystem(configuration), invariants(), jobs=jobs)


WAYS: dict[str, Callable[[Configuration, int], Exploration[Any, Any]]] = {
    "frontier": _frontier,
    "packed": _packed,
    "singly": _singly,
}
"""Whole frontiers with NumPy; integers with rules asked once; one state at a time."""


def print_figures(name: str, way: str, jobs: int) -> None:
    """Print the figures of one exploration, in its process."""
    print(json.dumps(_attempt(partial(figures_of, name, way, jobs))))  # noqa: T201


def _apart(name: str, way: str, jobs: int) -> dict[str, Any]:
    """Return the figures of one exploration, in a process of its own.  Raises ProgramError."""
    code = f"from {__name__} import print_figures; print_figures({name!r}, {way!r}, {jobs})"
    figures: dict[str, Any] = json.loads(output_of([sys.executable, "-c", code], within_s=RUN_S))
    return figures


def _beside(folder: Path, program: dict[str, Any], name: str) -> dict[str, Any]:
    rows = {"plain_python": _attempt(partial(plain_python, folder, name))}
    for threads in _THREADS:
        rows[f"stateright_{threads}"] = (
            _attempt(partial(stateright, program["program"], name, threads))
            if "program" in program
            else program
        )
    return rows


def _attempt(figures: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return figures()
    except ProgramError as error:
        return {"unavailable": str(error)}


def _ratio(own: dict[str, Any], others: Sequence[dict[str, Any]]) -> float | None:
    """Return the ratio of our speed to the quickest of some, or None if one side is missing."""
    speeds = [other["states_per_second"] for other in others if "states_per_second" in other]
    if "states_per_second" not in own or not any(speeds):
        return None
    ratio: float = round(own["states_per_second"] / max(speeds), 2)
    return ratio
