"""Build the program that drives a client, once, into the user's cache; find a client by name.

Sources lie in `drivers/`; a library comes from its language's registry.  The name of a folder in
the cache has the library, its version and a digest of the sources, so a change is built anew.

- Python: a virtual environment with the library; the drivers are copied to a folder of their own,
  under the name of their package, so that they import each other there as they do here.
- Java: jars by Maven, and `javac`.
- Go, Node: the sources with their lock are copied; another version than the locked one comes from
  the registry.  A source in Go whose first line is `// Needs PACKAGE NAME` is left out where a
  release has no such name.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from fencepost.conformance.runtime.toolchain.found_tools import (
    cached,
    copy_jars,
    digest_of,
    find_tool,
    jars_in,
    pom,
    run_tool,
)
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.model.bad_input import BadInputError
from fencepost.model.suggestions import did_you_mean
from fencepost.properties.mutants.client_mutants import find_client_mutant

SOURCES = Path(__file__).with_name("drivers")
_PACKAGE = "fencepost.conformance.clients.drivers"
_BUILD_S = 1800.0
"""Limit of a build: librdkafka is compiled in some minutes, on a busy machine in many."""
_C_COMPILER = "install a C and C++ compiler (Debian: build-essential)"
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
    """Build the driver of a Python library, in a virtual environment of its own."""
    names = ("constraints.txt", f"constraints-{package}.txt")
    constraints = [SOURCES / name for name in names if (SOURCES / name).is_file()]
    sources = sorted(SOURCES.glob("*.py"))

    async def install(folder: Path) -> None:
        await run_tool([sys.executable, "-m", "venv", str(folder)], _BUILD_S, folder)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
        limits = [word for file in constraints for word in ("-c", str(file))]
        command = [*pip, "install", "-q", *limits, f"{package}=={version}"]
        await run_tool(command, _BUILD_S, folder)

    async def copy(folder: Path) -> None:
        at = folder.joinpath(*_PACKAGE.split("."))
        at.mkdir(parents=True)
        _copy(sources, at)

    python = "py{}.{}".format(*sys.version_info[:2])
    library = await _cached(f"{package}-{version}-{python}", constraints, install)
    drivers = await _cached("python-drivers", sources, copy)
    module = f"{_PACKAGE}.{package.replace('-', '_')}_driver"
    argv = (str(library / "bin" / "python"), "-P", "-m", module)
    return Program(argv, {"PYTHONPATH": str(drivers)})


async def java_classes(version: str, main: str) -> str:
    """Build the class path of one of our Java programs, with kafka-clients of a version."""
    source = SOURCES / "java" / f"{main}.java"

    async def build(folder: Path) -> None:
        javac = find_tool(
            "javac", "install a JDK, version 17 or later (Debian: openjdk-17-jdk-headless)"
        )
        artifacts = [f"org.apache.kafka:kafka-clients:{version}", *_JAVA_NEEDS]
        await copy_jars(folder, pom("client-driver", artifacts))
        jars = ":".join(map(str, jars_in(folder)))
        await run_tool(
            [javac, "-nowarn", "-cp", jars, "-d", str(folder), str(source)], _BUILD_S, folder
        )

    folder = await _cached(f"java-{version}", [source], build)
    return ":".join(map(str, (folder, *jars_in(folder))))


async def java_program(version: str) -> Program:
    """Build the driver of Java's kafka-clients."""
    path = await java_classes(version, "ClientDriver")
    java = find_tool("java", "install Java 17 or later (Debian: openjdk-17-jre-headless)")
    return Program((java, *_JVM, "-cp", path, "ClientDriver"))


_NEEDS = re.compile(r"// Needs (\S+) (\w+)\n")
"""The first line of a Go source: a package, and a name in it that older releases lack."""


