"""A request log of 200 groups, recorded now from a real Kafka, and audited.

Every group is explained, every staged fault is named, and one answer that is made illegal is found.
Two minutes: `tox -e brokers`.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest
from support.logs.log_stories import Staged
from support.logs.record_request_log import record

from fencepost.traces.audit.audit_results import EXPLAINED, VIOLATED
from fencepost.traces.audit.audit_settings import AuditSettings
from fencepost.traces.audit.log_audit import AuditRun, audit_log
from fencepost.traces.logs.request_log import RequestLog
from fencepost.traces.operations.operator_rows import Cause
from fencepost.traces.operations.problem_words import operator_problems

GROUPS = 200
FENCED = b'"errorCode":82'
BEAT = re.compile(
    rb'"requestApiKey":12,.*"groupId":"(?P<group>[^"]*)",.*"groupInstanceId":null.*'
    rb'"response":\{"throttleTimeMs":0,(?P<code>"errorCode":0)\}'
)
"""A heartbeat of a dynamic member that is well: nothing can fence it in any state."""

Recorded = tuple[Path, list[Staged]]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not on this machine")
    log = tmp_path_factory.mktemp("audit") / "kafka-request.log"
    return log, asyncio.run(record("4.3.0", GROUPS, log))


def audited(log: Path) -> AuditRun:
    return audit_log(RequestLog([log]), AuditSettings())


def test_every_group_is_explained_and_every_fault_is_named(recorded: Recorded) -> None:
    log, staged = recorded
    run = audited(log)
    odd = {r.group_id: r.reason for r in run.groups.values() if r.outcome != EXPLAINED}
    assert odd == {}
    assert len(run.groups) >= GROUPS
    wanted = {_what(row) for row in staged if row.get("by") != "admin"}
    assert {kind for kind, *_ in wanted} == {
        "ping-pong",
        "self-fencing",
        "static-leave",
        "short-session",
    }
    found = operator_problems(run.report)
    # A busy machine may hold up other members for longer than their sessions: that is no lie.
    named = {(p.kind, p.group, p.instance_id or "", _pods(p.names)) for p in found}
    assert wanted <= named
    assert {what for what in named - wanted if what[0] != "short-session"} == set()
    assert run.report.causes[Cause.UNKNOWN] == 0


def _what(row: Staged) -> tuple[str, str, str, tuple[str, ...]]:
    return row["kind"], row["group"], row["instance"], tuple(row["names"])


def _pods(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name.partition(" ")[0] for name in names)


def test_one_answer_that_is_made_illegal_is_found(recorded: Recorded, tmp_path: Path) -> None:
    log, _ = recorded
    lines = log.read_bytes().splitlines(keepends=True)
    beats = [(n, found) for n, line in enumerate(lines) if (found := BEAT.search(line))]
    number, found = beats[len(beats) // 2]
    start, end = found.span("code")
    lines[number] = lines[number][:start] + FENCED + lines[number][end:]
    changed = tmp_path / "kafka-request.log"
    changed.write_bytes(b"".join(lines))
    groups = audited(changed).groups
    violated = {name: r for name, r in groups.items() if r.outcome == VIOLATED}
    (group,) = violated
    assert group == found["group"].decode()
    assert violated[group].first_violations[0].exchange.line == number + 1
