"""Logs of the model's clients, made wrong on purpose, and their audits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import orjson

from benchmarks.log_traffic import Plan, Traffic
from fencepost.model.revision import Revision
from fencepost.model.revisions.base import KAFKA_4
from fencepost.traces.audit.audit_results import GroupResult
from fencepost.traces.audit.audit_settings import AuditSettings
from fencepost.traces.audit.log_audit import Audit, AuditRun, audit_log
from fencepost.traces.logs.request_log import LoggedExchange, RequestLog
from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_words import verdict

Lines = list[bytes]
Exchanges = list[LoggedExchange]


def made(plan: Plan, revision: Revision = KAFKA_4) -> Lines:
    return [line for _, line in Traffic(plan, revision)]


def audited(
    folder: Path, lines: Lines, settings: AuditSettings | None = None
) -> dict[str, GroupResult]:
    path = folder / "kafka-request.log"
    path.write_bytes(b"".join(lines))
    return audit_log(RequestLog([path]), settings or AuditSettings()).groups


def headline(report: OperatorReport) -> str:
    """Return the sentences with which an audit of server logs begins."""
    return " ".join(verdict(report, report.groups, None, {}))


def outcomes(groups: dict[str, GroupResult]) -> set[str]:
    return {group.outcome for group in groups.values()}


def record(line: bytes) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(line[line.index(b"{") : line.rindex(b"}") + 1])
    return found


def put(line: bytes, found: dict[str, Any]) -> bytes:
    return line[: line.index(b"{")] + orjson.dumps(found) + line[line.rindex(b"}") + 1 :]


def wrong_answers(lines: Lines, seed: int) -> tuple[Lines, int, str]:
    """The log with one heartbeat's or sync's answer changed, its number and group."""
    random = Random(seed)
    while True:
        place = random.randrange(len(lines) // 5, len(lines) - 200)
        found = record(lines[place])
        if found["requestHeader"]["requestApiKeyName"] not in {"HEARTBEAT", "SYNC_GROUP"}:
            continue
        if found["response"]["errorCode"] != 0:
            continue
        static = found["request"]["groupInstanceId"] is not None
        found["response"]["errorCode"] = random.choice([22, 25, 82 if static else 79])
        changed = [*lines]
        changed[place] = put(lines[place], found)
        return changed, place + 1, found["request"]["groupId"]


def violated_run(folder: Path) -> AuditRun:
    """Audit a log of three groups with one wrong answer."""
    lines, _, _ = wrong_answers(made(Plan(lines=1_500, groups=3)), seed=1)
    path = folder / "kafka-request.log"
    path.write_bytes(b"".join(lines))
    return audit_log(RequestLog([path]), AuditSettings())


def of_exchanges(lines: Exchanges, settings: AuditSettings | None = None) -> dict[str, GroupResult]:
    """The audit of exchanges that no file holds."""
    audit = Audit(settings)
    for exchange in lines:
        audit.feed(exchange)
    return audit.finish()


def dated_late(lines: Exchanges, line: int, by_ms: int) -> Exchanges:
    """The lines with one that is dated, and so written, later; not after its client's next."""
    (late,) = (x for x in lines if x.line == line)
    following = (x for x in lines if x.connection == late.connection and x.line > line)
    by_ms = min([by_ms, *(x.at_ms - late.answered_ms for x in following)])
    moved = replace(late, at_ms=late.at_ms + by_ms, answered_ms=late.answered_ms + by_ms)
    return sorted(
        (moved if x is late else x for x in lines),
        key=lambda x: (x.answered_ms, x is moved),
    )
