"""The program that drives a client: built once from its source, into the user's cache.

Sources lie in `drivers/`; a library comes from its language's registry.  The name of a folder in
the cache has the library, its version and a digest of the sources: what is changed is built anew.

- Python: a virtual environment with the library; the drivers are copied to a folder of their own,
  under the name of their package, so that they import each other there as they do here.
- Java: jars by Maven, and `javac`.
- Go, Node: the sources with their lock are copied; another version than the locked one is asked of
  the registry.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fencepost.conformance.runtime.toolchain.cache import cached
from fencepost.conformance.runtime.toolchain.found_tools import find_tool, run_tool
from fencepost.conformance.runtime.toolchain.maven import copy_jars, jars_in, pom
from fencepost.conformance.runtime.unavailable import TargetUnavailableError

SOURCES = Path(__file__).with_name("drivers")
_PACKAGE = "fencepost.conformance.clients.drivers"
_BUILD_S = 600.0
_JAVA_NEEDS = (
    "com.fasterxml.jackson.core:jackson-databind:2.19.0",
    "org.slf4j:slf4j-simple:1.7.36",
)
"""JSON, and a log on stderr."""
_NODE = "install Node.js 20 or later, with npm"
_JVM = (
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)


@dataclass(frozen=True, slots=True)
class Program:
    """A driver that can be started; `env`: variables beside those of this process."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Client:
    """A client library at a version, with its driver, under the name that users give.

    `program`: builds the driver where the cache lacks it; raises TargetUnavailableError.
    """

    name: str
    program: Callable[[], Awaitable[Program]]


async def python_program(package: str, version: str) -> Program:
    """The driver of a Python library, which gets a virtual environment of its own."""
    constraints = SOURCES / "constraints.txt"
    sources = sorted(SOURCES.glob("*.py"))

    async def install(folder: Path) -> None:
        await run_tool([sys.executable, "-m", "venv", str(folder)], _BUILD_S, folder)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
        command = [*pip, "install", "-q", "-c", str(constraints), f"{package}=={version}"]
        await run_tool(command, _BUILD_S, folder)

    async def copy(folder: Path) -> None:
        at = folder.joinpath(*_PACKAGE.split("."))
        at.mkdir(parents=True)
        _copy(sources, at)

    python = "py{}.{}".format(*sys.version_info[:2])
    library = await _cached(f"{package}-{version}-{python}", [constraints], install)
    drivers = await _cached("python-drivers", sources, copy)
    module = f"{_PACKAGE}.{package.replace('-', '_')}_driver"
    argv = (str(library / "bin" / "python"), "-P", "-m", module)
    return Program(argv, {"PYTHONPATH": str(drivers)})


async def java_classes(version: str, main: str) -> str:
    """The class path of one of our Java programs, with kafka-clients of a version."""
    source = SOURCES / "java" / f"{main}.java"

    async def build(folder: Path) -> None:
        javac = find_tool(
            "javac", "install a JDK, version 17 or later (Debian: openjdk-17-jdk-headless)"
        )
        wanted = [f"org.apache.kafka:kafka-clients:{version}", *_JAVA_NEEDS]
        await copy_jars(folder, pom("client-driver", wanted))
        jars = ":".join(map(str, jars_in(folder)))
        await run_tool(
            [javac, "-nowarn", "-cp", jars, "-d", str(folder), str(source)], _BUILD_S, folder
        )

    folder = await _cached(f"java-{version}", [source], build)
    return ":".join(map(str, (folder, *jars_in(folder))))


async def java_program(version: str) -> Program:
    """The driver of Java's kafka-clients."""
    path = await java_classes(version, "ClientDriver")
    java = find_tool("java", "install Java 17 or later (Debian: openjdk-17-jre-headless)")
    return Program((java, *_JVM, "-cp", path, "ClientDriver"))


async def go_program(name: str, module: str, version: str) -> Program:
    """The driver of a Go library.  `module`: its path, as go.mod names it."""
    home = SOURCES / "go" / name
    sources = [SOURCES / "go" / "user.go", *(home / one for one in ("main.go", "go.mod", "go.sum"))]

    async def build(folder: Path) -> None:
        go = find_tool("go", "install Go 1.26 or later (Debian: golang)")
        _copy(sources, folder)
        env = {"GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}
        if f"{module} v{version}\n" not in (home / "go.mod").read_text("utf-8"):
            await run_tool([go, "get", f"{module}@v{version}"], _BUILD_S, folder, env)
            await run_tool([go, "mod", "tidy"], _BUILD_S, folder, env)
        command = [go, "build", "-mod=readonly", "-o", "driver", "."]
        await run_tool(command, _BUILD_S, folder, env)

    folder = await _cached(f"{name}-{version}", sources, build)
    return Program((str(folder / "driver"),))


async def node_program(name: str, package: str, version: str) -> Program:
    """The driver of a library for Node.js.  `package`: its name in the registry."""
    home = SOURCES / "node" / name
    sources = [SOURCES / "node" / "user.mjs"]
    sources += [home / one for one in ("main.mjs", "package.json", "package-lock.json")]

    async def build(folder: Path) -> None:
        npm = find_tool("npm", _NODE)
        _copy(sources, folder)
        quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
        locked = f'"{package}": "{version}"' in (home / "package.json").read_text("utf-8")
        what = ["ci"] if locked else ["install", "--save-exact", f"{package}@{version}"]
        await run_tool([npm, *what, *quiet], _BUILD_S, folder)

    folder = await _cached(f"{name}-{version}", sources, build)
    # One that needs a newer Node.js than many machines have brings it along.
    own = sorted(folder.glob("node_modules/node-*/bin/node"))
    node = str(own[0]) if own else find_tool("node", _NODE)
    return Program((node, str(folder / "main.mjs")))


async def _cached(name: str, sources: list[Path], build: Callable[[Path], Awaitable[None]]) -> Path:
    """The folder of a driver, built from these sources where the cache lacks it.

    Raises TargetUnavailableError.
    """
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.read_bytes())
    try:
        return await cached("clients", f"{name}-{digest.hexdigest()[:12]}", build)
    except TargetUnavailableError as error:
        raise TargetUnavailableError(f"the driver {name} can't be built: {error}") from error


def _copy(sources: list[Path], folder: Path) -> None:
    for source in sources:
        shutil.copy(source, folder / source.name)
