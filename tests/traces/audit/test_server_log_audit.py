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
from fencepost.traces.audit.server_log_audit import SCHEMA, ServerLogRun, audit_server_log
from fencepost.traces.logs.log_files import LogFileError
from fencepost.traces.logs.request_log import read_request_log
from fencepost.traces.logs.server_log import ServerLog
from fencepost.traces.operations import operator_words
from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_rows import Cause, End
from fencepost.traces.operations.problem_words import operator_problems
from fencepost.traces.operations.rebalances import SENDER_UNSEEN

FOLDER = TESTS / "traces" / "server_logs"
VERSIONS = ("2.8.0", "3.9.1+old", "3.9.1+new", "4.3.0")
LEAVING = {End.LEFT, End.REMOVED}


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
    assert found["restarts"].same + found["restarts"].coarser > 0
    assert found["expirations"].same > 0
    for name in ("fenced alive", "restarts", "expirations", "loops"):
        assert found[name].different == []
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
        told = re.search(r"(?:at|between) [0-9-]+ ([0-9:]{8}) UTC", problem.says)
        assert told is not None
        assert told[1] in line
        assert str(problem.instance_id) in line


@pytest.mark.parametrize("version", VERSIONS)
def test_who_sent_a_leave_is_told_where_the_log_shows_it(version: str) -> None:
    told, read = (
        {row.instance_id: row.itself for row in report.static_leaves.rows}
        for report in (requests(version), audited(version).report)
    )
    assert told == {"payments-2": True, "reports-1": False}
    # Here the line names the member that was removed, not the one that the request named.
    is_unseen = version == "3.9.1+old"
    assert read == {**told, "payments-2": None if is_unseen else True}
    log = str(FOLDER / f"server-{version}.log.gz")
    code, text = run(log, "--group", "payments", "--fail-on", "avoidable")
    assert code == (not is_unseen)
    for said in ("(probably: the log doesn't show who sent it)", SENDER_UNSEEN):
        assert (said in text) is is_unseen


def test_an_administrator_that_removed_a_member_is_named_behind_the_time() -> None:
    _, text = run(str(FOLDER / f"server-{VERSIONS[-1]}.log.gz"), "--group", "reports")
    sentence = r"^At [0-9-]+ [0-9:]+ UTC an administrator removed reports-1 .*from 'reports'\.$"
    assert re.search(sentence, text, re.MULTILINE)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_host_is_told_only_as_far_as_the_report_says(version: str) -> None:
    report = audited(version).report
    hosts = {line.process.host for line in report.life_lines.rows if line.end not in LEAVING}
    assert hosts == {""}
    told = {row.process.host for row in report.static_leaves.rows if row.process is not None}
    assert (told == {""}) is (version != "3.9.1+old")
    code, text = run(str(FOLDER / f"server-{version}.log.gz"))
    assert code == 0
    assert ("the hosts of processes" in text) is (told == {""})


@pytest.mark.parametrize("version", ["2.8.0", "3.9.1+old"])
def test_takeovers_that_come_often_may_be_of_a_shared_id_and_are_first(version: str) -> None:
    often, once = (p for p in operator_problems(audited(version).report) if p.kind == "fenced")
    assert (often.instance_id, often.count, once.instance_id) == ("orders-2", 5, "billing-2")
    doubt = "This log doesn't show whether processes share the id, or restarts overlap"
    assert often.says.startswith("Two or more consumers share group.instance.id orders-2")
    assert doubt not in often.says
    assert doubt not in once.says


@pytest.mark.parametrize("version", VERSIONS)
def test_each_rebalance_that_is_prepared_counts_also_one_that_leaves_nobody(version: str) -> None:
    text = gzip.decompress((FOLDER / f"server-{version}.log.gz").read_bytes()).decode()
    report = audited(version).report
    open_ = sum(figures.rebalancing_ms is not None for figures in report.figures.values())
    assert (report.emptying, open_) == (text.count("is now empty"), 1)
    assert sum(row.is_cut for row in report.rebalances.rows) == open_
    assert text.count("Preparing to rebalance") == report.rebalances.count


