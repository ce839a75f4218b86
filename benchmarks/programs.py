"""Run other programs for a benchmark, each with a time limit.

A program that is missing, fails or doesn't end becomes a sentence with the reason and the remedy. A
program that is given up, or in which we are interrupted, is ended with all its processes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

BUILD_S = 900.0
RUN_S = 1800.0


class ProgramError(Exception):
    """There is no result.  `str()` gives the reason and the remedy."""


def output_of(argv: Sequence[str], *, within_s: float, cwd: Path | None = None) -> str:
    """Return a program's output.  Raises ProgramError if it is missing, fails or takes too long."""
    try:
        process = subprocess.Popen(  # noqa: S603 - no shell, and the user names the folder
            argv,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise ProgramError(f"{argv[0]} can't be run: {error.strerror}; install it") from error
    with process:
        try:
            out, err = process.communicate(timeout=within_s)
        except subprocess.TimeoutExpired as error:
            _kill(process.pid)
            raise ProgramError(
                f"{argv[0]} took more than {within_s:g} s; try a smaller configuration"
            ) from error
        except BaseException:
            _kill(process.pid)
            raise
    if process.returncode != 0:
        last = (err.strip() or out.strip() or "nothing was printed").splitlines()[-1]
        command = " ".join(map(str, argv))
        raise ProgramError(f"exit code {process.returncode} ({last}); see what `{command}` prints")
    return out


def _kill(group: int) -> None:
    """Kill a program that has not been waited for yet, and its processes."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def figures_in(line: str) -> dict[str, float]:
    """Return the numbers of a line like `E states=602727 secs=13.05`."""
    return {name: float(value) for name, value in re.findall(r"(\S+)=(\d+(?:\.\d+)?)\b", line)}


def plain_python(folder: Path, configuration: str) -> dict[str, object]:
    """Return the figures of `kip345_small.py bfs`.  Raises ProgramError."""
    script = folder / "kip345_small.py"
    if not script.is_file():
        raise ProgramError(f"{folder} has no kip345_small.py; name the folder that has")
    argv = [sys.executable, str(script.resolve()), "bfs", configuration]
    return _named(output_of(argv, within_s=RUN_S), "levels")


def stateright(program: Path, configuration: str, threads: int) -> dict[str, object]:
    """Return the figures of the Rust program's breadth-first search.  Raises ProgramError."""
    argv = [str(program), configuration, "bfs", str(threads)]
    return {"threads": threads, **_named(output_of(argv, within_s=RUN_S), "depth")}


def build_stateright(folder: Path) -> Path:
    """Return the Rust program, built in the user's cache, or earlier from the same text.

    Raises ProgramError where the source or cargo is missing, or the build fails.
    """
    source = folder / "stateright"
    if not (source / "Cargo.toml").is_file():
        raise ProgramError(f"{folder} has no stateright/Cargo.toml; name the folder that has")
    if shutil.which("cargo") is None:
        raise ProgramError("cargo is not on the PATH; install Rust (rustup.rs)")
    copy = _cache() / f"stateright-{_digest(source)}"
    try:
        shutil.copytree(
            source, copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns("target", ".git")
        )
    except (OSError, shutil.Error) as error:
        raise ProgramError(f"{copy} can't be written: {error}; set XDG_CACHE_HOME") from error
    output_of(["cargo", "build", "--release"], within_s=BUILD_S, cwd=copy)
    return copy / "target" / "release" / "kip345_small"


def _cache() -> Path:
    named = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(named) if Path(named).is_absolute() else Path.home() / ".cache"
    return base / "fencepost"


def _digest(folder: Path) -> str:
    """Return a short name of a folder's text, so that another text is another build."""
    digest = hashlib.sha256()
    for path in sorted([folder / "Cargo.toml", *folder.glob("src/**/*.rs")]):
        digest.update(f"{path.relative_to(folder)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _named(line: str, levels: str) -> dict[str, object]:
    """Return the figures under our names.  Raises ProgramError if one is missing."""
    figures = figures_in(line)
    try:
        return {
            "states": int(figures["states"]),
            "transitions": int(figures["transitions"]),
            "levels": int(figures[levels]),
            "seconds": figures["secs"],
            "states_per_second": round(figures["states/s"]),
            "transitions_per_second": round(
                figures["states/s"] * figures["transitions"] / figures["states"]
            ),
            "peak_bytes": int(figures["MiB"]) << 20,
        }
    except KeyError as error:
        raise ProgramError(
            f"{error} is missing in {line.strip()!r}; use the published one"
        ) from None
