"""Look for what fencepost can use: tools, extras, the cache, ports; and say what each is for."""

from __future__ import annotations

import importlib.util
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from fencepost.conformance.runtime.event_loop import run
from fencepost.conformance.runtime.toolchain.child import free_ports
from fencepost.conformance.runtime.toolchain.found_tools import (
    VARIABLE,
    cache_folder,
    find_python,
    find_tool,
    run_tool,
)
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.traces.files.bounded import pip_install

_VERSION_S = 30.0
_PYTHON = (3, 11)


@dataclass(frozen=True, slots=True)
class Check:
    """A tool, extra, folder or port that fencepost can use.

    `what_for`: its users.  `always`: True if every command needs it.  `look`: returns its version
    or place; raises TargetUnavailableError with the problem and the remedy.
    """

    name: str
    what_for: str
    look: Callable[[], str]
    always: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check: a version or a place, or the problem and the remedy."""

    check: Check
    result: str
    is_there: bool


def examine(check: Check) -> Finding:
    """Make a check."""
    try:
        return Finding(check, check.look(), is_there=True)
    except TargetUnavailableError as error:
        return Finding(check, str(error), is_there=False)


def _python() -> str:
    if sys.version_info[:2] < _PYTHON:
        raise TargetUnavailableError(f"Python {sys.version.split()[0]}: install 3.11 or later")
    return f"Python {sys.version.split()[0]}, {sys.executable}"


def _tool(name: str, argument: str, pattern: str, least: tuple[int, ...], remedy: str) -> str:
    """Return the version and the path of a program.  Raises TargetUnavailableError."""
    path = find_tool(name, remedy)
    output = run(run_tool([path, argument], _VERSION_S, Path.cwd()))
    match = re.search(pattern, output)
    if match is None:
        raise TargetUnavailableError(f"{path} doesn't print its version: {remedy}")
    if tuple(map(int, match[1].split("."))) < least:
        raise TargetUnavailableError(f"{path} is {match[1]}: {remedy}")
    return f"{match[1]}, {path}"


def _java() -> str:
    remedy = "install Java 17 or later (Debian: openjdk-17-jre-headless)"
    return _tool("java", "-version", r'version "(?:1\.)?(\d+)', (17,), remedy)


def _maven() -> str:
    return _tool("mvn", "-version", r"Apache Maven (\d+\.\d+)", (3,), "install Maven")


def _go() -> str:
    remedy = "install Go 1.26 or later (Debian: golang)"
    return _tool("go", "version", r"go(\d+\.\d+)", (1, 26), remedy)


def _cargo() -> str:
    return _tool("cargo", "--version", r"cargo (\d+\.\d+)", (1, 85), "install Rust 1.85 or later")


def _newer_python() -> str:
    return run(find_python((3, 12)))


def _gcc() -> str:
    return find_tool("gcc", "install a C and C++ compiler (Debian: build-essential)")


def _javac() -> str:
    remedy = "install a JDK, version 17 or later (Debian: openjdk-17-jdk-headless)"
    return _tool("javac", "-version", r"javac (?:1\.)?(\d+)", (17,), remedy)


def _node() -> str:
    remedy = "install Node.js 20 or later, with npm"
    find_tool("npm", remedy)
    return _tool("node", "--version", r"v(\d+)", (20,), remedy)


_EXTRAS = {
    "confluent_kafka": ("mock", "confluent-kafka"),
    "z3": ("prove", "z3-solver"),
    "pyarrow": ("corpus", "pyarrow"),
    "matplotlib": ("corpus", "matplotlib"),
    "pyspark": ("spark", "pyspark"),
    "pandas": ("spark", "pandas"),
    "numpy": ("frontier", "numpy"),
}
"""Module → the extra that installs it, and its package."""


def missing_extra(module: str) -> str | None:
    """Return the sentence about a module that is missing; None if it is of no extra."""
    name, package = _EXTRAS.get(module.partition(".")[0], ("", ""))
    return f"{package} is missing: {pip_install(name)}" if name else None


def _extra(module: str) -> Callable[[], str]:
    def look() -> str:
        if importlib.util.find_spec(module) is None:
            raise TargetUnavailableError(missing_extra(module))
        package = _EXTRAS[module][1]
        try:
            return f"{package} {version(package)}"
        except PackageNotFoundError:  # copied, not installed
            return package

    return look


def _cache() -> str:
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        kinds = sorted(path.name for path in folder.iterdir() if path.is_dir())
    except OSError as error:
        raise TargetUnavailableError(
            f"{folder} can't be written ({error.strerror}): name another folder in {VARIABLE}"
        ) from error
    return f"{folder}, has {', '.join(kinds) or 'nothing yet'}"


def _ports() -> str:
    try:
        (port,) = free_ports(1)
    except OSError as error:
        raise TargetUnavailableError(
            f"no port of 127.0.0.1 can be used ({error.strerror}): allow it"
        ) from error
    return f"such as 127.0.0.1:{port}"


CHECKS = (
    Check("python", "everything", _python, always=True),
    Check("java", "kafka:VERSION, tests on brokers, Spark", _java),
    Check("maven", "kafka:VERSION, its first start", _maven),
    Check("go", "kfake, seaweedfs, clients for Go such as franz-go, their first start", _go),
    Check("gcc", "clients with librdkafka for Go and Node.js, their first start", _gcc),
    Check("cargo", "rivine, its first start", _cargo),
    Check("python 3.12", "nafka", _newer_python),
    Check("javac", "the client java, its first start", _javac),
    Check("node", "the clients kafkajs and platformatic", _node),
    Check("mock", "the target mock", _extra("confluent_kafka")),
    Check("prove", "fencepost prove", _extra("z3")),
    Check("corpus", "fencepost corpus", _extra("pyarrow")),
    Check("spark", "fencepost corpus --engine spark", _extra("pyspark")),
    Check("frontier", "python -m benchmarks explore", _extra("numpy")),
    Check("cache", "brokers that are started here", _cache),
    Check("ports", "brokers that are started here, serve", _ports),
)
"""All checks, in the order of the output."""
