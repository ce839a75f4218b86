"""The tools that brokers need: Java, Maven, Go.

If one is missing or too old, the error says what to install (exit code 69).  Each run of a tool has
a time limit.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from fencepost.conformance.runtime.toolchain.child import Child
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.traces.files.bounded import last_bytes

_VERSION_S = 30.0
_LINES = 3


def find_tool(name: str, remedy: str) -> str:
    """The path of a program.  Raises TargetUnavailableError with the remedy."""
    if name == "java" and (home := os.environ.get("JAVA_HOME")):
        in_home = shutil.which(name, path=str(Path(home) / "bin"))
        if in_home is None:
            raise TargetUnavailableError(
                f"JAVA_HOME is {home}, which has no bin/java: correct it, or unset it"
            )
        return in_home
    found = shutil.which(name)
    if found is None:
        raise TargetUnavailableError(f"{name} is not on the PATH: {remedy}")
    return found


async def find_java(least: int) -> str:
    """A Java of at least this version.  Raises TargetUnavailableError."""
    remedy = f"install a JDK or JRE, version {least} or later (Debian: openjdk-17-jre-headless)"
    java = find_tool("java", remedy)
    said = await run_tool([java, "-version"], _VERSION_S, Path.cwd())
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    if found is None:
        raise TargetUnavailableError(f"{java} doesn't tell its version ({said!r}): {remedy}")
    if int(found[1]) < least:
        raise TargetUnavailableError(f"{java} is Java {found[1]}: {remedy}")
    return java


async def run_tool(
    command: Sequence[str], within_s: float, folder: Path, env: Mapping[str, str] | None = None
) -> str:
    """Run a tool in a folder to its end; what it printed.

    Raises TargetUnavailableError where it takes too long or fails, with the first line that says
    why, or its last ones.
    """
    with tempfile.TemporaryDirectory(prefix="fencepost-") as at:
        log = Path(at) / "output"
        name = Path(command[0]).name
        try:
            child = await Child.start(command, log, folder=folder, env=env)
        except OSError as error:
            raise TargetUnavailableError(f"{name} can't be started ({error})") from error
        try:
            code = await child.wait(within_s)
        except TimeoutError:
            raise TargetUnavailableError(
                f"{' '.join(command[:2])} took more than {within_s:g} s"
            ) from None
        finally:
            await asyncio.shield(child.end())
        said = click.unstyle(last_bytes(log)).strip()
    if code:
        lines = said.splitlines()
        errors = [line for line in lines if line.startswith("[ERROR]")]  # Maven ends with advice
        last = " / ".join(line.strip() for line in errors[:1] or lines[-_LINES:])
        raise TargetUnavailableError(f"{name} failed with exit code {code}: {last or 'no output'}")
    return said
