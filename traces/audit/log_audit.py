"""Audit a whole log in one pass: judge every answer, and build the operator's report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.traces.audit.answer_audit import Audit
from fencepost.traces.audit.audit_results import (
    EXPLAINED,
    UNKNOWN,
    VIOLATED,
    AuditViolation,
    GroupResult,
)
from fencepost.traces.audit.audit_settings import AuditSettings, Gaps
from fencepost.traces.audit.segment import Segment
from fencepost.traces.logs.log_files import BROKEN_FILE
from fencepost.traces.logs.request_log import BAD_JSON, NO_REQUEST, TOO_LONG, RequestLog
from fencepost.traces.operations.operator_json import operator_json
from fencepost.traces.operations.operator_report import OperatorAudit, OperatorReport

FORMAT = "fencepost-audit"
VERSION = 1
SCHEMA_FILE = Path(__file__).with_name("audit-1.schema.json")
DAMAGE = frozenset({BAD_JSON, BROKEN_FILE, NO_REQUEST, TOO_LONG})
OUTCOMES = (VIOLATED, UNKNOWN, EXPLAINED)

ASSUMED = {
    Gaps.NONE: "Every request has a line in the log.",
    Gaps.DEFAULT: (
        "A join or sync that was never answered, because its connection closed or the log ends, "
        "has no line; every other request has one."
    ),
    Gaps.ANY: "Any join or leave may be missing from the log, if that explains the answers.",
}
"""What is assumed of a log, in a sentence."""


@dataclass(slots=True)
class AuditRun:
    """The result of auditing a log.

    `skipped`: lines that were passed over, by reason, with the place of the first; `lines`: all;
    `own_groups`: how many groups of fencepost itself were left out.
    """

    settings: AuditSettings
    files: tuple[str, ...]
    lines: int
    exchanges: int
    skipped: dict[str, tuple[int, str]]
    groups: dict[str, GroupResult]
    evidence: dict[str, tuple[AuditViolation, Segment | None]]
    report: OperatorReport
    own_groups: int = 0

    def count(self, outcome: str) -> int:
        """Return how many groups have this outcome."""
        return sum(group.outcome == outcome for group in self.groups.values())

    @property
    def outcome(self) -> str:
        """The worst of the groups'."""
        return next((o for o in OUTCOMES if self.count(o)), EXPLAINED)

    def to_json(self) -> dict[str, Any]:
        """Return the report, as audit-1.schema.json describes it."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "revision": self.settings.revision.name,
            "gaps": self.settings.gaps.value,
            "assumed": ASSUMED[self.settings.gaps],
            "lag_ms": self.settings.lag_ms,
            "config": dict(self.settings.config),
            "files": list(self.files),
            "lines": self.lines,
            "exchanges": self.exchanges,
            "own_groups": self.own_groups,
            "skipped": skipped_json(self.skipped),
            "outcome": self.outcome,
            "counts": {outcome: self.count(outcome) for outcome in OUTCOMES},
            "groups": [group.to_json() for group in self.groups.values()],
            "operator": operator_json(self.report),
        }


def skipped_json(skipped: Mapping[str, tuple[int, str]]) -> list[dict[str, Any]]:
    """Return the skipped lines as JSON; `skipped`: reason → their number, place of the first."""
    return [
        {"reason": reason, "lines": lines, "first": first}
        for reason, (lines, first) in sorted(skipped.items())
    ]


def audit_log(
    log: RequestLog, settings: AuditSettings, only: frozenset[str] = frozenset()
) -> AuditRun:
    """Audit a log to its end."""
    skipped = log.skipped
    audit = Audit(settings, only)
    operator = OperatorAudit(only)
    exchanges = 0

    def damaged(broker: str, place: str, reason: str, at_ms: int) -> None:
        if reason in DAMAGE:
            audit.damage(broker, at_ms, place)

    skipped.listeners.append(damaged)
    for exchange in log:
        exchanges += 1
        audit.feed(exchange)
        operator.take(exchange)
    groups = audit.finish()
    return AuditRun(
        settings,
        log.files,
        skipped.lines,
        exchanges,
        skipped.by_reason(),
        groups,
        audit.evidence,
        operator.finish(),
        len(audit.own),
    )
