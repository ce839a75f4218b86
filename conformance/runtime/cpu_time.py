"""The processor time of processes that were started here and still run.

All processes below this one belong to a target, but those that work for this command.  Only Linux
reports processes that still run; elsewhere there is no figure.

Source: proc(5), `stat` and `children`.
"""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

_PROC = Path("/proc")
_TIMES = slice(11, 15)
"""Where `stat` has them, behind the name: its own, and of what it started and has ended; ticks."""


def started_s() -> float | None:
    """The seconds that processes which were started here have worked, with all they started."""
    helpers = {process.pid for process in multiprocessing.active_children()}
    try:
        below = sum(_ticks(pid) for pid in _children(os.getpid()) if pid not in helpers)
    except (OSError, ValueError):
        return None
    return below / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int) -> int:
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        own = sum(map(int, text.rpartition(")")[2].split()[_TIMES]))
        return own + sum(map(_ticks, _children(pid)))
    except OSError:
        return 0  # it ended just now


def _children(pid: int) -> list[int]:
    tasks = _PROC / str(pid) / "task"
    files = [task / "children" for task in tasks.iterdir()]
    return [int(child) for file in files for child in file.read_text(encoding="ascii").split()]
