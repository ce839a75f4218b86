"""Measure the exploration of the real model's worlds, at one named bound.

The figures are with and without properties, with one process and with two; each exploration runs in
a process of its own, so that its memory is its own.  CPU seconds are those of all its processes; on
a shared machine they are more exact than the clock.
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

    A missing figure is `{"unavailable": why}`.  Raises KeyError for an unknown bound.
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
    exploration = explore(
        worlds,
        judging.checks(worlds) if judged else (),
        jobs=jobs,
        quiet=is_quiet if judged else None,
    )
    cpu = _cpu_seconds() - began
    return {
        "states": exploration.states,
        "transitions": exploration.transitions,
        "levels": len(exploration.levels),
        "complete": exploration.complete,
        "violations": sorted(v for v in exploration.violations if not v.startswith(EXCUSED)),
        "seconds": round(exploration.seconds, 3),
        "cpu_seconds": round(cpu, 3),
        "states_per_second": round(exploration.states / exploration.seconds),
        "transitions_per_second": round(exploration.transitions / exploration.seconds),
        "transitions_per_cpu_second": round(exploration.transitions / cpu),
        "peak_bytes": exploration.peak_bytes,
    }


def print_worlds_figures(bound: str, jobs: int, judged: bool) -> None:
    """Print the figures of one exploration, in its process."""
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
    """Return CPU seconds of this process and its children that ended."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)
