"""The audit of server.log, held to the request log of the same run, on four real brokers."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator
from support.logs.agreement import agreement
from support.logs.audit_reports import reported
from support.places import ROOT, TESTS

from fencepost.conformance.cli.cli import fencepost
from fencepost.conformance.targets.tcp.namespacing import PREFIX
from fencepost.traces.audit.operations import operator_report
from fencepost.traces.audit.operations.operator_report import OperatorReport
from fencepost.traces.audit.operations.operator_rows import Cause
from fencepost.traces.audit.operations.operator_words import operator_problems
from fencepost.traces.audit.server_log import SCHEMA_FILE, ServerLogRun, audit_server_log
from fencepost.traces.logs.request_log import read_request_log
from fencepost.traces.logs.server_log import ServerLog

FOLDER = TESTS / "traces" / "server_logs"
VERSIONS = ("2.8.0", "3.9.1+old", "3.9.1+new", "4.3.0")
OPERATOR = Path(operator_report.__file__).with_name("operator-report-1.schema.json")


def audited(version: str) -> ServerLogRun:
    return audit_server_log(ServerLog([FOLDER / f"server-{version}.log.gz"]))


def requests(version: str) -> OperatorReport:
    return reported(read_request_log([FOLDER / f"requests-{version}.log.gz"]))


@pytest.mark.parametrize("version", VERSIONS)
def test_both_logs_of_a_run_tell_the_same_story(version: str) -> None:
    found = agreement(requests(version), audited(version).report)
    for name in ("rebalances", "causes", "replacements", "deployments"):
        assert found[name].same > 0
        assert found[name].different == []
    assert found["remedies"].same > 0.9 * found["rebalances"].same
    assert found["remedies"].different == []
    assert len(found["removals"].different) <= 1  # the request log ends before the last expiry
    assert found["fenced alive"].different == []
    assert (found["fenced alive"].unseen > 0) == (version in {"3.9.1+new", "4.3.0"})


def test_a_story_that_is_not_the_same_is_noticed() -> None:
    found = agreement(requests("2.8.0"), OperatorReport())
    assert found["rebalances"].different
    assert found["replacements"].different


def test_a_living_process_that_lost_its_id_is_named_by_the_old_coordinator() -> None:
    found = {(p.kind, p.first.group) for p in audited("3.9.1+old").report.problems}
    assert ("fenced", "orders") in found
    assert not any(p.kind == "fenced" for p in audited("4.3.0").report.problems)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_problem_cites_the_line_that_shows_it(version: str) -> None:
    log = FOLDER / f"server-{version}.log.gz"
    lines = gzip.decompress(log.read_bytes()).decode().splitlines()
    for problem in operator_problems(audited(version).report):
        line = lines[int(problem.place.removeprefix(f"{log.name}:")) - 1]
        told = re.search(r"at [0-9-]+ ([0-9:]{8}) UTC", problem.says)
        assert told is not None
        assert told[1] in line
        assert str(problem.instance_id) in line


def test_every_cause_is_read() -> None:
    for version in VERSIONS:
        assert audited(version).report.causes[Cause.UNKNOWN] == 0


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(fencepost, ["audit", *arguments], standalone_mode=False)
    if result.exception is not None:
        return -1, str(result.exception)
    return result.return_value, result.output


def test_the_command_says_what_only_a_request_log_shows(tmp_path: Path) -> None:
    log = str(FOLDER / "server-4.3.0.log.gz")
    code, text = run(log, "--report", str(tmp_path))
    assert code == 0
    assert text.startswith("1 problem with clients shown in this log; 11 groups, not judged.")
    assert "Not shown in this log: whether a process was alive when another took its" in text
    assert "Only a request log shows:" in text
    assert run(log, "--fail-on", "problems")[0] == 1
    document = json.loads((tmp_path / "audit.json").read_text())
    Draft202012Validator(json.loads(SCHEMA_FILE.read_text())).validate(document)
    Draft202012Validator(json.loads(OPERATOR.read_text())).validate(document["operator"])
    page = (tmp_path / "index.html").read_text()
    assert page.index("Who held each instance id") < page.index("What only a request log shows")


def test_what_was_fenced_in_a_group_that_was_not_asked_for_is_left_out() -> None:
    log = str(FOLDER / "server-2.8.0.log.gz")
    code, said = run(log, "--group", "payments-1")
    assert code == 0
    assert "FENCED_INSTANCE_ID" not in said
    assert "FENCED_INSTANCE_ID" in run(log, "--group", "orders")[1]


def test_groups_of_fencepost_itself_are_left_out_unless_they_are_asked_for(tmp_path: Path) -> None:
    text = gzip.decompress((FOLDER / "server-4.3.0.log.gz").read_bytes())
    path = tmp_path / "server.log"
    path.write_bytes(text.replace(b"group orders ", f"group {PREFIX}orders ".encode()))
    code, said = run(str(path))
    assert code == 0
    assert "Left out: 1 group of fencepost itself" in said
    code, said = run(str(path), "--group", f"{PREFIX}orders")
    assert "1 group, not judged" in said


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--group", "nobody"], "no line names the group 'nobody'"),
        (["--lag", "9"], "--lag is for what is judged"),
        (["--date-pattern", "dd.MM.yyyy HH:mm:ss"], "is --date-pattern that of the appender?"),
    ],
)
def test_what_does_not_fit_is_refused(options: list[str], says: str) -> None:
    code, said = run(str(FOLDER / "server-4.3.0.log.gz"), *options)
    assert code == -1
    assert says in said


def test_a_request_log_from_before_kafka_2_8_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "kafka-request.log"
    path.write_text("[2021-01-01 00:00:00,000] DEBUG Completed request:RequestHeader() -- {}\n")
    code, said = run(str(path))
    assert code == -1
    assert "a request log of a Kafka before 2.8" in said
    assert "Audit server.log of that broker" in said


def test_traces_are_known_without_being_asked_for() -> None:
    trace = ROOT / "traces" / "corpus" / "mutants" / "zombie-heartbeats.json"
    assert run(str(trace))[0] == 1