def test_a_file_without_a_line_about_a_group_has_no_requests_to_speak_of(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text("[2026-11-23 16:03:11,800] INFO started (kafka.server.KafkaServer)\n")
    code, text = run(str(path), "--format", "server-log")
    assert code == 0
    assert "The log has no line about a group of the classic protocol." in text
    assert "request of a group" not in text


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
    assert text.startswith("2 problems with clients shown in this log; 11 groups read; ")
    assert "This log doesn't show whether a process was alive when another took its" in text
    assert "Only a request log shows:" in text
    assert run(log, "--fail-on", "problems")[0] == 1
    document = json.loads((tmp_path / "audit.json").read_text())
    Draft202012Validator(SCHEMA.schema()).validate(document)
    Draft202012Validator(operator_words.SCHEMA.schema()).validate(document["operator"])
    page = (tmp_path / "index.html").read_text()
    assert page.index("Who held each instance id") < page.index("Only a request log shows")


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
    assert "1 group read; the broker's answers are not judged" in said


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--group", "nobody"], "no line names the group 'nobody'"),
        (["--lag", "9"], "--lag is for what is judged"),
        (["--date-pattern", "dd.MM.yyyy HH:mm:ss"], "give --date-pattern, that of the appender"),
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


def test_a_log_whose_dates_go_back_is_not_judged(tmp_path: Path) -> None:
    text = gzip.decompress((FOLDER / "server-4.3.0.log.gz").read_bytes())
    path = tmp_path / "server.log"
    path.write_bytes(text + text)
    with pytest.raises(LogFileError, match=r"server\.log:\d+ is dated [\d,]+ s before server\.log"):
        audit_server_log(ServerLog([path]))


OLD = "[2026-11-23 15:30:25,424] INFO [GroupCoordinator 1]: "
NEW = "[2026-11-23 15:30:25,424] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=0] "
EMPTY = f"{OLD}Group orders with generation 3 is now empty (__consumer_offsets-0)\n"
STRANGE = f"{OLD}Group orders dances with generation 3 (kafka.coordinator.group.GroupCoordinator)\n"


def test_a_line_that_is_not_understood_is_never_silence(tmp_path: Path) -> None:
    path, figures = tmp_path / "server.log", tmp_path / "figures.prom"
    path.write_text(EMPTY + STRANGE)
    options = ("--report", str(tmp_path / "report"), "--prometheus", str(figures))
    for gate in ("avoidable", "problems"):
        assert run(str(path), "--fail-on", gate)[0] == 2
    code, text = run(str(path), *options)
    assert code == 2
    assert "1 line about groups could not be read" in text
    assert "the first is server.log:2" in text
    assert STRANGE.strip() in text
    assert "fencepost_unread_lines 1\n" in figures.read_text()
    document = json.loads((tmp_path / "report" / "audit.json").read_text())
    (unread,) = document["unread"]
    assert (unread["lines"], unread["first"], unread["example"]) == (
        1,
        "server.log:2",
        STRANGE.strip(),
    )
    Draft202012Validator(SCHEMA.schema()).validate(document)
    page = (tmp_path / "report" / "index.html").read_text()
    assert "Not understood, so missing below" in page
    assert "1 line about groups could not be read" in page
    path.write_text(STRANGE)
    assert run(str(path))[0] == 2
    path.write_text(EMPTY)
    assert run(str(path), *options)[0] == 0
    assert "fencepost_unread_lines 0\n" in figures.read_text()


@pytest.mark.parametrize(
    ("date", "says"),
    [
        ("[15:30:25,424]", "lacks its year or day"),
        ("Nov 23 15:30:25", "lacks its year or day"),
        ("04/03/2026 15:30:25", "which number of the date is the day"),
        ("", "there is no date"),
    ],
)
def test_the_hint_names_what_is_wrong_with_a_date(tmp_path: Path, date: str, says: str) -> None:
    path = tmp_path / "server.log"
    path.write_text(EMPTY.replace("[2026-11-23 15:30:25,424]", date))
    code, text = run(str(path))
    assert (code, says in text) == (-1, True)
    path.write_text(EMPTY + EMPTY.replace("[2026-11-23 15:30:25,424]", date))
    code, text = run(str(path))
    assert code == 2
    assert says in text.replace("There", "there")


def test_groups_of_other_protocols_are_named_and_not_judged(tmp_path: Path) -> None:
    path, figures = tmp_path / "server.log", tmp_path / "figures.prom"
    path.write_text(
        f"{NEW}[GroupId cart] Member m-1 joins the consumer group using the consumer protocol.\n"
        f"{NEW}[GroupId jobs] Member m-2 joins the share group using the share protocol.\n"
    )
    code, text = run(str(path), "--prometheus", str(figures))
    assert code == 2
    assert text.startswith("Nothing judged: no group of the classic protocol; 2 groups not judged")
    assert "Not judged: 1 group of another protocol (consumer): 'cart'." in text
    assert 'fencepost_other_groups{protocol="share"} 1' in figures.read_text()
    assert "is of another protocol (consumer): not judged" in run(str(path), "--group", "cart")[1]


def test_a_folder_is_read_and_places_name_it(tmp_path: Path) -> None:
    for broker in ("broker-1", "broker-2"):
        (tmp_path / broker).mkdir()
        (tmp_path / broker / "server.log").write_text(STRANGE if broker[-1] == "2" else EMPTY)
        (tmp_path / broker / "kafkaServer.out").write_text(EMPTY)
        (tmp_path / broker / "controller.log").write_text("[2026-11-23 15:30:25,424] INFO up (x)\n")
        (tmp_path / broker / "notes.bin").write_bytes(b"\0\1\2")
    code, text = run(str(tmp_path))
    assert code == 2
    assert "of 2 lines of 2 files" in text
    assert "the first is broker-2/server.log:1" in text
    (tmp_path / "empty").mkdir()
    assert "has no log of Kafka or trace" in run(str(tmp_path / "empty"))[1]