async def go_program(name: str, module: str, version: str, *, cgo: bool = False) -> Program:
    """Build the driver of a Go library.  `module`: its path, as go.mod names it.

    `cgo`: it is built with C.  For another version than that of the lock, only what is built is
    fetched: `go get` and `go mod tidy` ask for what the library's tests need, too.
    """
    home = SOURCES / "go" / name
    locks = [home / lock for lock in ("go.mod", "go.sum")]
    sources = [SOURCES / "go" / "user.go", *sorted(home.glob("*.go")), *locks]

    async def build(folder: Path) -> None:
        go = find_tool("go", "install Go 1.26 or later (Debian: golang)")
        if cgo:
            find_tool("gcc", _C_COMPILER)
        _copy(sources, folder)
        env = {
            "GOTOOLCHAIN": "local",
            "CGO_ENABLED": "1" if cgo else "0",
            "GOFLAGS": "-mod=mod -buildvcs=false",
        }
        if f"{module} v{version}\n" in (home / "go.mod").read_text("utf-8"):
            env["GOFLAGS"] = "-mod=readonly -buildvcs=false"
        else:
            for steps in (["edit", f"-require={module}@v{version}"], ["download", module]):
                await run_tool([go, "mod", *steps], _BUILD_S, folder, env)
            await _leave_out(go, sources, folder, env)
        await run_tool([go, "build", "-o", "driver", "."], _BUILD_S, folder, env)

    folder = await _cached(f"{name}-{version}", sources, build)
    return Program((str(folder / "driver"),))


async def _leave_out(
    go: str, sources: Sequence[Path], folder: Path, env: Mapping[str, str]
) -> None:
    """Remove the copies of the sources that this release of the library lacks a name for."""
    needed = {source: _NEEDS.match(source.read_text("utf-8")) for source in sources}
    for source, needs in needed.items():
        if needs is None:
            continue
        try:
            await run_tool([go, "doc", *needs.groups()], _BUILD_S, folder, env)
        except TargetUnavailableError as error:
            if "no symbol" not in str(error):
                raise
            (folder / source.name).unlink()


async def rust_program(name: str, crate: str, version: str) -> Program:
    """Build the driver of a Rust library.  `crate`: its name in the registry."""
    home = SOURCES / "rust" / name
    manifest, main = home / "Cargo.toml", home / "src" / "main.rs"

    async def build(folder: Path) -> None:
        cargo = find_tool("cargo", "install Rust 1.85 or later")
        find_tool("gcc", _C_COMPILER)
        (folder / "src").mkdir()
        _copy([main], folder / "src")
        text = manifest.read_text("utf-8")
        other = re.sub(
            rf'{crate} = {{ version = "=[^"]+"', f'{crate} = {{ version = "={version}"', text
        )
        (folder / manifest.name).write_text(other, "utf-8")
        env = {"LIBRARY_VERSION": version, "CARGO_TARGET_DIR": str(folder / "target")}
        await run_tool([cargo, "build", "-q"], _BUILD_S, folder, env)
        shutil.move(folder / "target" / "debug" / "driver", folder / "driver")
        shutil.rmtree(folder / "target")

    folder = await _cached(f"{name}-{version}", [manifest, main], build)
    return Program((str(folder / "driver"),))


async def node_program(
    name: str, package: str, version: str, *, native: Mapping[str, str] | None = None
) -> Program:
    """Build the driver of a library for Node.js.  `package`: its name in the registry.

    `native`: variables for the build of its parts in C, None: it has none.
    """
    home = SOURCES / "node" / name
    sources = [SOURCES / "node" / "user.mjs"]
    sources += [home / file for file in ("main.mjs", "package.json", "package-lock.json")]

    async def build(folder: Path) -> None:
        npm = find_tool("npm", _NODE)
        _copy(sources, folder)
        quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
        locked = f'"{package}": "{version}"' in (home / "package.json").read_text("utf-8")
        command = ["ci"] if locked else ["install", "--save-exact", f"{package}@{version}"]
        await run_tool([npm, *command, *quiet], _BUILD_S, folder)
        if native is not None:
            find_tool("g++", _C_COMPILER)
            await run_tool([npm, "rebuild", "--loglevel=error"], _BUILD_S, folder, native)

    folder = await _cached(f"{name}-{version}", sources, build)
    # A library may need a newer Node.js than many machines have: its lock brings it along.
    own = sorted(folder.glob("node_modules/node-*/bin/node"))
    node = str(own[0]) if own else find_tool("node", _NODE)
    return Program((node, str(folder / "main.mjs")))


async def _cached(name: str, sources: list[Path], build: Callable[[Path], Awaitable[None]]) -> Path:
    """Return the folder of a driver, built from these sources where the cache lacks it.

    Raises TargetUnavailableError.
    """
    try:
        return await cached("clients", f"{name}-{digest_of(sources)}", build)
    except TargetUnavailableError as error:
        raise TargetUnavailableError(f"the driver {name} can't be built: {error}") from error


