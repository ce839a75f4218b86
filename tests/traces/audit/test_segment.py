"""Segments in which nothing happens to a stable group are explained without the oracle."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.log_traffic import Plan, Traffic
from fencepost.model.history.events import Sent
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.traces.audit import group_audit
from fencepost.traces.audit.audit_settings import AuditSettings
from fencepost.traces.audit.log_audit import AuditRun, audit_log
from fencepost.traces.audit.ordered_search import Effort
from fencepost.traces.audit.segment import Attempt, Segment, SegmentResult
from fencepost.traces.logs.request_log import RequestLog

PLAN = Plan(lines=400, groups=3, unrest_ms=60_000, session_ms=20_000, odd=0.4, seed=1)
DESCRIBED_STABLE = b'"groupState":"Stable"'


def audited(path: Path, lines: list[bytes]) -> AuditRun:
    path.write_bytes(b"".join(lines))
    return audit_log(RequestLog([path]), AuditSettings())


@pytest.mark.parametrize("model", ["kafka-4", "mutant:leader-not-kept"])
def test_reports_are_the_same_as_with_the_oracle_alone(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "broker.log"
    lines = [line for _, line in Traffic(PLAN, find_revision(model))]
    rested: list[bool] = []
    tried = Segment.at_rest

    def at_rest(segment: Segment) -> bool:
        rested.append(tried(segment))
        return rested[-1]

    monkeypatch.setattr(Segment, "at_rest", at_rest)
    short = audited(log, lines).document().plain()
    assert any(rested)
    monkeypatch.setattr(Segment, "at_rest", lambda _: False)
    assert json.dumps(short) == json.dumps(audited(log, lines).document().plain())


class Forgetful(set[Attempt]):
    """Forgets what it is given."""

    def add(self, _attempt: Attempt) -> None:
        pass


def test_what_had_to_be_given_up_is_not_tried_again_with_more_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Plan(800, groups=2, members=8, unrest_ms=20_000, session_ms=20_000, odd=0.5, seed=3)
    lines = [line for _, line in Traffic(plan, find_revision("kafka-4"))]
    followed = Segment.followed
    tried: list[int] = []

    def counted(segment: Segment, effort: Effort, hidden: Sequence[Sent] = ()) -> SegmentResult:
        tried[-1] += 1
        return followed(segment, effort, hidden)

    def reported(kind: type[set[Attempt]]) -> str:
        tried.append(0)
        monkeypatch.setattr(group_audit, "set", kind, raising=False)
        settings = AuditSettings(limit=200)
        log = tmp_path / "broker.log"
        log.write_bytes(b"".join(lines))
        return json.dumps(audit_log(RequestLog([log]), settings).document().plain())

    monkeypatch.setattr(Segment, "followed", counted)
    assert reported(set) == reported(Forgetful)
    assert tried[0] < tried[1]


def test_a_stable_group_that_is_described_wrongly_is_found(tmp_path: Path) -> None:
    lines = [line for _, line in Traffic(PLAN, find_revision("kafka-4"))]
    at = max(i for i, line in enumerate(lines[:-100]) if DESCRIBED_STABLE in line)
    head, mark, rest = lines[at].partition(b'"memberAssignment":"')
    lines[at] = head + mark + b"AAAA" + rest[4:]
    run = audited(tmp_path / "broker.log", lines)
    assert run.outcome == "violated"
    (found,) = [f for group in run.groups.values() for f in group.first_violations]
    assert found.exchange.line == at + 1
    assert "memberAssignment" in found.says
