"""The parts that brokers are started with: versions, files, the cache, a child and its keeper."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from support.command import PATIENCE_S, is_gone

from fencepost.conformance.runtime.toolchain import child, found_tools, keeper
from fencepost.conformance.runtime.toolchain.child import Child, free_ports
from fencepost.conformance.runtime.toolchain.found_tools import cached, run_tool
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.brokers.kafka import (
    KafkaTarget,
    logging_properties,
    pom_of,
    server_properties,
    write_properties,
)
from fencepost.conformance.targets.brokers.kafka_jvm import new_kafka_id
from fencepost.conformance.targets.brokers.kafka_version import (
    KafkaVersionError,
    parse_kafka_version,
)
from fencepost.conformance.targets.target_registry import revision_for
from fencepost.conformance.targets.tcp.tcp import Failovers

needs_pidfd = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")

# Versions


@pytest.mark.parametrize(
    ("text", "zookeeper", "new", "java"),
    [
        ("2.3.0", True, False, 8),
        ("3.2.3", True, False, 8),
        ("3.3.0", False, False, 8),
        ("3.9.1", False, False, 8),
        ("3.9.1+old", False, False, 8),
        ("3.9.1+new", False, True, 8),
        ("4.3.0", False, True, 17),
        ("4.3.0*3", False, True, 17),
        ("3.9.1+new*2", False, True, 8),
    ],
)
def test_a_version_says_what_it_needs(text: str, zookeeper: bool, new: bool, java: int) -> None:
    version = parse_kafka_version(text)
    assert str(version) == text
    assert (version.has_zookeeper, version.has_new_coordinator, version.java) == (
        zookeeper,
        new,
        java,
    )


@pytest.mark.parametrize("text", ["4.5.0", "4.10.1", "5.0.0*3"])
def test_a_release_that_nobody_tried_is_run_like_the_newest_and_says_so(text: str) -> None:
    version = parse_kafka_version(text)
    tried = parse_kafka_version("4.4.0")
    assert version.is_untried
    assert not tried.is_untried
    assert version.has_new_coordinator
    assert (version.java, version.scala, version.pins) == (tried.java, tried.scala, tried.pins)
    assert revision_for(f"kafka:{text}") == revision_for("kafka:4.4.0")
    (remark,) = KafkaTarget(version).remarks
    assert remark == (
        f"Kafka {version.release} is newer than 4.4, the newest release that was tried: it is "
        "judged by the same revision, and the known failures of 4.4 count"
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is no version of Kafka"),
        ("4.3", "is no version of Kafka"),
        ("4.3.0+both", "is no version of Kafka"),
        ("4.3.0 ", "is no version of Kafka"),
        ("٤.3.0", "is no version of Kafka"),
        ("2.2.2", "static membership came with 2.3.0"),
        ("3.6.2+new", r"only 3\.7 to 3\.9 have a choice of coordinators, leave out \+new"),
        ("4.3.0+old", r"leave out \+old"),
        ("4.3.0*", "is no version of Kafka"),
        ("4.3.0*0", "from 2 to 5 nodes"),
        ("4.3.0*1", "from 2 to 5 nodes"),
        ("4.3.0*6", "from 2 to 5 nodes"),
        ("3.1.2*3", "several nodes are started from 3.3 on"),
    ],
)
def test_what_is_no_version_is_refused(text: str, says: str) -> None:
    with pytest.raises(KafkaVersionError, match=says):
        parse_kafka_version(text)


# Files


def test_properties_of_a_kraft_node(tmp_path: Path) -> None:
    version = parse_kafka_version("3.9.1+new")
    extra = {"offsets.topic.num.partitions": "7"}
    known = server_properties(version, tmp_path, 11, 12, extra)
    assert known["process.roles"] == "broker,controller"
    assert known["advertised.listeners"] == "PLAINTEXT://127.0.0.1:11"
    assert known["controller.quorum.voters"] == "1@127.0.0.1:12"
    assert known["group.coordinator.rebalance.protocols"] == "classic,consumer"
    assert known["offsets.topic.num.partitions"] == "7"  # what the user sets wins
    assert "zookeeper.connect" not in known


def test_properties_of_a_node_with_zookeeper(tmp_path: Path) -> None:
    known = server_properties(parse_kafka_version("2.3.0"), tmp_path, 11, 12, {})
    assert known["zookeeper.connect"] == "127.0.0.1:12"
    assert known["broker.id"] == "1"
    assert not {"process.roles", "node.id", "group.coordinator.rebalance.protocols"} & set(known)


@pytest.mark.parametrize("text", ["2.3.0", "3.9.1+old", "4.3.0"])
def test_a_broker_forgets_no_empty_group_by_itself(text: str, tmp_path: Path) -> None:
    """Kafka looks for such groups every ten minutes: a search lasts longer than that."""
    key = "offsets.retention.check.interval.ms"
    version = parse_kafka_version(text)
    year_ms = 365 * 24 * 3600 * 1000
    assert int(server_properties(version, tmp_path, 11, 12, {})[key]) > year_ms
    assert server_properties(version, tmp_path, 11, 12, {key: "1000"})[key] == "1000"


def test_a_value_may_have_lines_and_backslashes(tmp_path: Path) -> None:
    file = tmp_path / "p"
    write_properties(file, {"key": "one\ntwo \\ three", "other": "x"})
    assert file.read_text(encoding="utf-8") == "key=one\\ntwo \\\\ three\nother=x\n"


def test_a_request_log_is_asked_for_in_utc_and_apart() -> None:
    plain, logged = logging_properties(None), logging_properties(Path("/logs/a\\b"))
    assert "request" not in plain
    assert logged.startswith(plain)
    assert "log4j.logger.kafka.request.logger=DEBUG, requests" in logged
    assert "log4j.additivity.kafka.request.logger=false" in logged  # not in the other log, too
    assert "appender.requests.File=/logs/a\\\\b\n" in logged
    assert "{UTC}] %p %m (%c)%n" in logged


def test_a_cluster_id_is_no_option() -> None:
    ids = {new_kafka_id() for _ in range(200)}
    assert len(ids) == 200
    assert all(len(text) == 22 and text[0] != "-" for text in ids)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2.3.0", {"kafka_2.12": "2.3.0", "zookeeper": "3.5.10", "slf4j-reload4j": "1.7.36"}),
        ("4.3.0", {"kafka_2.13": "4.3.0", "slf4j-reload4j": "1.7.36"}),
    ],
)
def test_the_pom_asks_for_the_broker(text: str, wanted: dict[str, str]) -> None:
    project = ET.fromstring(pom_of(parse_kafka_version(text)))
    space = "{http://maven.apache.org/POM/4.0.0}"
    found = {
        row.findtext(f"{space}artifactId"): row.findtext(f"{space}version")
        for row in project.iter(f"{space}dependency")
    }
    assert found == wanted


# The cache

MAKES = """
import asyncio, pathlib, sys
from fencepost.conformance.runtime.toolchain.found_tools import cached
async def make(folder):
    with open(sys.argv[1], "a") as log:
        log.write("made\\n")
    (folder / "half").touch()
    print("making", flush=True)
    sys.stdin.read()
    (folder / "whole").touch()
