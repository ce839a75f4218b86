"""The command line as users have it: a process, its exit code, its stdout and stderr."""

from __future__ import annotations

import os
import select
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

RUN = "from fencepost.conformance.cli.cli import main; main()"


AS_FROM_A_TERMINAL = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
"""What a program does first, where these tests run with SIGINT ignored."""

INTERRUPTIBLE = f"{AS_FROM_A_TERMINAL}; {RUN}"


PATIENCE_S = 120


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


def run(
    *arguments: str,
    given: str = "",
    cwd: Path | None = None,
    within_s: float = PATIENCE_S,
    hash_seed: int | None = None,
) -> Ran:
    """Run `fencepost` with these arguments to its end; `hash_seed`: of the order of its sets."""
    ended = subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        input=given,
        capture_output=True,
        text=True,
        timeout=within_s,
        start_new_session=True,
        check=False,
        cwd=cwd,
        env=None if hash_seed is None else {**os.environ, "PYTHONHASHSEED": str(hash_seed)},
    )
    return Ran(ended.returncode, ended.stdout, ended.stderr)


def program(*argv: str) -> str:
    return "exec:" + shlex.join([sys.executable, "-u", *argv])


def is_gone(pid: int) -> bool:
    """Whether a process has ended, or does so within a while."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watched], [], [], PATIENCE_S)[0])
    finally:
        os.close(watched)
