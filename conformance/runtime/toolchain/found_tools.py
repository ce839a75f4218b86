"""Find the tools that brokers need (Java, Maven, Go, Python), and cache programs and jars.

If a tool is missing or too old, the error says what to install (exit code 69).  Each run of a tool
has a time limit.

Entries of the user's cache are made once, then used offline.  Nobody sees half of an entry: a
folder is made under another name, beside a lock, and renamed when it is complete.  It holds the
checksums of its files; one that is damaged later is named, with the remedy.

Maven resolves jars, among them those that Spark needs to read from Kafka.  It is called with a pom
that asks for nothing else, and copies them, with all that they need, beside the pom.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import click
import platformdirs
from filelock import AsyncFileLock, Timeout

from fencepost.conformance.runtime.toolchain.child import Child
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.traces.files.bounded import DocumentError, bounded_text, last_bytes
from fencepost.traces.files.text_files import temporary_folder

_VERSION_S = 30.0
_LINES = 3
_ERROR = re.compile(r"^\[ERROR\]|: error: ")


def find_tool(name: str, remedy: str) -> str:
    """Return the path of a program.  Raises TargetUnavailableError with the remedy."""
    if name == "java" and (home := os.environ.get("JAVA_HOME")):
        in_home = shutil.which(name, path=str(Path(home) / "bin"))
        if in_home is None:
            raise TargetUnavailableError(
                f"JAVA_HOME is {home}, which has no bin/java: correct it, or unset it"
            )
        return in_home
    program = shutil.which(name)
    if program is None:
        raise TargetUnavailableError(f"{name} is not on the PATH: {remedy}")
    return program


async def find_java(least: int) -> str:
    """Return a Java of at least this version.  Raises TargetUnavailableError."""
    remedy = f"install a JDK or JRE, version {least} or later (Debian: openjdk-17-jre-headless)"
    java = find_tool("java", remedy)
    output = await java_release(java)
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    if match is None:
        raise TargetUnavailableError(f"{java} doesn't print its version ({output!r}): {remedy}")
    if int(match[1]) < least:
        raise TargetUnavailableError(f"{java} is Java {match[1]}: {remedy}")
    return java


async def java_release(java: str) -> str:
    """Return what a Java tells of its version.  Raises TargetUnavailableError."""
    return await run_tool([java, "-version"], _VERSION_S, Path.cwd())


_PYTHONS = 20
"""Minor releases of Python to look for."""


def _named_pythons(least: tuple[int, int]) -> Iterator[str]:
    """Yield the Pythons of this machine that may be new enough: ours, the PATH's, pyenv's."""
    yield sys.executable
    names = [f"python{least[0]}.{minor}" for minor in range(least[1], least[1] + _PYTHONS)]
    yield from filter(None, map(shutil.which, (*names, "python3")))
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from map(str, sorted(root.glob(f"versions/{least[0]}.*/bin/python3")))


async def find_python(least: tuple[int, int]) -> str:
    """Return a Python of at least this version.  Raises TargetUnavailableError."""
    tell = "import sys; print(sys.version_info[:2] >= " + repr(least) + ")"
    for python in dict.fromkeys(_named_pythons(least)):
        with contextlib.suppress(TargetUnavailableError):  # such as a shim of pyenv
            if await run_tool([python, "-I", "-c", tell], _VERSION_S, Path.cwd()) == "True":
                return python
    version = ".".join(map(str, least))
    raise TargetUnavailableError(
        f"no Python {version} or later is on the PATH: install one (Debian: python{version})"
    )


async def run_tool(
    command: Sequence[str], within_s: float, folder: Path, env: Mapping[str, str] | None = None
) -> str:
    """Run a tool in a folder to its end; return its output.

    Raises TargetUnavailableError where it takes too long or fails, with the first line of the
    error, or its last ones.
    """
    with temporary_folder() as at:
        log = at / "output"
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
        output = click.unstyle(last_bytes(log)).strip()
    if code:
        lines = output.splitlines()
        errors = list(filter(_ERROR.search, lines))  # Maven ends with advice, javac with a count
        last = " / ".join(line.strip() for line in errors[:1] or lines[-_LINES:])
        raise TargetUnavailableError(f"{name} failed with exit code {code}: {last or 'no output'}")
    return output


VARIABLE = "FENCEPOST_CACHE"
_LOCK_S = 900.0


def cache_folder() -> Path:
    """Return the user's cache folder, or what the environment variable FENCEPOST_CACHE names."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else platformdirs.user_cache_path("fencepost")