folder = asyncio.run(cached("kind", "1", make))
print("found", sorted(p.name for p in folder.glob("[!.]*")), flush=True)
"""


def maker(log: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", MAKES, str(log)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_two_processes_make_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(found_tools.VARIABLE, str(tmp_path / "cache"))
    log = tmp_path / "log"
    with maker(log) as one:
        assert one.stdout is not None
        assert one.stdout.readline() == "making\n"
        assert not (tmp_path / "cache" / "kind" / "1").exists()  # nobody sees half of it
        with maker(log) as other:
            found = one.communicate("", timeout=PATIENCE_S)[0]
            assert other.communicate("", timeout=PATIENCE_S)[0] == found
    assert found == "found ['half', 'whole']\n"
    assert log.read_text() == "made\n"


@pytest.fixture
def in_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(found_tools.VARIABLE, str(tmp_path))
    return tmp_path / "kind"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_what_failed_is_made_again(in_cache: Path) -> None:
    async def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise TargetUnavailableError("no network")

    async def succeed(folder: Path) -> None:
        (folder / "whole").touch()

    with pytest.raises(TargetUnavailableError, match="no network"):
        await cached("kind", "1", fail)
    folder = await cached("kind", "1", succeed)
    assert names(folder) == [found_tools.SUMS, "whole"]
    assert names(in_cache) == [".1.lock", "1"]  # no halves
    assert await cached("kind", "1", fail) == folder


@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        (lambda file: file.write_bytes(b"whole brokem"), "lib/jar has changed"),
        (lambda file: file.write_bytes(b""), "lib/jar has changed"),
        (lambda file: file.unlink(), "lib/jar is missing"),
    ],
)
@pytest.mark.usefixtures("in_cache")
async def test_a_damaged_entry_is_named_with_the_remedy(
    harm: Callable[[Path], object], problem: str
) -> None:
    async def make(folder: Path) -> None:
        (folder / "lib").mkdir()
        (folder / "lib" / "jar").write_bytes(b"whole broken")

    folder = await cached("kind", "1", make)
    (folder / "more").touch()  # what a program keeps there
    harm(folder / "lib" / "jar")
    with pytest.raises(TargetUnavailableError) as raised:
        await cached("kind", "1", make)
    assert str(raised.value).startswith(f"{folder} is damaged ({problem}): remove this folder")
    shutil.rmtree(folder)
    assert await cached("kind", "1", make) == folder
    found_tools._whole.discard(folder)
    assert await cached("kind", "1", make) == folder


def test_half_an_entry_of_a_killed_process_is_removed(in_cache: Path) -> None:
    async def make(folder: Path) -> None:
        (folder / "file").touch()

    in_cache.mkdir(parents=True)
    (in_cache / ".1.abcdefgh").mkdir()
    (in_cache / ".1.0.abcdefgh").mkdir()  # of another version
    asyncio.run(cached("kind", "1", make))
    assert names(in_cache) == [".1.0.abcdefgh", ".1.lock", "1"]


async def test_a_cache_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(found_tools.VARIABLE, "/dev/null")

    async def never(_: Path) -> None:
        raise AssertionError

    with pytest.raises(TargetUnavailableError, match="name another folder in FENCEPOST_CACHE"):
        await cached("kind", "1", never)


async def test_a_maker_that_takes_for_ever(in_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found_tools, "_LOCK_S", 0.05)
    held = asyncio.Event()
    go_on = asyncio.Event()

    async def slow(_: Path) -> None:
        held.set()
        await go_on.wait()

    making = asyncio.create_task(cached("kind", "1", slow))
    await held.wait()
    with pytest.raises(TargetUnavailableError, match=r"for 0\.05 s by now: .*remove .*\.1\.lock"):
        await cached("kind", "1", slow)
    go_on.set()
    assert (await making).parent == in_cache


# Tools


async def test_a_tool_that_fails_says_its_last_lines(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('a\\nb\\nc\\nd'); raise SystemExit(3)"]
    with pytest.raises(TargetUnavailableError, match="failed with exit code 3: b / c / d"):
        await run_tool(command, PATIENCE_S, tmp_path)


async def test_mavens_first_error_is_told_and_not_its_advice(tmp_path: Path) -> None:
    text = "print('\\x1b[0m[ERROR] no such jar\\n[ERROR]\\n[ERROR] read more'); raise SystemExit(1)"
    with pytest.raises(TargetUnavailableError, match=r"exit code 1: \[ERROR\] no such jar$"):
        await run_tool([sys.executable, "-c", text], PATIENCE_S, tmp_path)


async def test_a_compilers_first_error_is_told_and_not_its_count(tmp_path: Path) -> None:
    lines = "A.java:28: error: cannot find symbol", "import b.C;", "Note: A.java", "1 error"
    text = f"print({chr(10).join(lines)!r}); raise SystemExit(1)"
    with pytest.raises(TargetUnavailableError, match=r"1: A\.java:28: error: cannot find symbol"):
        await run_tool([sys.executable, "-c", text], PATIENCE_S, tmp_path)


async def test_a_tool_that_hangs_is_given_up(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    text = (
        f"import os; open({str(pid)!r}, 'w').write(str(os.getpid())); import time; time.sleep(600)"
    )
    hanging = asyncio.create_task(run_tool([sys.executable, "-c", text], 2, tmp_path))
    with pytest.raises(TargetUnavailableError, match="took more than 2 s"):
        await hanging
    assert not pid.exists() or is_gone(int(pid.read_text()))


async def test_a_tool_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(TargetUnavailableError, match=r"exit code 127: .*nonesuch: No such file"):
        await run_tool([str(tmp_path / "nonesuch")], PATIENCE_S, tmp_path)


# Children

SLEEPS = "import os; print(os.getpid(), flush=True); import time; time.sleep(600)"
PARENT = """
import subprocess, sys
command = [sys.executable, "-I", "-S", sys.argv[1], sys.executable, "-c", sys.argv[2]]
kept = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
kept.wait()
"""

SLOW = """
import os, subprocess, sys, time
kept = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
os.read(0, 1)
time.sleep(0.5)
kept.kill()
kept.wait()
"""
"""A keeper on a busy machine."""


def kept(text: str) -> subprocess.Popen[str]:
    """The keeper with a Python program below it."""
    command = [sys.executable, "-I", "-S", keeper.__file__, sys.executable, "-c", text]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )


def first_pid(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


@needs_pidfd
def test_a_keeper_ends_its_child_when_its_stdin_ends() -> None:
    with kept(SLEEPS) as process:
        pid = first_pid(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 128 + signal.SIGKILL
        assert is_gone(pid)


@needs_pidfd
def test_a_keeper_ends_its_child_when_its_parent_is_killed() -> None:
    command = [sys.executable, "-c", PARENT, keeper.__file__, SLEEPS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        pid = first_pid(parent)
        parent.kill()
        assert is_gone(pid)


@needs_pidfd
def test_a_killed_keeper_takes_its_child_with_it() -> None:
    with kept(SLEEPS) as process:
        pid = first_pid(process)
        process.kill()
        assert is_gone(pid)


@needs_pidfd
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_keeper_leaves_signals_to_its_parent(number: int) -> None:
    with kept(SLEEPS) as process:
        pid = first_pid(process)
        process.send_signal(number)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.2)
        assert process.stdin is not None
        process.stdin.close()
        assert is_gone(pid)


@needs_pidfd
def test_grandchildren_end_too() -> None:
    start = f"subprocess.Popen([sys.executable, '-c', {SLEEPS!r}], stdout=subprocess.PIPE)"
    text = f"import subprocess, sys; print(int({start}.stdout.readline()), flush=True)"
    with kept(text) as process:
        pid = first_pid(process)
        assert process.wait(PATIENCE_S) == 0
        assert is_gone(pid)


@pytest.mark.parametrize(("text", "code"), [("exit(7)", 7), ("import os; os.abort()", 134)])
def test_a_keepers_exit_code_is_its_childs(text: str, code: int) -> None:
    with kept(text) as process:
        assert process.wait(PATIENCE_S) == code


async def test_a_child_has_its_log_folder_and_variables(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("before\n")
    text = "import os; print(os.getcwd(), os.environ['A']); print('last'); print()"
    started = await Child.start([sys.executable, "-c", text], log, folder=tmp_path, env={"A": "b"})
    assert await started.wait(PATIENCE_S) == 0
    assert started.ended
    assert log.read_text() == f"before\n{tmp_path} b\nlast\n\n"
    assert started.last_line() == "last"
    assert started.last_line(lambda line: "before" in line) == "before"
    assert started.last_line(lambda _: False) == "no output"
    await started.end()


@needs_pidfd
async def test_a_child_that_is_ended_is_gone(tmp_path: Path) -> None:
    log = tmp_path / "log"
    started = await Child.start([sys.executable, "-c", SLEEPS], log)
    async with asyncio.timeout(PATIENCE_S):
        while not (text := log.read_text()):  # noqa: ASYNC110  (another process writes it)
            await asyncio.sleep(0.01)
    await started.end()
    assert is_gone(int(text))


@needs_pidfd
async def test_a_child_is_gone_though_its_end_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "slow.py"
    slow.write_text(SLOW)
    monkeypatch.setattr(child, "KEEPER", (sys.executable, str(slow)))
    log = tmp_path / "log"
    started = await Child.start([sys.executable, "-c", SLEEPS], log)
    async with asyncio.timeout(PATIENCE_S):
        while not (text := log.read_text()):  # noqa: ASYNC110  (another process writes it)
            await asyncio.sleep(0.01)
    ending = asyncio.create_task(started.end())
    await asyncio.sleep(0)
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    assert is_gone(int(text))


async def test_a_keeper_that_does_not_end_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deaf = tmp_path / "deaf.py"
    deaf.write_text("import time\nprint('up', flush=True)\ntime.sleep(600)\n")
    monkeypatch.setattr(child, "KEEPER", (sys.executable, str(deaf)))
    monkeypatch.setattr(child, "_END_S", 0.1)
    started = await Child.start(["unused"], tmp_path / "log")
    await started.end()
    assert started.ended


def test_ports_are_free_and_differ() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert all(10_000 <= port < 30_000 for port in ports)


# Failovers


class Restarts:
    """Ends and starts nothing, and remembers it."""

    def __init__(self, error: Exception | None = None, times: int = 99) -> None:
        self.done: list[str] = []
        self._error = error
        self._times = times

    async def end(self) -> None:
        self.done.append("end")

    async def start(self) -> None:
        self.done.append("start")
        if self._error is not None and self.done.count("start") <= self._times:
            raise self._error


@contextlib.asynccontextmanager
async def failovers(restarts: Restarts) -> AsyncIterator[Failovers]:
    made = Failovers(restarts.end, restarts.start, 0.01)
    try:
        yield made
    finally:
        await made.close()


async def scope(made: Failovers, hang_up: Callable[[], None], times: int = 1) -> None:
    async with made.taking_part():
        for _ in range(times):
            await made.wait(hang_up)


async def test_after_a_restart_they_go_on_one_after_the_other() -> None:
    went_on: list[float] = []

    async def one(made: Failovers) -> None:
        await scope(made, lambda: None)
        went_on.append(asyncio.get_running_loop().time())

    async with failovers(Restarts()) as made:
        await asyncio.gather(*(one(made) for _ in range(4)))
    assert len({*went_on}) == 4


async def test_who_has_not_gone_on_when_all_is_over_is_cancelled() -> None:
    made = Failovers(Restarts().end, Restarts().start, 0.01)
    scopes = [asyncio.create_task(scope(made, lambda: None)) for _ in range(3)]
    await asyncio.wait(scopes, return_when=asyncio.FIRST_COMPLETED)
    await made.close()
    await asyncio.wait(scopes)
    assert [task.cancelled() for task in scopes] == [False, True, True]


async def test_all_that_wait_share_one_restart() -> None:
    restarts = Restarts()

    def hang_up() -> None:
        restarts.done.append("hang up")

    async with failovers(restarts) as made:
        await asyncio.gather(*(scope(made, hang_up) for _ in range(5)))
        assert restarts.done == [*["hang up"] * 5, "end", "start"]
        await scope(made, hang_up)
        assert made.count == 2


async def test_a_scope_that_is_not_there_yet_is_waited_for() -> None:
    restarts = Restarts()
    async with failovers(restarts) as made:
        go_on = asyncio.Event()

        async def slow() -> None:
            async with made.taking_part():
                await go_on.wait()
                await made.wait(lambda: None)

        both = asyncio.gather(slow(), scope(made, lambda: None))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await asyncio.shield(both)
        assert restarts.done == []
        go_on.set()
        await both
        assert restarts.done == ["end", "start"]


async def test_a_scope_that_goes_is_not_waited_for() -> None:
    restarts = Restarts()
    async with failovers(restarts) as made, made.taking_part():
        waiting = asyncio.create_task(scope(made, lambda: None))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await made.wait(lambda: None)
    assert restarts.done == ["end", "start"]


async def test_all_get_what_a_restart_raises() -> None:
    error = TargetUnavailableError("it is gone")
    async with failovers(Restarts(error)) as made:
        ended = await asyncio.gather(
            *(scope(made, lambda: None) for _ in range(3)), return_exceptions=True
        )
    assert ended == [error] * 3


async def test_no_scope_begins_on_a_broker_that_did_not_come_back() -> None:
    error = TargetUnavailableError("it still reads its groups")
    restarts = Restarts(error, times=1)
    async with failovers(restarts) as made:
        with pytest.raises(TargetUnavailableError):
            await scope(made, lambda: None)
        assert restarts.done == ["end", "start"]
        async with made.taking_part(), made.taking_part():
            assert restarts.done == ["end", "start", "start"]  # it was waited for, and once


async def test_a_broker_that_is_gone_is_waited_for_once_more_and_no_more() -> None:
    error = TargetUnavailableError("it is gone")
    restarts = Restarts(error)
    async with failovers(restarts) as made:
        for _ in range(3):
            with pytest.raises(TargetUnavailableError, match="it is gone"):
                await scope(made, lambda: None)
    assert restarts.done == ["end", "start", "start"]


async def test_who_waits_at_the_end_is_cancelled() -> None:
    made = Failovers(Restarts().end, Restarts().start, 600)
    waiting = asyncio.create_task(scope(made, lambda: None))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await made.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting


ESCAPES = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"],
                         start_new_session=True)
print(child.pid, flush=True)
time.sleep(600 if sys.argv[1:] else 0)
"""
"""A program that starts another one in a session of its own, and ends or stays."""