def _copy(sources: list[Path], folder: Path) -> None:
    for source in sources:
        shutil.copy(source, folder / source.name)


FORMS = (
    "java[:VERSION], confluent-kafka[:VERSION], kafka-python[:VERSION], aiokafka[:VERSION], "
    "franz-go[:VERSION], sarama[:VERSION], kafka-go[:VERSION], confluent-kafka-go[:VERSION], "
    "kafkajs[:VERSION], platformatic[:VERSION], confluent-kafka-javascript[:VERSION], "
    "rdkafka-rust[:VERSION], reference, mutant:NAME, exec:COMMAND"
)
_VERSION = re.compile(r"\d[\w.+-]*", re.ASCII)
_OWN = (sys.executable, "-P", "-m", "fencepost.conformance.clients.reference_driver")


class UnknownClientError(BadInputError):
    """No client has such a name.  `str()` names it and the forms that there are."""


@dataclass(frozen=True, slots=True)
class Library:
    """A client library.  `versions`: those it is tried with, the default first."""

    versions: tuple[str, ...]
    program: Callable[[str], Awaitable[Program]]


LIBRARIES = {
    "java": Library(("4.3.0", "3.9.1", "2.4.1"), java_program),
    "confluent-kafka": Library(("2.16.1",), partial(python_program, "confluent-kafka")),
    "kafka-python": Library(("3.0.12",), partial(python_program, "kafka-python")),
    "aiokafka": Library(("0.14.0",), partial(python_program, "aiokafka")),
    "franz-go": Library(("1.22.2",), partial(go_program, "franz-go", "github.com/twmb/franz-go")),
    "sarama": Library(("1.61.1",), partial(go_program, "sarama", "github.com/IBM/sarama")),
    "kafka-go": Library(
        ("0.4.51",), partial(go_program, "kafka-go", "github.com/segmentio/kafka-go")
    ),
    "confluent-kafka-go": Library(
        ("2.15.1",),
        partial(
            go_program,
            "confluent-kafka-go",
            "github.com/confluentinc/confluent-kafka-go/v2",
            cgo=True,
        ),
    ),
    "kafkajs": Library(("2.2.4",), partial(node_program, "kafkajs", "kafkajs")),
    "platformatic": Library(
        ("2.12.1",), partial(node_program, "platformatic", "@platformatic/kafka")
    ),
    "confluent-kafka-javascript": Library(
        ("1.10.1",),
        partial(
            node_program,
            "confluent-kafka-javascript",
            "@confluentinc/kafka-javascript",
            native={"CKJS_LINKING": "dynamic"},
        ),
    ),
    "rdkafka-rust": Library(("0.39.0",), partial(rust_program, "rdkafka-rust", "rdkafka")),
}
_OTHERS = ("reference", "mutant:NAME", "exec:COMMAND")


def find_client(name: str) -> Client:
    """Return the client of this name, not yet built.  Raises UnknownClientError."""
    kind, colon, rest = name.partition(":")
    match kind, bool(colon):
        case "reference", False:
            return Client(name, _ready(Program(_OWN)))
        case "mutant", True if rest:
            _check_mutant(rest)
            return Client(name, _ready(Program((*_OWN, "--mutant", rest))))
        case "exec", True if rest.strip():
            return Client(name, _ready(Program(_argv(rest))))
        case _, _ if kind in LIBRARIES:
            return _library(name, kind, rest if colon else None)
    near = did_you_mean(kind, (*LIBRARIES, *_OTHERS))
    raise UnknownClientError(f"there is no client {name!r}{near}; give one of {FORMS}")


def _check_mutant(name: str) -> None:
    try:
        find_client_mutant(name)
    except KeyError as error:
        raise UnknownClientError(str(error.args[0])) from None


def _library(name: str, kind: str, version: str | None) -> Client:
    library = LIBRARIES[kind]
    if version is None:
        version = library.versions[0]
    elif not _VERSION.fullmatch(version):
        raise UnknownClientError(
            f"{version!r} in {name!r} is not a version number; for example, give "
            f"{kind}:{library.versions[0]}"
        )
    return Client(f"{kind}:{version}", partial(library.program, version))


def _ready(program: Program) -> Callable[[], Awaitable[Program]]:
    async def give() -> Program:
        return program

    return give


def _argv(command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise UnknownClientError(
            f"can't read `{command}` as a command: {error}. Close its quotes."
        ) from error