async def cached(kind: str, version: str, make: Callable[[Path], Awaitable[None]]) -> Path:
    """Return the folder of this kind and version; `make` fills it when it isn't there yet.

    Raises TargetUnavailableError, and what `make` raises.
    """
    folder = cache_folder() / kind / version
    if folder.is_dir():
        await _check(folder)
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        async with AsyncFileLock(folder.with_name(f".{version}.lock"), timeout=_LOCK_S):
            if not folder.is_dir():
                await _made(folder, make)
    except Timeout as error:
        raise TargetUnavailableError(
            f"{folder} is being made by another process, for {_LOCK_S:g} s by now: "
            f"if there is none, remove {error.lock_file}"
        ) from error
    except OSError as error:
        raise TargetUnavailableError(
            f"{folder} can't be written ({error}): name another folder in {VARIABLE}"
        ) from error
    return folder


SUMS = ".sha256"
"""The checksums of an entry's files, as `sha256sum -c` reads them."""
_COMPILED = "__pycache__"


async def _check(folder: Path) -> None:
    """Hold an entry to its checksums, once in each process.

    Raises TargetUnavailableError with the remedy for one that is damaged.
    """
    if folder in _whole:
        return
    damage = await asyncio.to_thread(_damage, folder)
    if damage is not None:
        raise TargetUnavailableError(
            f"{folder} is damaged ({damage}): remove this folder; it is made again when it is "
            "needed next"
        )
    _whole.add(folder)


_whole: set[Path] = set()


def _write_sums(folder: Path) -> None:
    files = sorted(p for p in folder.rglob("*") if p.is_file() and _COMPILED not in p.parts)
    lines = [f"{_sum(path)}  {path.relative_to(folder)}\n" for path in files]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def _damage(folder: Path) -> str | None:
    """Return the file that is no longer what was cached, in words; None if all are."""
    if not (folder / SUMS).exists():
        return None  # of an older fencepost
    try:
        text = bounded_text(folder / SUMS)
    except DocumentError as error:
        return f"{SUMS}: {error.problem}"
    for line in text.splitlines():
        digest, _, name = line.partition("  ")
        try:
            if _sum(folder / name) != digest:
                return f"{name} has changed"
        except FileNotFoundError:
            return f"{name} is missing"
        except OSError as error:
            return f"{name} can't be read: {error.strerror}"
    return None


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of(sources: Iterable[Path]) -> str:
    """Return a digest of files of ours, for the version of what is built of them."""
    digest = hashlib.sha256()
    for source in sources:
        digest.update(bounded_text(source).encode())
    return digest.hexdigest()[:12]


async def _made(folder: Path, make: Callable[[Path], Awaitable[None]]) -> None:
    for left in folder.parent.glob(f".{folder.name}.*/"):  # of a process that was killed
        if left.stem == f".{folder.name}":
            shutil.rmtree(left, ignore_errors=True)
    half = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        await make(half)
        await asyncio.to_thread(_write_sums, half)
        os.rename(half, folder)  # noqa: PTH104  (atomic and at once)
    finally:
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(half)


_GO = "install Go 1.26 or later (Debian: golang), or fill the cache on another machine"
_GO_S = 900.0


def locked_go_version(source: Path, module: str) -> str:
    """Return the version of a module that the go.mod beside a program asks for."""
    text = bounded_text(source / "go.mod")
    match = re.search(rf"{re.escape(module)} (v\S+)", text)
    if match is None:
        raise RuntimeError(f"{source / 'go.mod'} names no version of {module}")
    return match[1]


async def go_program(kind: str, source: Path, version: str) -> Path:
    """Return the program that Go builds of a folder of ours, from the cache.

    `version`: of what it is built of.  Raises TargetUnavailableError.
    """

    async def build(folder: Path) -> None:
        go = find_tool("go", _GO)
        for name in ("main.go", "go.mod", "go.sum"):
            shutil.copy(source / name, folder / name)
        command = [go, "build", "-mod=readonly", "-o", kind, "."]
        await run_tool(command, _GO_S, folder, {"GOTOOLCHAIN": "local"})

    return await cached(kind, version, build) / kind


