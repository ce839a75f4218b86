"""The run of the model beside a history: the steps that explain it, with the ids that were told."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from support.places import ROOT

from fencepost.model.classic.group import Group
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.revisions import revisions
from fencepost.properties.oracle.witness import ExplainedRun, run_beside
from fencepost.traces.files.trace_file import TraceFile

FINDINGS = ROOT / "docs" / "findings"


def beside(trace: TraceFile) -> ExplainedRun:
    revision = revisions.find(trace.revision)
    return run_beside(revision, trace.config, trace.events, lag_ms=trace.lag_ms)


def timeless(group: Group | None) -> object:
    """Explanations that differ in times alone are taken as one, with wider times."""
    return group and replace(
        group, timers=tuple(t._replace(earliest=0, latest=0) for t in group.timers)
    )


@pytest.mark.parametrize("path", sorted(FINDINGS.glob("*.json")), ids=lambda path: path.stem)
def test_the_verdict_is_the_judges(path: Path) -> None:
    trace = TraceFile.read(path)
    assert beside(trace).verdict == trace.judge()


@pytest.mark.parametrize("path", sorted(FINDINGS.glob("*.json")), ids=lambda path: path.stem)
def test_each_step_begins_where_the_one_before_ended(path: Path) -> None:
    groups: dict[str, Group | None] = {}
    for step in beside(TraceFile.read(path)).steps:
        assert timeless(groups.get(step.group_id)) == timeless(step.before)
        groups[step.group_id] = step.outcome.group


def test_ids_are_those_that_were_told_later() -> None:
    trace = TraceFile.read(FINDINGS / "parked-sync.json")
    steps = beside(trace).steps
    first = steps[0].outcome.group
    assert first is not None
    assert first.state is GroupState.PREPARING
    assert {m.member_id for m in first.members} <= set(trace.names)
    assert [step.outcome.rules[0] for step in steps][-1] == "LEAVE-ROWS"
    assert steps[1].timer is not None


def test_the_steps_end_with_the_answer_that_would_have_been_right() -> None:
    trace = TraceFile.read(FINDINGS / "parked-sync.json")
    violation = trace.judge().violation
    assert violation is not None
    emissions = [e for step in beside(trace).steps for e in step.outcome.emissions]
    (right,) = [e for e in emissions if e.request_id == violation.request_id]
    assert right.rule in {allowed.rule for allowed in violation.allowed}
