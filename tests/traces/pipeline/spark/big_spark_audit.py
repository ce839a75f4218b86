"""Request logs on Spark, at size: the rows of one pass, and alerts that a kill doesn't lose.

`FENCEPOST_SPARK_LINES` says how many lines (5,000,000); with fewer it takes minutes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic
from support.logs.log_rows import Rows, in_order, said_by_audit, said_by_tables, write_logs

from benchmarks.log_traffic import Plan, Traffic
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.traces.audit.audit_settings import AuditSettings, LogOptions
from fencepost.traces.audit.possible_errors import PossibleAnswers
from fencepost.traces.logs.request_log import LoggedExchange, RequestLog
from fencepost.traces.pipeline.corpus.shard_jobs import JobEngine, LocalEngine
from fencepost.traces.pipeline.logs.audit_plan import LogAudit
from fencepost.traces.pipeline.logs.metrics import measure_logs
from fencepost.traces.pipeline.logs.part_audit import audit_logs
from fencepost.traces.pipeline.logs.stream_group import StreamGroup
from fencepost.traces.pipeline.spark.spark import SparkEngine, spark_session
from fencepost.traces.pipeline.spark.stream import alerts_in
from fencepost.traces.pipeline.storage.location import Place

LINES = int(os.environ.get("FENCEPOST_SPARK_LINES", "5000000"))
GROUPS = max(40, LINES // 250)
BROKERS = 20
WRONG = "mutant:librdkafka-mock-never-fences"
WITHIN_S = 900.0
COMMAND = Path(sys.executable).with_name("fencepost")


# Five million lines.


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Twenty brokers with small groups, of which one is wrong; and one group for hours."""
    folder = tmp_path_factory.mktemp("logs")
    written = []
    lines, groups = LINES * 3 // 4 // BROKERS, GROUPS // BROKERS
    for broker in range(BROKERS):
        plan = Plan(lines=lines, groups=groups, members=3, unrest_ms=60_000, seed=broker)
        model = find_revision(WRONG) if broker == 7 else KAFKA_4
        written.append(write(folder / f"broker-{broker}.log", plan, model, b"b%d-" % broker))
    many = Plan(lines=LINES // 4, groups=1, members=30, unrest_ms=600_000, seed=99)
    written.append(write(folder / "broker-large.log", many, KAFKA_4, b"large-"))
    return written


def write(path: Path, plan: Plan, model: Any, prefix: bytes) -> Path:
    with path.open("wb") as file:
        for _, line in Traffic(plan, model):
            file.write(line.replace(b'"group-', b'"' + prefix + b"group-"))
    return path


def test_spark_and_one_process_have_the_rows_of_one_pass(logs: list[Path], tmp_path: Path) -> None:
    said: dict[str, dict[str, Rows]] = {}
    metrics = {}
    audits = {
        name: LogAudit.of(Place(str(tmp_path / name)), logs, LogOptions())
        for name in ("local", "spark")
    }
    with spark_session("local[2]") as session:
        engines: dict[str, JobEngine] = {"local": LocalEngine(), "spark": SparkEngine(session)}
        for name, engine in engines.items():
            audit = audits[name]
            begun = time.monotonic()
            done = audit_logs(engine, audit)
            took_s = time.monotonic() - begun
            figures = f"{done.groups:,} groups, {done.lines / took_s:,.0f} lines a second"
            print(f"\n{name}: {done.lines:,} lines, {figures}")  # noqa: T201  (with -s)
            said[name] = said_by_tables(audit)
            metrics[name] = measure_logs(engine, audit)
    assert said["spark"] == said["local"]
    assert metrics["spark"] == metrics["local"]
    rows = said["local"]
    lines = {row["group"]: row["lines"] for row in rows["groups"]}
    assert max(lines.values()) >= LINES // 4 * 0.99
    wrong = {row["group"] for row in rows["groups"] if row["outcome"] == "violated"}
    assert wrong
    assert all(group.startswith("b7-") for group in wrong)
    one_pass = said_by_audit(audits["local"], cut=True)
    for table, expected in one_pass.items():
        whole = in_order(expected)
        if len(whole) < len(rows[table]):  # the report of one pass keeps the first 5,000
            kept = Counter(map(str, rows[table]))
            assert not Counter(map(str, whole)) - kept, table
        else:
            assert rows[table] == whole, table


# Streams.


@pytest.fixture(scope="module")
def wrong_lines(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    plan = Plan(lines=1_500, groups=8, members=4, unrest_ms=30_000, seed=3)
    new, old = write_logs(tmp_path_factory.mktemp("wrong"), plan, find_revision(WRONG))
    whole = subprocess.run(["gzip", "-dc", str(old)], capture_output=True, check=True).stdout
    return (whole + new.read_bytes()).splitlines(keepends=True)


@pytest.fixture(scope="module")
def expected(
    wrong_lines: list[bytes], tmp_path_factory: pytest.TempPathFactory
) -> list[tuple[str, int]]:
    """What is wrong, by a stream that nobody kills: group and line."""
    log = tmp_path_factory.mktemp("whole") / "broker-0.log"
    log.write_bytes(b"".join(wrong_lines))
    groups: dict[str, list[LoggedExchange]] = {}
    for exchange in RequestLog([log]):
        groups.setdefault(exchange.group_ids[0], []).append(exchange)
    settings = AuditSettings()
    found = [
        (name, row["line"])
        for name, own in groups.items()
        for row in StreamGroup(name, settings, PossibleAnswers(settings.revision)).take(own)
    ]
    assert found
    return sorted(found)


@contextmanager
def watching(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A watch, and kill -9 of all its processes at the end of the block."""
    command = [str(COMMAND), "corpus", "watch", *arguments, "--parts", "2", "--master", "local[1]"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(30)


def until(there: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not there():
        assert process.poll() is None, f"the watch ended with {process.returncode}"
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.2)


def committed(out: Path) -> int:
    """How many batches are done."""
    commits = out / "checkpoint" / "commits"
    return len(list(commits.glob("[0-9]*"))) if commits.is_dir() else 0


def told(out: Path) -> list[tuple[str, int]]:
    return sorted((row["group"], row["line"]) for row in alerts_in(Place(str(out))))


def killed_twice(arguments: list[str], out: Path, more: Callable[[], None]) -> None:
    """Killed before the violation is there, and as soon as it is told; then let end."""
    with watching(*arguments, "--every", "1") as process:
        until(lambda: committed(out) > 0, process)
    assert told(out) == []
    more()
    with watching(*arguments, "--every", "1") as process:
        until(lambda: bool(told(out)), process)
    with watching(*arguments, "--once") as process:
        assert process.wait(WITHIN_S) == 1


def test_alerts_of_a_growing_folder_survive_kills(
    wrong_lines: list[bytes], expected: list[tuple[str, int]], tmp_path: Path
) -> None:
    folder, out = tmp_path / "logs", tmp_path / "out"
    folder.mkdir()
    log = folder / "broker-0.log"
    first = min(line for _, line in expected) - 20
    log.write_bytes(b"".join(wrong_lines[:first]) + wrong_lines[first][:50])

    def more() -> None:
        with log.open("ab") as file:
            file.write(wrong_lines[first][50:] + b"".join(wrong_lines[first + 1 :]))

    arguments = [str(folder), "--out", str(out)]
    killed_twice(arguments, out, more)
    assert told(out) == expected
    # Killed after the alert was written, before Spark knew that its batch was done.
    commits = out / "checkpoint" / "commits"
    last = max((p for p in commits.glob("[0-9]*")), key=lambda p: int(p.name))
    last.unlink()
    (commits / f".{last.name}.crc").unlink(missing_ok=True)
    with watching(*arguments, "--once") as process:
        assert process.wait(WITHIN_S) == 1
    assert told(out) == expected


def test_alerts_of_a_topic_of_a_real_kafka_survive_kills(
    wrong_lines: list[bytes], expected: list[tuple[str, int]], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    first = min(line for _, line in expected) - 20
    with started("kafka:4.3.0") as address:
        admin = KafkaAdminClient(bootstrap_servers=address)
        admin.create_topics([NewTopic("request-log", 1, 1)])
        admin.close()
        produce(address, wrong_lines[:first])
        arguments = ["--topic", "request-log", "--bootstrap", address, "--out", str(out)]
        killed_twice(arguments, out, lambda: produce(address, wrong_lines[first:]))
    assert told(out) == [(group, line - 1) for group, line in expected]  # offsets begin at 0


@contextmanager
def started(target: str) -> Iterator[str]:
    with subprocess.Popen(
        [str(COMMAND), "start", target], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, "it did not start"
            yield line.strip().removeprefix("tcp://")
        finally:
            process.terminate()
            process.wait(60)


def produce(address: str, lines: list[bytes]) -> None:
    producer = KafkaProducer(bootstrap_servers=address)
    sent = [producer.send("request-log", key=b"broker-0", value=line) for line in lines]
    for future in sent:
        future.get(60)
    producer.close()
