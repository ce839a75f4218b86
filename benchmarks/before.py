"""Measure another checkout of fencepost beside this one, by turns, in one run.

The measuring code is this checkout's; only the measured package is the other's.  Each measurement
has a process of its own, so that none is warmed up by another, and the two take turns, so that a
busy machine slows both.  Each figure is the median of all rounds.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import click

from fencepost.conformance.runtime.unavailable import TargetUnavailableError

FLOORS = ("model", "properties", "traces", "conformance")
_Command = TypeVar("_Command", bound=Callable[..., Any])


def before_options(command: _Command) -> _Command:
    """Add `--before CHECKOUT` and `--rounds` to a command."""
    command = click.option(
        "--rounds", type=click.IntRange(1), default=3, show_default=True, help="With --before."
    )(command)
    return click.option(
        "--before",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="CHECKOUT",
        help="Another checkout of fencepost, measured in turn with this one, each time in a new "
        "process.  A figure is then `before`, `now` and `times`, the medians of all rounds.",
    )(command)


def measured(
    measure: Callable[..., Any], arguments: tuple[Any, ...], before: Path | None, rounds: int
) -> Any:
    """Return the figures of `measure` for this checkout, and where there is another, of both.

    Each figure is then `{"before": …, "now": …, "times": now / before}`.  `arguments` are JSON.
    Raises click.UsageError for a folder that is no checkout, TargetUnavailableError if a
    measurement ends badly.
    """
    if before is None:
        return measure(*arguments)
    if missing := [floor for floor in FLOORS if not (before / floor).is_dir()]:
        raise click.UsageError(f"{before} is no checkout of fencepost: it has no {missing[0]}/")
    here = Path(__file__).parent.parent
    with tempfile.TemporaryDirectory(prefix="fencepost-") as folder:
        old = package(Path(folder) / "before", before)
        new = package(Path(folder) / "now", here)
        figures = [[_apart(measure, arguments, of) for of in (old, new)] for _ in range(rounds)]
    return _compared([first for first, _ in figures], [second for _, second in figures])


def package(path: Path, checkout: Path) -> Path:
    """Make a folder from which `fencepost` is imported as the checkout has it."""
    (path / "fencepost").mkdir(parents=True)
    for floor in FLOORS:
        (path / "fencepost" / floor).symlink_to((checkout / floor).resolve())
    return path


def _apart(measure: Callable[..., Any], arguments: tuple[Any, ...], package: Path) -> Any:
    """Run one measurement in a process of its own."""
    done = subprocess.run(  # noqa: S603  (this very program)
        [sys.executable, "-m", __name__, measure.__module__, measure.__name__],
        input=json.dumps(arguments),
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(package)},
        cwd=Path(__file__).parent.parent,
        check=False,
    )
    if done.returncode:
        raise TargetUnavailableError(
            f"{measure.__name__} ended with code {done.returncode} with {package.name}'s fencepost"
        )
    return json.loads(done.stdout)


def _compared(before: list[Any], now: list[Any]) -> Any:
    """Return the medians side by side, in the form of the figures."""
    if isinstance(now[0], dict):
        shared = [name for name in now[0] if name in before[0]]
        return {n: _compared([f[n] for f in before], [f[n] for f in now]) for n in shared}
    if not all(isinstance(figure, int | float) for figure in (*before, *now)):
        return {"before": before[0], "now": now[0]}
    old, new = round(median(before), 4), round(median(now), 4)
    return {"before": old, "now": new, "times": round(new / old, 2) if old else None}


if __name__ == "__main__":
    module, name = sys.argv[1:]
    print(json.dumps(getattr(importlib.import_module(module), name)(*json.load(sys.stdin))))  # noqa: T201
