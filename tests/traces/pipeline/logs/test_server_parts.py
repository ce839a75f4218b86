"""The tables of server.log hold the rows and figures of `fencepost audit`, log by log."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from support.logs.log_rows import said_by_audit, said_by_tables
from support.places import TESTS

from fencepost.traces.audit.audit_results import UNKNOWN
from fencepost.traces.audit.audit_settings import LogOptions
from fencepost.traces.audit.server_log_audit import UNJUDGED, audit_server_log
from fencepost.traces.logs.log_files import LogFileError
from fencepost.traces.logs.server_log import LogKind, ServerLog
from fencepost.traces.pipeline.corpus.shard_jobs import LocalEngine
from fencepost.traces.pipeline.logs.audit_plan import LogAudit
from fencepost.traces.pipeline.logs.metrics import measure_logs
from fencepost.traces.pipeline.logs.part_audit import LogAuditTotals, audit_logs
from fencepost.traces.pipeline.storage.location import Place

FIELD_LOGS = sorted((TESTS / "traces" / "field_logs").glob("*.log.gz"))
SERVER_LOGS = sorted((TESTS / "traces" / "server_logs").glob("server-*.log.gz"))
PARTS = 3


def audited(folder: Path, logs: list[Path], parts: int = PARTS) -> tuple[LogAudit, LogAuditTotals]:
    audit = LogAudit.of(Place(str(folder)), logs, LogOptions(), parts)
    return audit, audit_logs(LocalEngine(), audit)


@pytest.mark.parametrize("log", [*FIELD_LOGS, *SERVER_LOGS], ids=lambda path: path.name)
def test_tables_and_figures_are_those_of_an_audit(log: Path, tmp_path: Path) -> None:
    audit, totals = audited(tmp_path, [log])
    assert audit.kind is LogKind.SERVER
    in_one_pass = said_by_audit(audit)
    assert said_by_tables(audit) == in_one_pass
    run = audit_server_log(ServerLog([log]))
    figures = run.report.figures.values()
    assert totals.outcome == run.outcome
    assert totals.unread_lines == run.unread_count
    assert totals.other_groups == run.other_groups
    assert totals.skipped == run.skipped
    assert (totals.lines, totals.exchanges) == (run.lines, run.events)
    assert totals.rebalances == run.report.rebalances.count
    assert totals.problems == len(run.report.problems)
    assert totals.expirations == run.report.expirations.count
    assert totals.groups_lost == sum(f.lost is not None for f in figures)
    assert totals.restarts == run.report.restarts.count
    assert totals.loops == run.report.loops.count
    assert totals.unused_member_ids == run.report.pending_ids.count
    assert totals.failovers == run.report.failovers.count
    together = audit.place.read("expired_together.parquet").to_pylist()
    assert together == json.loads(msgspec.json.encode(run.report.together))


def test_the_logs_of_many_brokers_are_one_audit(tmp_path: Path) -> None:
    logs = [log for log in FIELD_LOGS if log.name[:2] in {"03", "15", "20", "40", "45"}]
    folders = []
    for number, log in enumerate(logs):
        folder = tmp_path / f"broker-{number}"
        folder.mkdir()
        (folder / "server.log.gz").write_bytes(log.read_bytes())
        folders.append(folder / "server.log.gz")
    audit, totals = audited(tmp_path / "out", folders, 5)
    assert said_by_tables(audit) == said_by_audit(audit)
    assert totals.files == len(logs)
    assert totals.groups_lost == 2
    measured = measure_logs(LocalEngine(), audit).totals
    assert measured["expirations"] == totals.expirations
    assert measured["expirations_for_good"] == totals.expirations_for_good
    assert measured["unused_member_ids"] == totals.unused_member_ids == 3
    assert measured["loops"] == totals.loops


def test_lines_that_were_not_understood_make_the_outcome_unknown(tmp_path: Path) -> None:
    good = "[2024-11-20 19:08:22,974] INFO [GroupCoordinator 1]: Preparing to rebalance group g "
    good += "in state PreparingRebalance with old generation 1 (__consumer_offsets-1) (reason: x) "
    strange = "[2024-11-20 19:08:23,974] INFO [GroupCoordinator 1]: Group g dances for member m"
    log = tmp_path / "server.log"
    log.write_text(f"{good}(kafka.coordinator.group.GroupCoordinator)\n{strange}\n")
    _, totals = audited(tmp_path / "out", [log])
    assert (totals.unread_lines, totals.outcome) == (1, UNKNOWN)
    assert totals.to_json()["unread_lines"] == 1
    log.write_text(f"{good}(kafka.coordinator.group.GroupCoordinator)\n")
    assert audited(tmp_path / "other", [log])[1].outcome == UNJUDGED


def test_a_plan_of_server_logs_is_read_again(tmp_path: Path) -> None:
    audit, _ = audited(tmp_path / "out", FIELD_LOGS[:1])
    assert LogAudit.read(audit.place) == audit


def test_a_file_that_goes_back_in_time_is_refused(tmp_path: Path) -> None:
    line = (
        "[2024-11-20 19:{}:22,974] INFO [GroupCoordinator 1]: Preparing to rebalance group g in "
        "state PreparingRebalance with old generation 1 (__consumer_offsets-1) (reason: x) "
        "(kafka.coordinator.group.GroupCoordinator)\n"
    )
    (tmp_path / "server.log.1").write_text(line.format("08") + line.format("30"))
    (tmp_path / "server.log").write_text(line.format("20"))
    with pytest.raises(LogFileError, match="is dated 600 s before"):
        audited(tmp_path / "out", [tmp_path / "server.log", tmp_path / "server.log.1"])
