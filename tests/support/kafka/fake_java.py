"""A Java whose Kafka is the served model: for tests of what starts brokers.

Run as the program `java`, in which `made` has written what kind it is: `serves` is Kafka as it
should be, `dies` and `hangs` don't start, `taken` finds its port taken once, and `too-early` comes
once before its ZooKeeper is ready.
"""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path

from support.command import RUN

VERSION = 'openjdk version "17.0.9" 2023-10-17'


def made(
    home: Path, kind: str = "serves", says: str = VERSION, *, has_compiler: bool = False
) -> Path:
    """A JAVA_HOME; `pids` in it holds the process ids of brokers, one a line.

    With a compiler, what runs many servers in one process has a process for each below it.  It
    ends, with an archive of its classes where that is wanted, when its FIFO is closed.
    """
    script = f"""\
        #!{sys.executable}
        import os, pathlib, subprocess, sys, threading
        sys.path[:0] = {sys.path!r}
        home = pathlib.Path({str(home)!r})
        if "-version" in sys.argv:
            print({says!r}, file=sys.stderr)
            sys.exit()
        with open(home / "arguments", "a") as log:
            print(*sys.argv[1:], file=log)
        if "KafkaServers" in sys.argv:
            def run(main, file):
                code = subprocess.run([sys.argv[0], main, file]).returncode
                pathlib.Path(file + ".ended").write_text(f"exit with status {{code}}")
            for line in open(sys.argv[-1]):
                threading.Thread(target=run, args=line.split()).start()
            for row in sys.argv:
                if row.startswith("-XX:ArchiveClassesAtExit="):
                    pathlib.Path(row.partition("=")[2]).write_text("classes")
            os._exit(0)
        if "kafka.tools.StorageTool" in sys.argv:
            rows = pathlib.Path(sys.argv[-1]).read_text().splitlines()
            data = pathlib.Path(dict(row.split("=", 1) for row in rows)["log.dirs"])
            data.mkdir()
            (data / "meta.properties").write_text("version=1\\nnode.id=1\\n")
        if "kafka.Kafka" not in sys.argv:
            sys.exit()
        with open(home / "pids", "a") as log:
            print(os.getpid(), file=log)
        times = len((home / "pids").read_text().splitlines())
        kind = {kind!r}
        if kind == "dies":
            print("INFO starting")
            print("ERROR the disk is full")
            print("at kafka.Kafka.main")
            sys.exit(1)
        if kind == "taken" and times == 1:
            print("java.net.BindException: Address already in use")
            sys.exit(1)
        if kind == "too-early" and times == 1:
            why = "Timed out waiting for connection while in state: CONNECTING"
            print("kafka.zookeeper.ZooKeeperClientTimeoutException: " + why)
            sys.exit(1)
        if kind == "hangs":
            print("INFO starting", flush=True)
            import signal
            signal.pause()
        rows = pathlib.Path(sys.argv[-1]).read_text().splitlines()
        known = dict(row.split("=", 1) for row in rows)
        port = known["advertised.listeners"].rpartition(":")[2]
        sys.argv = ["fencepost", "serve", "model", "--port", port]
        {RUN}
    """
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(textwrap.dedent(script), encoding="utf-8")
    program.chmod(0o755)
    if has_compiler:
        compiler = program.with_name("javac")
        compiler.write_text('#!/bin/sh\necho javac >> "$0.runs"\n', encoding="utf-8")
        compiler.chmod(0o755)
    return home


def arguments(home: Path) -> list[str]:
    """The command lines that were run, without `-version`."""
    return (home / "arguments").read_text(encoding="utf-8").splitlines()


def brokers(home: Path) -> list[int]:
    """The process ids of the brokers that were started, among them the one that trains."""
    file = home / "pids"
    return [int(row) for row in file.read_text(encoding="utf-8").split()] if file.exists() else []


def environment(home: Path, cache: Path) -> dict[str, str]:
    """The variables by which this Java is found, and no Maven is needed."""
    (cache / "kafka" / "4.3.0" / "lib").mkdir(parents=True)
    (cache / "kafka" / "4.3.0" / "lib" / "kafka.jar").touch()
    return {"JAVA_HOME": str(home), "FENCEPOST_CACHE": str(cache), "PATH": os.environ["PATH"]}
