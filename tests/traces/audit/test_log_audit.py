"""Audits of logs that the model's clients made: sound ones are explained, wrong ones are found.

The logs are made in virtual time, so a verdict is the same each time.  The auditor itself is held
to logs with one answer that is wrong, and to coordinators that are wrong throughout.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator
from support.logs.audits import Lines, audited, made, outcomes, put, record, wrong_answers
from support.places import ROOT

from benchmarks.log_traffic import Plan, Traffic
from fencepost.conformance.cli.cli import fencepost
from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.mutants.mutants import find_mutant
from fencepost.traces.audit.audit_results import EXPLAINED, UNKNOWN, VIOLATED
from fencepost.traces.audit.audit_settings import AuditSettings, Gaps
from fencepost.traces.audit.log_audit import SCHEMA, Audit, audit_log
from fencepost.traces.logs.request_log import RequestLog

PLAN = Plan(lines=2_500, groups=6, members=4, unrest_ms=30_000, seed=5)


@pytest.fixture(scope="module")
def lines() -> Lines:
    return made(PLAN)


def test_a_sound_log_is_explained_and_its_states_are_known(tmp_path: Path, lines: Lines) -> None:
    groups = audited(tmp_path, lines)
    assert len(groups) == PLAN.groups
    assert outcomes(groups) == {EXPLAINED}
    assert sum(g.lines for g in groups.values()) == len(lines)
    judged = sum(g.judged for g in groups.values())
    assert judged > 0.9 * len(lines)
    assert all(g.anchors for g in groups.values())


@pytest.mark.parametrize("seed", range(3))
def test_any_piece_of_a_sound_log_is_explained(tmp_path: Path, lines: Lines, seed: int) -> None:
    random = Random(seed)
    start = random.randrange(len(lines) - 500)
    piece = lines[start : random.randrange(start + 400, len(lines))]
    assert outcomes(audited(tmp_path, piece)) == {EXPLAINED}


@pytest.mark.parametrize("seed", range(3))
def test_no_group_of_a_sound_log_is_violated_whatever_clients_do(tmp_path: Path, seed: int) -> None:
    plan = Plan(
        lines=1_500,
        groups=5,
        members=5,
        unrest_ms=15_000,
        rebalance_ms=5_000,
        delay_ms=3_000 * (seed % 2),
        odd=0.6,
        seed=seed,
    )
    assert VIOLATED not in outcomes(audited(tmp_path, made(plan)))


def test_a_log_without_a_rebalance_is_held_to_what_some_state_gives(
    tmp_path: Path, lines: Lines
) -> None:
    beats = [line for line in lines if b'"HEARTBEAT"' in line][:40]
    groups = audited(tmp_path, beats)
    assert outcomes(groups) == {EXPLAINED}
    assert all("no rebalance completes in the log" in g.reason for g in groups.values())


@pytest.mark.parametrize("seed", range(3))
def test_one_wrong_answer_is_found_there_or_later(tmp_path: Path, lines: Lines, seed: int) -> None:
    changed, line, group = wrong_answers(lines, seed)
    groups = audited(tmp_path, changed)
    assert [g.group_id for g in groups.values() if g.outcome == VIOLATED] == [group]
    first = min(found.exchange.line for found in groups[group].first_violations)
    assert line <= first <= line + 200
    assert UNKNOWN not in outcomes(groups)


def test_what_no_state_answers_is_named_where_nothing_is_known(
    tmp_path: Path, lines: Lines
) -> None:
    beat = next(
        line
        for line in lines
        if b'"HEARTBEAT"' in line and record(line)["request"]["groupInstanceId"] is None
    )
    found = record(beat)
    found["response"]["errorCode"] = 82
    (group,) = audited(tmp_path, [put(beat, found)]).values()
    assert group.outcome == VIOLATED
    assert "FENCED_INSTANCE_ID, which is impossible in every state" in group.reason


@pytest.mark.parametrize("name", ["no-id-required", "tansu-same-id"])
def test_a_wrong_coordinator_is_found(tmp_path: Path, name: str) -> None:
    plan = Plan(lines=2_000, groups=6, members=4, unrest_ms=20_000, seed=1)
    assert VIOLATED in outcomes(audited(tmp_path, made(plan, find_mutant(name).revision)))


def without(lines: Lines, wanted: Callable[[dict[str, Any]], bool]) -> Iterator[tuple[int, bytes]]:
    return ((i, line) for i, line in enumerate(lines) if wanted(record(line)))


def test_a_garbled_line_is_never_made_a_group_s_fault(tmp_path: Path, lines: Lines) -> None:
    def takes_over(found: dict[str, Any]) -> bool:
        request = found["request"]
        return (
            found["requestHeader"]["requestApiKeyName"] == "JOIN_GROUP"
            and not request["memberId"]
            and request["groupInstanceId"] is not None
            and found["response"]["errorCode"] == 0
        )

    for place, line in list(without(lines, takes_over))[4:8]:
        changed = [*lines]
        changed[place] = line[: len(line) // 2] + b"\n"
        assert VIOLATED not in outcomes(audited(tmp_path, changed))


def test_a_join_that_still_waits_at_the_end_is_assumed_if_gaps_allow_it(
    tmp_path: Path, lines: Lines
) -> None:
    told = [i for i, line in enumerate(lines) if b'"HEARTBEAT"' in line and b":27}" in line]
    assumed = []
    for end in told[5:30:5]:
        groups = audited(tmp_path, lines[: end + 1])
        assert outcomes(groups) == {EXPLAINED}
        if any(g.assumed for g in groups.values()):
            assumed.append(end)
    strict = audited(tmp_path, lines[: assumed[0] + 1], AuditSettings(gaps=Gaps.NONE))
    assert outcomes(strict) != {EXPLAINED}


def test_memory_depends_on_live_groups(tmp_path: Path, lines: Lines) -> None:
    path = tmp_path / "kafka-request.log"
    path.write_bytes(b"".join(lines))
    audit = Audit()
    held = 0
    for exchange in RequestLog([path]):
        audit.feed(exchange)
        held = max(held, audit.held)
    assert held < len(lines) / 4


# The command.


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(fencepost, ["audit", *arguments], standalone_mode=False)
    code = result.return_value if result.exception is None else -1
    return code, result.output


def test_the_command_reads_brokers_compressed_and_skewed(tmp_path: Path) -> None:
    plan = Plan(lines=1_500, groups=4, members=3, brokers=2, unrest_ms=40_000, seed=3)
    logs: dict[int, list[bytes]] = {0: [], 1: []}
    for broker, line in Traffic(plan, KAFKA_4):
        logs[broker].append(line)
    for broker, written in logs.items():
        (tmp_path / f"b{broker}").mkdir()
        packed = gzip.compress(b"".join(written))
        (tmp_path / f"b{broker}" / "kafka-request.log.gz").write_bytes(packed)
    files = [str(tmp_path / f"b{b}" / "kafka-request.log.gz") for b in logs]
    code, text = run(*files, "--skew", "b1=70", "--json")
    assert code == 0
    document = json.loads(text)
    Draft202012Validator(SCHEMA.schema()).validate(document)
    assert document["counts"]["explained"] == 4
    assert {b for g in document["groups"] for b in g["brokers"]} == {"b0", "b1"}


def test_a_violation_is_told_with_its_line_and_a_trace_to_replay(
    tmp_path: Path, lines: Lines
) -> None:
    changed, line, group = wrong_answers(lines, 1)
    path = tmp_path / "kafka-request.log"
    path.write_bytes(b"".join(changed))
    code, text = run(str(path), "--report", str(tmp_path / "report"))
    assert code == 1
    assert f"{group!r}: violated" in text
    assert f"kafka-request.log:{line}" in text
    document = json.loads((tmp_path / "report" / "audit.json").read_text())
    Draft202012Validator(SCHEMA.schema()).validate(document)
    (trace,) = (tmp_path / "report").glob("*.trace.json")
    replayed = CliRunner().invoke(fencepost, ["replay", str(trace)], standalone_mode=False)
    assert replayed.return_value == 0
    assert "the same verdict" in replayed.output
    assert (tmp_path / "report" / "index.html").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--skew", "b1"], "--skew 'b1' is not KEY=NUMBER, such as broker-2=150"),
        (["--skew", "b9=5"], "no log is of a broker 'b9'"),
        (["--group", "nobody"], "no line names the group 'nobody'"),
        (["--date-pattern", "HH:mm"], "has no full date"),
        (["--timezone", "Mars"], "there is no time zone 'Mars'"),
        (
            ["--config", "group.initial.rebalance.delay=3"],
            "did you mean group.initial.rebalance.delay.ms?",
        ),
        (["--config", "zzz=3"], "'zzz' is no setting that a verdict depends on; there are group."),
    ],
)
def test_bad_options_are_named(tmp_path: Path, lines: Lines, options: list[str], says: str) -> None:
    path = tmp_path / "kafka-request.log"
    path.write_bytes(b"".join(lines[:50]))
    result = CliRunner().invoke(fencepost, ["audit", str(path), *options])
    assert result.exit_code == 2  # click's own; `main` makes it 64
    assert says in result.output


def test_a_file_that_is_no_request_log_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(b"[2026-11-21 12:00:00,000] INFO started (kafka.server)\n")
    result = CliRunner().invoke(fencepost, ["audit", str(path), "--format", "kafka-request-log"])
    assert "can be read; is it a request log" in result.output


OF_ANOTHER_API = (
    '[2026-11-21 19:30:00,905] DEBUG Completed request:{"requestHeader":{"requestApiKey":70,'
    '"requestApiVersion":0,"correlationId":0,"clientId":"1",'
    '"requestApiKeyName":"CONTROLLER_REGISTRATION"}} (kafka.request.logger)'
)


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("server-log", "[2026-11-21 12:00:00,000] INFO started (kafka.server)"),
        ("kafka-request-log", OF_ANOTHER_API),
    ],
)
def test_a_quiet_hour_is_no_error_where_the_kind_is_told(
    tmp_path: Path, kind: str, line: str
) -> None:
    path, figures = tmp_path / "quiet.log", tmp_path / "quiet.prom"
    path.write_text(line + "\n", encoding="utf-8")
    audit = ["audit", str(path), "--prometheus", str(figures)]
    refused = CliRunner().invoke(fencepost, audit)
    assert refused.exit_code == 2
    assert not figures.exists()
    read = CliRunner().invoke(fencepost, [*audit, "--format", kind])
    assert read.exit_code == 0, read.output
    assert "fencepost_problems" in figures.read_text("utf-8")


def test_a_problem_of_a_client_fails_where_that_is_asked_for() -> None:
    log = str(ROOT / "examples" / "request-logs" / "kafka-request.log.gz")
    assert run(log)[0] == 0
    assert run(log, "--fail-on", "problems")[0] == 1
    assert run(log, "--fail-on", "problems", "--group", "search")[0] == 0


def test_a_rebalance_that_a_setting_would_have_avoided_fails_where_that_is_asked_for() -> None:
    log = str(ROOT / "examples" / "request-logs" / "kafka-request.log.gz")
    for group, code in (("payments-1", 1), ("billing-1", 1), ("orders-1", 0)):
        assert run(log, "--fail-on", "avoidable", "--group", group)[0] == code
        assert run(log, "--fail-on", "problems", "--group", group)[0] == 0
    both = ("--fail-on", "avoidable", "--fail-on", "problems")
    assert run(log, *both, "--group", "orders")[0] == 1


def test_figures_are_written_for_prometheus_and_as_open_metrics(tmp_path: Path) -> None:
    log = str(ROOT / "examples" / "request-logs" / "kafka-request.log.gz")
    for name, ends in (("groups.prom", "\n"), ("groups.om", "# EOF\n")):
        assert run(log, "--prometheus", str(tmp_path / name))[0] == 0
        text = (tmp_path / name).read_text()
        assert 'fencepost_fenced{group="orders"} 5\n' in text
        assert text.endswith(ends)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["groups.om", "groups.prom"]
    result = CliRunner().invoke(fencepost, ["audit", log, "--prometheus", "/nowhere/x.prom"])
    assert "give --prometheus another file" in str(result.exception or result.output)


def own_names(path: Path) -> set[str]:
    names = {x.group_ids[0] for x in RequestLog([path])}
    return {name for name in names if name.startswith("fencepost-")}


def test_groups_of_fencepost_itself_are_left_out(tmp_path: Path, lines: Lines) -> None:
    path = tmp_path / "kafka-request.log"
    own = [line.replace(b'"groupId":"', b'"groupId":"fencepost-') for line in lines[:300]]
    path.write_bytes(b"".join([*lines[:300], *own]))
    whole = audit_log(RequestLog([path]), AuditSettings())
    assert whole.own_groups == len(whole.groups) > 0
    assert not any(name.startswith("fencepost-") for name in whole.groups)
    asked = audit_log(RequestLog([path]), AuditSettings(), frozenset({next(iter(own_names(path)))}))
    assert len(asked.groups) == 1


# Traces.


def recorded(name: str) -> Path:
    return ROOT / "traces" / "corpus" / "mutants" / name


def test_traces_are_judged_whole_by_whom_is_asked(tmp_path: Path) -> None:
    name = "zombie-heartbeats.json"
    trace = str(recorded(name))
    code, text = run(trace, "--format", "trace", "--report", str(tmp_path / "report"))
    assert code == 1
    assert text.startswith(f"{name}: violated by kafka-4")
    (row,) = json.loads((tmp_path / "report" / "audit.json").read_text())["traces"]
    assert row["outcome"] == VIOLATED
    assert (tmp_path / "report" / "index.html").exists()
    assert run(trace, "--format", "trace", "--revision", "mutant:zombie-heartbeats")[0] == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--group", "nobody"], "no trace names the group 'nobody'"),
        (["--lag", "9"], "--lag is for request logs"),
    ],
)
def test_what_does_not_fit_a_trace_is_refused(options: list[str], says: str) -> None:
    trace = str(recorded("zombie-heartbeats.json"))
    result = CliRunner().invoke(fencepost, ["audit", trace, "--format", "trace", *options])
    assert says in result.output
