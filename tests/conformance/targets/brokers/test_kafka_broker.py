"""Starting a Kafka: when it is ready, what is said when it isn't, and that it ends with us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command import PATIENCE_S, RUN, is_gone
from support.in_this_process import invoke
from support.kafka import fake_java

from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.brokers.kafka import KafkaBroker, KafkaTarget
from fencepost.conformance.targets.brokers.kafka_version import KafkaVersion, parse_kafka_version
from fencepost.conformance.targets.target import ScopeNeeds

VERSION = parse_kafka_version("4.3.0")
SOON_S = 0.5
LONG_S = 100.0

needs_pidfd = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "java"
    for key, value in fake_java.environment(home, tmp_path / "cache").items():
        monkeypatch.setenv(key, value)
    return home


def broker(tmp_path: Path, version: KafkaVersion = VERSION) -> KafkaBroker:
    (tmp_path / "data").mkdir()
    return KafkaBroker(version, tmp_path / "data", tmp_path / "log", {"some.key": "7"})


async def test_a_broker_is_formatted_started_and_ended(home: Path, tmp_path: Path) -> None:
    fake_java.made(home)
    started = broker(tmp_path)
    await started.start(LONG_S)
    (pid,) = fake_java.brokers(home)
    format_it, run_it = fake_java.arguments(home)
    assert "kafka.tools.StorageTool format -t" in format_it
    assert "kafka.jar kafka.Kafka" in run_it
    assert "some.key=7" in (tmp_path / "data" / "server.properties").read_text().splitlines()
    await started.end()
    assert is_gone(pid)


async def test_a_failover_is_another_process_at_the_same_port(home: Path, tmp_path: Path) -> None:
    fake_java.made(home)
    started = broker(tmp_path)
    await started.start(LONG_S)
    address = started.address
    await started.kill()
    (first,) = fake_java.brokers(home)
    assert is_gone(first)
    await started.run_again(LONG_S)
    assert started.address == address
    assert len(set(fake_java.brokers(home))) == 2
    assert sum("StorageTool" in line for line in fake_java.arguments(home)) == 1
    await started.end()
    assert all(map(is_gone, fake_java.brokers(home)))


@pytest.mark.parametrize("kind", ["taken", "too-early"])
async def test_bad_luck_at_the_start_is_not_the_end(home: Path, tmp_path: Path, kind: str) -> None:
    fake_java.made(home, kind)
    started = broker(tmp_path)
    await started.start(LONG_S)
    await started.end()
    assert len(list((tmp_path / "data").glob("data-*/meta.properties"))) == 2  # for another port
    assert len(fake_java.brokers(home)) == 2


async def test_a_broker_that_dies_says_why(home: Path, tmp_path: Path) -> None:
    fake_java.made(home, "dies")
    with pytest.raises(
        TargetUnavailableError, match="while it started: ERROR the disk is full"
    ) as e:
        await broker(tmp_path).start(LONG_S)
    assert str(tmp_path / "log") in str(e.value)


async def test_one_that_is_never_ready_has_a_deadline(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_java.made(home, "hangs")
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    with pytest.raises(
        TargetUnavailableError, match=r"not ready within 0\.5 s: .*can't be reached"
    ) as e:
        await broker(tmp_path).start(SOON_S)
    assert str(tmp_path / "log") in str(e.value)
    assert all(map(is_gone, fake_java.brokers(home)))


async def test_a_log_is_kept_where_it_is_wanted(home: Path, tmp_path: Path) -> None:
    fake_java.made(home, "dies")
    with pytest.raises(TargetUnavailableError):
        async with KafkaTarget(VERSION, logs=tmp_path / "logs"):
            pass
    assert "the disk is full" in (tmp_path / "logs" / "kafka-4.3.0-broker.log").read_text()


# Brokers that share a process


async def test_brokers_that_are_not_killed_share_a_process(home: Path, tmp_path: Path) -> None:
    fake_java.made(home, has_compiler=True)
    needs = [ScopeNeeds(settings={"group.max.size": 3}), ScopeNeeds(restarts=True)]
    async with KafkaTarget(VERSION, logs=tmp_path / "logs") as target:
        await target.prepare(needs)
        trained, first, other, killed = fake_java.brokers(home)
        runs = [row for row in fake_java.arguments(home) if "kafka.Kafka" in row]
    shared = [row for row in fake_java.arguments(home) if "KafkaServers" in row]
    assert len(shared) == 2
    assert sum("-Xmx512m" in row for row in runs) == 1  # the one for failovers has its own
    assert sum("StorageTool" in row for row in fake_java.arguments(home)) == 1
    assert all(map(is_gone, (trained, first, other, killed)))
    names = {path.name for path in (tmp_path / "logs").iterdir()}
    assert names == {"kafka-4.3.0-broker.log", "kafka-4.3.0-failover.log"}


async def test_the_program_of_a_shared_process_is_compiled_once(home: Path, tmp_path: Path) -> None:
    fake_java.made(home, has_compiler=True)
    for _ in range(2):
        async with KafkaTarget(VERSION, logs=tmp_path / "logs"):
            pass
    assert (home / "bin" / "javac.runs").read_text().splitlines() == ["javac"]


async def test_the_classes_of_a_release_are_archived_once(home: Path, tmp_path: Path) -> None:
    fake_java.made(home, has_compiler=True)
    for _ in range(2):
        async with KafkaTarget(VERSION) as target:
            await target.prepare([ScopeNeeds(restarts=True)])
    (file,) = (tmp_path / "cache" / "kafka-classes").glob("4.3.0-*/classes.jsa")
    rows = [row for row in fake_java.arguments(home) if "StorageTool" not in row]
    trains, *shared = [row for row in rows if "KafkaServers" in row]
    failovers = [row for row in rows if "-Xmx512m" in row]
    assert "-XX:ArchiveClassesAtExit=" in trains
    assert (len(shared), len(failovers)) == (2, 2)
    assert all(f"-XX:SharedArchiveFile={file} " in row for row in (*shared, *failovers))


async def test_a_java_that_archives_nothing_is_no_fault(home: Path) -> None:
    java = fake_java.made(home, has_compiler=True) / "bin" / "java"
    java.write_text(java.read_text().replace("-XX:ArchiveClassesAtExit=", "-XX:Unknown="))
    async with KafkaTarget(VERSION):
        pass
    assert not any("SharedArchiveFile" in row for row in fake_java.arguments(home))


async def test_a_broker_that_dies_beside_others_says_why(home: Path, tmp_path: Path) -> None:
    fake_java.made(home, "dies", has_compiler=True)
    says = r"ended \(exit with status 1\) while it started: ERROR the disk is full"
    with pytest.raises(TargetUnavailableError, match=says):
        async with KafkaTarget(VERSION, logs=tmp_path / "logs"):
            pass


async def test_a_broker_with_a_request_log_has_a_process(home: Path, tmp_path: Path) -> None:
    fake_java.made(home, has_compiler=True)
    async with KafkaTarget(VERSION, request_log=tmp_path / "requests.log"):
        _, run = [row for row in fake_java.arguments(home) if "kafka.Kafka" in row]
    assert "-Xmx512m" in run


async def test_a_request_log_is_asked_for_only_where_it_is_wanted(
    home: Path, tmp_path: Path
) -> None:
    fake_java.made(home)
    configured = []

    class Watched(KafkaBroker):
        async def start(self, ready_s: float = LONG_S) -> None:
            await super().start(ready_s)
            configured.append((self._folder / "log4j.properties").read_text(encoding="utf-8"))

    for log in (tmp_path / "requests.log", None):
        folder = tmp_path / f"data-{log is None}"
        folder.mkdir()
        started = Watched(VERSION, folder, tmp_path / "log", {}, request_log=log)
        await started.start()
        await started.end()
    asked, plain = configured
    assert f"appender.requests.File={tmp_path / 'requests.log'}" in asked
    assert "requests" not in plain


@pytest.mark.parametrize(
    ("target", "file", "says"),
    [
        ("kfake", "log", "kfake writes no request log: only kafka:VERSION takes --request-log"),
        ("kafka:4.3.0", "none/log", "log can't be written (No such file or directory)"),
    ],
)
def test_a_request_log_that_cannot_be_is_refused(
    target: str, file: str, says: str, tmp_path: Path
) -> None:
    ran = invoke("start", target, "--request-log", str(tmp_path / file))
    assert (ran.code, ran.out) == (64, "")
    assert says in ran.err


# Tools that are missing


@pytest.mark.parametrize(
    ("target", "gone", "says"),
    [
        ("kafka:4.3.0", "java", "install a JDK or JRE, version 17 or later"),
        ("kafka:4.3.0", "mvn", "install Maven"),
        ("kfake", "go", "install Go"),
    ],
)
def test_a_tool_that_is_missing_is_told(
    target: str, gone: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    if gone != "java":
        monkeypatch.setenv("JAVA_HOME", str(fake_java.made(tmp_path / "java")))
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    ran = invoke("start", target)
    assert (ran.code, ran.out) == (69, "")
    assert ran.err == f"Error: {gone} is not on the PATH: {ran.err.partition('PATH: ')[2]}"
    assert says in ran.err


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ('java version "1.8.0_402"', "is Java 8: install a JDK or JRE, version 17"),
        ('openjdk version "11.0.2"', "is Java 11: install"),
        ("Java", "doesn't print its version"),
    ],
)
async def test_an_old_java_is_told(home: Path, tmp_path: Path, said: str, says: str) -> None:
    fake_java.made(home, says=said)
    with pytest.raises(TargetUnavailableError, match=says):
        await broker(tmp_path).start(LONG_S)


@pytest.mark.usefixtures("home")
async def test_a_wrong_java_home_is_told(tmp_path: Path) -> None:
    with pytest.raises(TargetUnavailableError, match="which has no bin/java: correct it, or unset"):
        await broker(tmp_path).start(LONG_S)


# `fencepost start`


@pytest.fixture
def started(home: Path) -> Iterator[subprocess.Popen[str]]:
    """`fencepost start kafka:4.3.0`, when it has told its address."""
    fake_java.made(home)
    command = [sys.executable, "-c", RUN, "start", "kafka:4.3.0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("127.0.0.1:")
            yield process
        finally:
            process.kill()


@needs_pidfd
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGKILL, -9)]
)
def test_start_ends_its_broker(
    home: Path, started: subprocess.Popen[str], number: int, code: int
) -> None:
    (pid,) = fake_java.brokers(home)
    started.send_signal(number)
    assert started.wait(PATIENCE_S) == code
    assert is_gone(pid)