_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
_MAVEN_S = 600.0
_ASK_S = 60.0
_EMPTY = "file://${basedir}/nothing"
_OTHERS = ("gcs-maven-central-mirror",)
"""Repositories that poms of dependencies name beside Central; an empty folder stands for each,
since Central has their artifacts, too."""
_REMEDY = "install Maven 3.6 or later (Debian: maven), or fill the cache on another machine"
_ARTIFACTS = ("spark-sql-kafka-0-10_2.13", "spark-token-provider-kafka-0-10_2.13")
"""The connector, and its sign-in."""
_OLDER = ("4.2.0", "4.1.1", "4.1.0", "4.0.2", "4.0.1", "4.0.0")
"""Releases to fall back on, the newest first."""
_MISSING = re.compile(r"org\.apache\.spark:([\w.-]+):jar:\S+ (?:in|was not found in) ")


async def copy_jars(folder: Path, pom: bytes) -> None:
    """Copy a pom's dependencies to `lib` in a folder.  Raises TargetUnavailableError."""
    maven = find_tool("mvn", _REMEDY)
    file = folder / "pom.xml"
    file.write_bytes(pom)
    arguments = ("-q", "-B", "-Dstyle.color=never", "-f", str(file), f"{_PLUGIN}:copy-dependencies")
    where = f"-DoutputDirectory={folder / 'lib'}"
    await run_tool([maven, *arguments, "-DincludeScope=runtime", where], _MAVEN_S, folder)


async def newest_version(artifact: str, least: str) -> str:
    """Ask Maven's registry for the newest version of `group:artifact`, from `least` on.

    Raises TargetUnavailableError.
    """
    maven = find_tool("mvn", _REMEDY)
    with tempfile.TemporaryDirectory(prefix="fencepost-") as at:
        file, listed = Path(at) / "pom.xml", Path(at) / "versions"
        file.write_bytes(pom("newest", [f"{artifact}:[{least},)"]))
        options = ("-q", "-B", "-U", "-Dstyle.color=never", "-DexcludeTransitive")
        command = [maven, *options, f"-DoutputFile={listed}", "-f", str(file), f"{_PLUGIN}:collect"]
        await run_tool(command, _ASK_S, Path(at))
        text = bounded_text(listed) if listed.is_file() else ""
    match = re.search(rf"{re.escape(artifact)}:jar:([\w.-]+)", text)
    if match is None:
        raise TargetUnavailableError(f"Maven names no version of {artifact} from {least} on")
    return match[1]


def jars_in(folder: Path) -> list[Path]:
    """Return the jars that were copied."""
    return sorted((folder / "lib").glob("*.jar"))


def pom(name: str, artifacts: Sequence[str]) -> bytes:
    """Return a pom that asks for `group:artifact:version` each."""
    project = ET.Element("project", xmlns="http://maven.apache.org/POM/4.0.0")
    _children(project, modelVersion="4.0.0", groupId="fencepost", artifactId=name, version="1")
    entries = ET.SubElement(project, "dependencies")
    for coordinates in artifacts:
        group, artifact, number = coordinates.split(":")
        entry = ET.SubElement(entries, "dependency")
        _children(entry, groupId=group, artifactId=artifact, version=number)
    places = ET.SubElement(project, "repositories")
    for name_ in _OTHERS:
        _children(ET.SubElement(places, "repository"), id=name_, url=_EMPTY)
    text: bytes = ET.tostring(project, xml_declaration=True, encoding="utf-8")
    return text


def _children(parent: ET.Element, **texts: str) -> None:
    for name, text in texts.items():
        ET.SubElement(parent, name).text = text


async def kafka_source(spark: str) -> list[Path]:
    """Return the jars of the Kafka connector for a version of Spark, from the cache.

    The versions of Spark itself are asked for first.  Where a registry lacks one of the two
    artifacts, an older release of that one is taken: what passes between them and Spark has stayed
    the same since 4.0.  Raises TargetUnavailableError.
    """

    async def resolve(folder: Path) -> None:
        versions = dict.fromkeys(_ARTIFACTS, spark)
        while True:
            artifacts = [f"org.apache.spark:{name}:{version}" for name, version in versions.items()]
            try:
                return await copy_jars(folder, pom("spark-kafka", artifacts))
            except TargetUnavailableError as error:
                named = _MISSING.search(str(error))
                missing = named[1] if named else ""
                older = _older_than(versions[missing]) if missing in versions else None
                if older is None:
                    raise
                versions[missing] = older

    return jars_in(await cached("spark-kafka", spark, resolve))


def _older_than(version: str) -> str | None:
    """Return the newest release to fall back on that is older."""
    return next((v for v in _OLDER if _numbers(v) < _numbers(version)), None)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]
