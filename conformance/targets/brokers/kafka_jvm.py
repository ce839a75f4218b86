"""Run Kafka's servers in Java: each in a process of its own, or many in one.

A JVM of its own costs a broker four seconds of processor, a place in a JVM that runs others half a
second (4.3.0).  A broker that is killed in failovers needs its own.  The program that runs many
(kafka_program/) is compiled at its first use, by the `javac` beside `java`; where only a JRE is
installed, each broker has its own process.
"""

from __future__ import annotations

import asyncio
import base64
import os
import secrets
import shutil
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Self

from fencepost.conformance.runtime.toolchain.child import Child
from fencepost.conformance.runtime.toolchain.found_tools import cached, digest_of, run_tool
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.traces.files.bounded import bounded_text

_PROGRAM = "KafkaServers"
_SOURCE = Path(__file__).parent / "kafka_program" / f"{_PROGRAM}.java"
_LEAST_JAVA = "11"
_COMPILE_S = 60.0
_FLAGS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")
_HEAP = {False: "-Xmx512m", True: "-Xmx2g"}
"""Largest heap of a server alone, and of many in one JVM."""


def java_command(
    java: str, jars: Sequence[Path], logging: Path, *, has_many: bool = False
) -> list[str]:
    """Return the command of a JVM, up to its main class; `has_many`: servers."""
    return [
        *(java, _HEAP[has_many], *_FLAGS),
        *(f"-Dlog4j.configuration=file:{logging}", "-Dzookeeper.jmx.log4j.disable=true"),
        *("-cp", ":".join(map(str, jars))),
    ]


async def compiled(java: str) -> Path | None:
    """Return the folder of the program that runs many servers; None where nothing can compile it.

    Raises TargetUnavailableError.
    """
    javac = shutil.which("javac", path=str(Path(java).parent))
    if javac is None:
        return None

    async def build(folder: Path) -> None:
        command = [javac, "-nowarn", "--release", _LEAST_JAVA, "-d", str(folder), str(_SOURCE)]
        await run_tool(command, _COMPILE_S, folder)

    return await cached("kafka-servers", digest_of([_SOURCE]), build)


class SharedJvm:
    """A JVM that runs many servers; made by `start`, `end` last."""

    def __init__(self, child: Child, requests: int) -> None:
        self.log = child.log
        self._child = child
        self._requests = requests

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
        os.write(self._requests, f"{main}\t{file}\n".encode())
        return SharedServer(self._child, file)

    async def end(self) -> None:
        """End it with all servers."""
        os.close(self._requests)
        await self._child.end()


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
