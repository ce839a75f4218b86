"""Measures how quickly the worlds of the real model are visited, at one named bound.

The figures are with and without properties, with one process and with two; each exploration runs in
a process of its own, so that its memory is its own.  CPU seconds are those of all its processes; on
a machine that others use they say more than the clock does.
"""

from __future__ import annotations

import json
import resource
import sys
from typing import Any

from benchmarks.programs import RUN_S, ProgramError, output_of
from fencepost.model.revisions.revisions import find
from fencepost.properties.checking.evaluator import EXCUSED, Evaluator, is_quiet
from fencepost.properties.claims.property_registry import PROPERTIES
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.worlds.scope import BOUNDS
from fencepost.properties.worlds.world import Worlds

REVISION = "kafka-4"
_PROCESSES = (1, 2)


def real_model_figures(bound: str = "quick") -> dict[str, Any]:
    """Return the figures of kafka-4 at a bound of `fencepost.properties.worlds.scope.BOUNDS`.

    What can't be had is `{"unavailable": why}`.  Raises KeyError for a bound that there isn't.
    """
    rows: dict[str, Any] = {"bound": bound, "revision": REVISION}
    if bound not in BOUNDS:
        raise KeyError(f"no bound {bound!r}; there are {', '.join(BOUNDS)}")
    for judged in (False, True):
        name = "with_properties" if judged else "without_properties"
        rows[name] = {f"jobs_{jobs}": _apart(bound, jobs, judged=judged) for jobs in _PROCESSES}
    return rows


def worlds_figures(bound: str, jobs: int, *, judged: bool) -> dict[str, Any]:
    """Return the figures of one exploration in this process."""
    revision = find(REVISION)
    judging = Evaluator(PROPERTIES.values(), revision)
    worlds = Worlds(revision, BOUNDS[bound].scope, judging.judge if judged else None)
    began = _cpu_seconds()
    found = explore(
        worlds,
        judging.checks(worlds) if judged else (),
        jobs=jobs,
        quiet=is_quiet if judged else None,
    )
    cpu = _cpu_seconds() - began
    return {
        "states": found.states,
        "transitions": found.transitions,
        "levels": len(found.levels),
        "complete": found.complete,
        "violations": sorted(v for v in found.violations if not v.startswith(EXCUSED)),
        "seconds": round(found.seconds, 3),
        "cpu_seconds": round(cpu, 3),
        "states_per_second": round(found.states / found.seconds),
        "transitions_per_second": round(found.transitions / found.seconds),
        "transitions_per_cpu_second": round(found.transitions / cpu),
        "peak_bytes": found.peak_bytes,
    }


def print_worlds_figures(bound: str, jobs: int, judged: bool) -> None:
    """What the process of one exploration does."""
    print(json.dumps(worlds_figures(bound, jobs, judged=judged)))  # noqa: T201


def _apart(bound: str, jobs: int, *, judged: bool) -> dict[str, Any]:
    name = print_worlds_figures.__name__
    code = f"from {__name__} import {name}; {name}({bound!r}, {jobs}, {judged})"
    try:
        figures: dict[str, Any] = json.loads(
            output_of([sys.executable, "-c", code], within_s=RUN_S)
        )
    except ProgramError as error:
        return {"unavailable": str(error)}
    return figures


def _cpu_seconds() -> float:
    """Of this process and its children that ended."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)
