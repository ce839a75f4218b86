from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.logs.log_rows import Rows, said_by_audit, said_by_tables, write_logs
from support.places import TESTS

from benchmarks.log_traffic import Plan
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.traces.audit.audit_settings import LogOptions
from fencepost.traces.audit.log_audit import Audit, BrokerActivity
from fencepost.traces.logs.log_files import LogFileError
from fencepost.traces.logs.request_log import LoggedExchange, RequestLog
from fencepost.traces.operations import operator_report
from fencepost.traces.pipeline.corpus.shard_jobs import LocalEngine
from fencepost.traces.pipeline.logs import part_audit
from fencepost.traces.pipeline.logs.audit_plan import LogAudit
from fencepost.traces.pipeline.logs.part_audit import (
    AuditPart,
    ReadLog,
    audit_logs,
)
from fencepost.traces.pipeline.logs.part_tables import part_table
from fencepost.traces.pipeline.storage.location import CorpusError, Place
from fencepost.traces.pipeline.storage.log_tables import TABLES, VERSION

LOGS = TESTS / "traces" / "request_logs"
WRONG = "mutant:librdkafka-mock-never-fences"
PLAN = Plan(lines=1_500, groups=12, members=4, brokers=2, unrest_ms=30_000, seed=3)
PARTS = 4
GROUPS = tuple(f"group-{n}" for n in range(40))


@pytest.fixture(scope="module")
def wrong_logs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two brokers with a wrong coordinator, and lines that can't be read."""
    logs = write_logs(tmp_path_factory.mktemp("logs"), PLAN, find_revision(WRONG))
    lines = logs[0].read_bytes().splitlines(keepends=True)
    lines[40] = lines[40][:200] + b"\n"
    lines[100:220] = [b"another logger\n"] * 120  # the broker is silent for long
    lines[60] = b"java.lang.Exception\n"
    logs[0].write_bytes(b"".join(lines))
    return logs


def audited(folder: Path, logs: list[Path], **options: Any) -> LogAudit:
    audit = LogAudit.of(Place(str(folder)), logs, LogOptions(**options), PARTS)
    audit_logs(LocalEngine(), audit)
    return audit


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, wrong_logs: list[Path]) -> LogAudit:
    """The audit of these logs, which nobody changes."""
    return audited(tmp_path_factory.mktemp("done"), wrong_logs)


@pytest.fixture(scope="module")
def in_one_pass(done: LogAudit) -> dict[str, Rows]:
    """What an audit in one pass says of the same logs."""
    return said_by_audit(done)


@pytest.mark.parametrize(
    "name", [pytest.param("kafka-2.8.0.log.gz", marks=pytest.mark.slow), "kafka-4.3.0.log.gz"]
)
def test_logs_of_brokers_have_the_rows_of_the_audit_in_one_pass(name: str, tmp_path: Path) -> None:
    audit = audited(tmp_path, [LOGS / name])
    rows = said_by_tables(audit)
    assert rows == said_by_audit(audit)
    assert {row["kind"] for row in rows["problems"]} >= {"ping-pong", "self-fencing"}


@pytest.mark.slow
def test_so_do_logs_of_several_brokers_with_violations_and_damage(
    done: LogAudit, in_one_pass: dict[str, Rows]
) -> None:
    rows = said_by_tables(done)
    assert rows == in_one_pass
    assert {row["outcome"] for row in rows["groups"]} >= {"violated", "explained"}
    assert rows["violations"]
    assert rows["rebalances"]
    assert rows["life_lines"]


