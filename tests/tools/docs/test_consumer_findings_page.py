"""The pages of the consumer protocol's findings are made now, and the runs show what they say."""

from __future__ import annotations

import re

import pytest
from support.places import ROOT

from fencepost.conformance.run.replay import rejudge
from fencepost.model.revisions import revisions
from fencepost.properties.judging.explain import steps_of
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.oracle.fingerprint import broken_rule
from fencepost.traces.files.run_trace import recording_of
from fencepost.traces.files.trace_file import TraceFile
from tools.docs.consumer_findings import FINDINGS, KAFKA, Finding
from tools.docs.consumer_findings_page import FOLDER, INDEX, page, results_on, table

DOCS = ROOT / "docs"
AGAIN = "make it anew: python -m tools.docs.consumer_findings_page docs"
each = pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: finding.name)


def trace_of(finding: Finding) -> TraceFile:
    return TraceFile.read(DOCS / FOLDER / f"{finding.name}.json")


def release_of(finding: Finding) -> str:
    """Return the revision of the release that the trace was recorded on."""
    (revision,) = (name for name, version in KAFKA.items() if finding.target == f"kafka:{version}")
    return revision


def steps(result: CaseResult) -> str:
    assert result.recording is not None
    return "\n".join(steps_of(result.recording))


@each
def test_a_page_is_what_is_made_now(finding: Finding) -> None:
    written = (DOCS / FOLDER / f"{finding.name}.md").read_text("utf-8")
    assert page(finding, trace_of(finding)) == written, AGAIN


def test_the_table_is_what_is_made_now_and_nothing_else_is_there() -> None:
    assert table() in (DOCS / INDEX).read_text("utf-8"), AGAIN
    names = {finding.name for finding in FINDINGS}
    assert len(names) == len(FINDINGS)
    for suffix in (".md", ".json"):
        assert {path.stem for path in (DOCS / FOLDER).glob(f"*{suffix}")} == names


@each
def test_a_trace_is_of_a_release_that_has_it_and_has_its_verdict_today(finding: Finding) -> None:
    trace = trace_of(finding)
    assert trace.provenance["target"] == finding.target
    assert release_of(finding) in finding.has
    assert trace.revision not in finding.has or not finding.judge
    assert trace.verdict.outcome == ("violated" if finding.judge else "holds")
    assert rejudge(trace).exit_code() == 0
    assert re.search(finding.shows, "\n".join(steps_of(recording_of(trace))))


@pytest.mark.parametrize("revision", revisions.CONSUMER_NAMES)
def test_each_revision_shows_exactly_what_it_is_said_to_have(revision: str) -> None:
    assert_shown(revision, [finding for finding in FINDINGS if not finding.is_mixed])


@pytest.mark.parametrize("release", KAFKA)
def test_each_release_shows_exactly_what_its_mixed_groups_are_said_to_have(release: str) -> None:
    assert_shown(release, [finding for finding in FINDINGS if finding.is_mixed])


def assert_shown(name: str, findings: list[Finding]) -> None:
    revision = findings[0].revision_of(name)
    results = results_on(f"model:{revision}", revision, findings)
    assert [result.outcome for result in results] == [Outcome.PASS] * len(findings)
    shown = {f.name for f, r in zip(findings, results, strict=True) if re.search(f.shows, steps(r))}
    assert shown == {f.name for f in findings if name in f.has and not f.is_choice}


def test_the_right_revision_finds_the_fault_in_the_model_of_its_target() -> None:
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in filter(lambda finding: finding.judge and not finding.is_choice, FINDINGS):
        groups.setdefault((release_of(finding), finding.judge), []).append(finding)
    for (here, judge), findings in groups.items():
        for finding, found in zip(
            findings, results_on(f"model:{here}", judge, findings), strict=True
        ):
            verdict, violation = trace_of(finding).verdict, found.violation
            assert violation is not None, finding.name
            assert (violation.wrong.name, broken(found, judge)) == (verdict.wrong, verdict.rule)


def broken(result: CaseResult, judge: str) -> str | None:
    assert result.violation is not None
    rule = broken_rule(result.violation, revisions.find(judge))
    return None if rule is None else rule.id