@needs_pidfd
@pytest.mark.parametrize("stays", [(), ("stays",)])
async def test_what_a_child_started_in_another_session_ends_with_it(
    tmp_path: Path, stays: tuple[str, ...]
) -> None:
    log = tmp_path / "log"
    started = await Child.start([sys.executable, "-c", ESCAPES, *stays], log)
    async with asyncio.timeout(PATIENCE_S):
        while not (text := log.read_text()):  # noqa: ASYNC110  (another process writes it)
            await asyncio.sleep(0.01)
    await started.end()
    assert is_gone(int(text))


async def test_a_child_gets_no_secrets_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (child.PASSWORD, child.KEY_PASSWORD, "FENCEPOST_CACHE"):
        monkeypatch.setenv(name, "s3cret")
    log = tmp_path / "log"
    names = "import os; print(sorted(n for n in os.environ if n.startswith('FENCEPOST_')))"
    started = await Child.start([sys.executable, "-c", names], log)
    await started.wait(PATIENCE_S)
    await started.end()
    inherited = set(ast.literal_eval(log.read_text()))
    assert "FENCEPOST_CACHE" in inherited
    assert inherited.isdisjoint({child.PASSWORD, child.KEY_PASSWORD})


# The registry

MAVEN = """\
#!/bin/sh
for word in "$@"; do case "$word" in -DoutputFile=*) out="${word#*=}";; esac; done
echo "$@" > TOLD
echo "   org.apache.kafka:kafka_2.13:jar:4.9.1:compile" > "$out"
"""


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Maven that notes its words and names a version."""
    path = tmp_path / "mvn"
    path.write_text(MAVEN.replace("TOLD", str(tmp_path / "told")))
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return path


def told(maven: Path) -> list[str]:
    return maven.with_name("told").read_text().split()


async def test_the_registry_names_the_newest_version(maven: Path) -> None:
    newest = await found_tools.newest_version("org.apache.kafka:kafka_2.13", "4.4.0")
    assert newest == "4.9.1"
    words = told(maven)
    assert words[-1].endswith(":collect")
    assert "-U" in words  # else what it knew yesterday would be the answer


@pytest.mark.usefixtures("maven")
async def test_a_registry_that_names_none_is_told() -> None:
    with pytest.raises(TargetUnavailableError, match=r"names no version of a:b from 1\.0 on"):
        await found_tools.newest_version("a:b", "1.0")