def questions(logs: list[Path]) -> Iterator[tuple[Audit, LoggedExchange, int, int]]:
    """Times of which an audit in one pass may ask whether a broker ran through."""
    whole = Audit()
    for number, exchange in enumerate(RequestLog(logs)):
        whole.feed(exchange)
        if number % 97 == 0:
            for back_ms in (0, 400, 5_000, 60_000):
                for to_ms in (exchange.answered_ms - back_ms // 10, exchange.answered_ms + 500):
                    yield whole, exchange, to_ms - back_ms, to_ms


def answers(logs: list[Path], audit: LogAudit, *, clairvoyant: bool) -> tuple[list[int], ...]:
    part = part_audit.PartAudit(audit, 0)
    of_part, of_whole = [], []
    for whole, exchange, from_ms, to_ms in questions(logs):
        name = exchange.broker
        numbers = {file.name: n for n, file in enumerate(audit.files) if file.broker == name}
        here = (len(audit.files), 0) if clairvoyant else (numbers[exchange.source], exchange.line)
        part._cursor.at = {name: here}
        part._brokers = {name: BrokerActivity()}  # it has seen nothing itself
        for asked in ("runs_through", "paused_ms"):
            of_part.append(getattr(part, asked)(name, from_ms, to_ms))
            of_whole.append(getattr(whole, asked)(name, from_ms, to_ms))
    return of_part, of_whole


@pytest.mark.slow
def test_a_part_knows_of_a_broker_what_one_pass_would_know(
    done: LogAudit, wrong_logs: list[Path]
) -> None:
    of_part, of_whole = answers(wrong_logs, done, clairvoyant=False)
    assert of_part == of_whole
    assert set(of_whole[::2]) == {True, False}
    assert 0 in of_whole[1::2]
    assert max(of_whole[1::2]) > 3_000
    of_part, of_whole = answers(wrong_logs, done, clairvoyant=True)
    assert of_part != of_whole


def test_without_the_lines_that_are_lost_the_rows_would_differ(
    tmp_path: Path, wrong_logs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_audit.PartAudit, "damaged", Audit.damaged)
    logs = [ruined(wrong_logs[n], tmp_path / f"broker-{n // 2}.log") for n in (0, 2)]
    audit = audited(tmp_path / "out", logs)
    assert said_by_tables(audit)["groups"] != said_by_audit(audit)["groups"]


def ruined(log: Path, to: Path) -> Path:
    """Every tenth line is cut off."""
    lines = log.read_bytes().splitlines(keepends=True)
    to.write_bytes(
        b"".join(line[:300] + b"\n" if n % 10 == 5 else line for n, line in enumerate(lines))
    )
    return to


@pytest.mark.slow
def test_options_are_those_of_the_audit(
    tmp_path: Path, wrong_logs: list[Path], done: LogAudit
) -> None:
    some = said_by_tables(done)["groups"][:2]
    names = tuple(row["group"] for row in some)
    options = {"gaps": "none", "lag_ms": 700, "skew": {"broker-1": 50}, "groups": names}
    audit = audited(tmp_path / "b", wrong_logs, **options)
    rows = said_by_tables(audit)
    assert rows == said_by_audit(audit)
    assert {row["group"] for row in rows["groups"]} == set(names)
    with pytest.raises(LogFileError, match="broker-7"):
        audited(tmp_path / "c", wrong_logs, skew={"broker-7": 1})


def test_a_line_about_several_groups_is_evidence_for_each(tmp_path: Path) -> None:
    with gzip.open(LOGS / "kafka-4.3.0.log.gz") as file:
        lines = file.read().splitlines()
    head, _, body = next(x for x in lines if b'"requestApiKey":15' in x).partition(b"request:")
    record = json.loads(body[: body.rindex(b"}") + 1])
    row = record["response"]["groups"][0]
    record["response"]["groups"] = [{**row, "groupId": name} for name in ("a", "b", "c", "d")]
    record["request"]["groups"] = ["a", "b", "c", "d"]
    log = tmp_path / "kafka.log"
    log.write_bytes(head + b"request:" + json.dumps(record).encode() + b"\n")
    audit = audited(tmp_path / "out", [log])
    rows = said_by_tables(audit)
    assert rows == said_by_audit(audit)
    assert [row["group"] for row in rows["groups"]] == ["a", "b", "c", "d"]


class Dies(LocalEngine):
    """Is killed after so many shards."""

    def __init__(self, after: int) -> None:
        self._left = after

    def each(self, job: Any, shards: Any) -> pa.Table:
        for number in shards:
            if not self._left:
                raise KeyboardInterrupt
            self._left -= 1
            super().each(job, [number])
        return super().each(job, [])


@pytest.mark.slow
@pytest.mark.parametrize("after", [1, 6])
def test_whoever_was_killed_goes_on(
    after: int,
    tmp_path: Path,
    wrong_logs: list[Path],
    in_one_pass: dict[str, Rows],
) -> None:
    place = Place(str(tmp_path))
    audit = LogAudit.of(place, wrong_logs, LogOptions(), PARTS)
    with pytest.raises((KeyboardInterrupt, ValueError)):
        audit_logs(Dies(after), audit)
    again: list[int] = []

    class Counts(LocalEngine):
        def each(self, job: Any, shards: Any) -> pa.Table:
            again.extend(shards)
            return super().each(job, shards)

    audit_logs(Counts(), audit)
    assert len(again) < len(wrong_logs) + PARTS
    assert said_by_tables(audit) == in_one_pass


def test_a_part_that_fails_leaves_no_table(tmp_path: Path, wrong_logs: list[Path]) -> None:
    audit = LogAudit.of(Place(str(tmp_path)), wrong_logs, LogOptions(), PARTS)
    ReadLog(audit)(0)
    with pytest.raises(FileNotFoundError):  # the other files were not read
        AuditPart(audit, 0)(0)
    for name in TABLES:
        assert not audit.place.names(name), name


def test_other_logs_or_options_are_refused(done: LogAudit, wrong_logs: list[Path]) -> None:
    folder = Path(str(done.place))
    with pytest.raises(CorpusError, match="another folder"):
        audited(folder, wrong_logs[:1])
    with pytest.raises(CorpusError, match="another folder"):
        audited(folder, wrong_logs, gaps="any")
    assert LogAudit.read(done.place).text() == audited(folder, wrong_logs).text()


@pytest.mark.parametrize(
    ("said", "names"),
    [("{", "isn't JSON"), ("{}", "of no audit"), (None, "holds no audit.json")],
)
def test_a_folder_that_is_of_no_audit_is_refused(
    said: str | None, names: str, tmp_path: Path
) -> None:
    if said is not None:
        (tmp_path / "audit.json").write_text(said, encoding="utf-8")
    with pytest.raises(CorpusError, match=names):
        LogAudit.read(Place(str(tmp_path)))
    newer = {"format": "fencepost-log-audit", "version": VERSION + 1}
    (tmp_path / "audit.json").write_text(json.dumps(newer), encoding="utf-8")
    with pytest.raises(CorpusError, match="use the fencepost that made it"):
        LogAudit.read(Place(str(tmp_path)))


def test_each_group_is_in_one_part_and_has_its_lines_in_order(
    done: LogAudit, wrong_logs: list[Path]
) -> None:
    whole = [(x.place, done.part_of(x.group_ids[0])) for x in RequestLog(wrong_logs)]
    seen: list[str] = []
    for part in range(PARTS):
        groups = done.place.read(part_table("groups", part))["group"].to_pylist()
        assert {done.part_of(group) for group in groups} <= {part}
        seen += groups
        mine = [x.place for x in part_audit.PartAudit(done, part).exchanges()]
        assert mine == [place for place, of in whole if of == part]
    assert len(seen) == len(set(seen)) == PLAN.groups


def test_rows_do_not_depend_on_when_other_groups_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = write_logs(tmp_path / "few", Plan(7_500, groups=40, members=3, unrest_ms=60_000, seed=2))
    long = Plan(lines=8_000, groups=1, members=10, unrest_ms=600_000, seed=99)
    logs += write_logs(tmp_path / "long", long)  # its hours are long after the others are over
    audit = LogAudit.of(Place(str(tmp_path / "out")), logs, LogOptions(groups=GROUPS[1:]), PARTS)
    told = []
    for every in (100, 10**9):
        monkeypatch.setattr(operator_report, "_SWEEP_EVERY", every)
        told.append(said_by_audit(audit))
    assert told[0] == told[1]
    assert told[0]["deployments"]
