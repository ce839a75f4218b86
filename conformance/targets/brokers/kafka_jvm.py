"""Run Kafka's servers in Java: each in a process of its own, or many in one.

A JVM of its own costs a broker four seconds of processor, a place in a JVM that runs others half a
second (4.3.0).  A broker that is killed in failovers needs its own.  The program that runs many
(kafka_program/) is compiled at its first use, by the `javac` beside `java`; where only a JRE is
installed, each broker has its own process.

The classes of a release are archived at its first use, which takes ten seconds; a JVM that maps the
archive needs 1.5 instead of 2.4 s of processor until its broker is ready (4.3.0).

Source: Java's guide to class data sharing (JEP 350).
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import os
import secrets
import shutil
import zipfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Self

from fencepost.conformance.runtime.toolchain.child import Child
from fencepost.conformance.runtime.toolchain.found_tools import (
    cached,
    digest_of,
    java_release,
    run_tool,
)
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.traces.files.bounded import bounded_text

_PROGRAM = "KafkaServers"
_SOURCE = Path(__file__).parent / "kafka_program" / f"{_PROGRAM}.java"
_JAR = f"{_PROGRAM}.jar"
_ARCHIVE = "classes.jsa"
_ARCHIVE_S = 60.0
_LEAST_JAVA = "11"
_COMPILE_S = 60.0
_FLAGS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")
_HEAP = {False: "-Xmx512m", True: "-Xmx2g"}
"""Largest heap of a server alone, and of many in one JVM."""


def java_command(
    java: str,
    jars: Sequence[Path],
    logging: Path,
    *,
    has_many: bool = False,
    flags: Sequence[str] = (),
) -> list[str]:
    """Return the command of a JVM, up to its main class.

    `has_many`: servers; `flags`: further ones of the JVM.
    """
    return [
        *(java, _HEAP[has_many], *_FLAGS, *flags),
        *(f"-Dlog4j.configuration=file:{logging}", "-Dzookeeper.jmx.log4j.disable=true"),
        *("-cp", ":".join(map(str, jars))),
    ]


async def compiled(java: str) -> Path | None:
    """Return the jar of the program that runs many servers; None where nothing can compile it.

    Raises TargetUnavailableError.
    """
    javac = shutil.which("javac", path=str(Path(java).parent))
    if javac is None:
        return None

    async def build(folder: Path) -> None:
        command = [javac, "-nowarn", "--release", _LEAST_JAVA, "-d", str(folder), str(_SOURCE)]
        await run_tool(command, _COMPILE_S, folder)
        await asyncio.to_thread(_pack, folder)

    return await cached("kafka-servers", digest_of([_SOURCE]), build) / _JAR


def _pack(folder: Path) -> None:
    """Make a jar of the classes in a folder: an archive takes in the classes of jars alone."""
    with zipfile.ZipFile(folder / _JAR, "w") as jar:
        for path in sorted(folder.glob("*.class")):
            jar.write(path, path.name)


async def class_archive(
    kind: str, java: str, train: Callable[[Path, Sequence[str]], Awaitable[None]]
) -> tuple[str, ...]:
    """Return the flags of a JVM that maps an archive of the classes of a kind.

    `train`: runs servers of that kind with flags, by which their JVM writes the archive at its end,
    in a folder.  () where it writes none, as before Java 13.  Raises TargetUnavailableError.
    """

    async def write(folder: Path) -> None:
        await train(folder, [f"-XX:ArchiveClassesAtExit={folder / _ARCHIVE}"])

    version = hashlib.sha256(f"{java} {await java_release(java)}".encode()).hexdigest()[:12]
    file = await cached("kafka-classes", f"{kind}-{version}", write) / _ARCHIVE
    return (f"-XX:SharedArchiveFile={file}", "-Xshare:auto") if file.exists() else ()


class SharedJvm:
    """A JVM that runs many servers; made by `start`, `end` last."""

    def __init__(self, child: Child, requests: int) -> None:
        self.log = child.log
        self._child = child
        self._requests: int | None = requests

    @classmethod
    async def start(cls, command: Sequence[str], folder: Path, log: Path) -> Self:
        """Start it, without any server yet.  Raises TargetUnavailableError."""
        fifo = folder / "servers"
        os.mkfifo(fifo)
        requests = os.open(fifo, os.O_RDWR)  # not for writing alone: that waits for the reader
        try:
            child = await Child.start([*command, _PROGRAM, str(fifo)], log, folder=folder)
        except OSError as error:
            os.close(requests)
            raise TargetUnavailableError(f"Java can't be started ({error})") from error
        return cls(child, requests)

    def run(self, main: str, file: Path) -> SharedServer:
        """Start a server by its main class, with a file of properties."""
        if self._requests is None:
            raise RuntimeError("its JVM has ended")
        os.write(self._requests, f"{main}\t{file}\n".encode())
        return SharedServer(self._child, file)

    async def end(self) -> None:
        """End it with all servers."""
        self._close()
        await self._child.end()

    async def halt(self) -> None:
        """Wait until it has ended by itself: only then it archives its classes."""
        self._close()
        with contextlib.suppress(TimeoutError):
            await self._child.wait(_ARCHIVE_S)

    def _close(self) -> None:
        if self._requests is not None:
            os.close(self._requests)
            self._requests = None


class SharedServer:
    """A server in a JVM that runs others, too."""

    def __init__(self, child: Child, file: Path) -> None:
        self._child = child
        self._ended = file.with_name(f"{file.name}.ended")

    @property
    def ended(self) -> bool:
        """Return True if it is over, or its JVM is."""
        return self._child.ended or self._ended.exists()

    def how_it_ended(self) -> str:
        """Return how it ended by itself, for a sentence; once it has."""
        if self._child.ended:
            return self._child.how_it_ended()
        return f"ended ({bounded_text(self._ended).strip()})"

    def last_line(self, interesting: Callable[[str], bool] = lambda _: True) -> str:
        """Return the last interesting line of its JVM's log."""
        return self._child.last_line(interesting)

    async def end(self) -> None:
        """Leave it: it ends with its JVM."""


def new_kafka_id() -> str:
    """Make an id of a cluster or a folder: 16 random bytes in URL-safe base64, no hyphen first."""
    while (text := base64.urlsafe_b64encode(secrets.token_bytes(16)).decode()[:22])[0] == "-":
        pass
    return text


class DataTemplate:
    """The data of a node as Kafka's `format` makes it: made once, and copied for further nodes.

    `folder`: for the copy.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._making = asyncio.Lock()

    async def fill(self, data: Path, node: str, make: Callable[[], Awaitable[object]]) -> None:
        """Fill a data folder; `make` formats it where there is nothing to copy yet.

        `node`: the id of the node.  Raises what `make` raises.
        """
        async with self._making:
            if not self._folder.exists():
                await make()
                shutil.copytree(data, self._folder)
                return
        shutil.copytree(self._folder, data)
        meta = data / "meta.properties"
        rows = bounded_text(meta).splitlines()
        # Since 3.7 a folder has an id: a controller refuses a second node that has the same.
        own = {"node.id": node, "directory.id": new_kafka_id()}
        rows = [
            f"{key}={own.get(key, value)}" if is_set else key
            for key, is_set, value in (row.partition("=") for row in rows)
        ]
        meta.write_text("\n".join([*rows, ""]), encoding="utf-8")
