"""The verdict over a trace: what became of its case, and an answer that is right but late."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from support.committed import committed
from support.page.pages import finding

from fencepost.model.coordinator import Answer
from fencepost.model.history.events import Answered
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.properties.judging.trace_verdict import TraceVerdict
from fencepost.traces.pages.html import linked
from fencepost.traces.pages.trace_page import CaseNote, PageTrace, case_note, verdict_json
from fencepost.traces.pages.trace_with_model import match_model

REVISION = find_revision("kafka-4")
KNOWN = "known failure: ids are made of a time (a bug) (https://issues.apache.org/jira/browse/K-1)"


def told(shown: PageTrace) -> dict[str, Any]:
    return verdict_json(match_model(shown.trace, REVISION), shown.case)


def late(**other: Any) -> PageTrace:
    """A join that is answered long after it is due.  `other`: fields that are wrong there."""
    shown = finding("refused-member")
    verdict = shown.trace.verdict
    body = {**(verdict.expected[1].body or {}), **other}
    answered = Answered(Answer(verdict.request or "", 16_000, body))
    return replace(shown, trace=replace(shown.trace, events=(*shown.trace.events, answered)))


def holding() -> PageTrace:
    shown = finding("restart-session")
    holds = TraceVerdict("holds", message="runs differ")
    return replace(shown, trace=replace(shown.trace, verdict=holds))


@pytest.mark.parametrize(
    ("outcome", "said"),
    [("unknown", "unknown"), ("pass", "holds"), ("stale-known-failure", "holds"), ("", "holds")],
)
def test_a_trace_that_holds_is_unknown_if_its_case_is(outcome: str, said: str) -> None:
    assert told(replace(holding(), case=CaseNote(outcome=outcome)))["outcome"] == said


def test_a_violation_stays_one_whatever_became_of_its_case() -> None:
    shown = replace(finding("restart-session"), case=CaseNote(outcome="unknown"))
    assert told(shown)["outcome"] == "violated"


def test_a_known_failure_says_so_and_why() -> None:
    case = {"outcome": "known-failure", "about": "A restart.", "notes": ["lag", KNOWN]}
    found = case_note(case)
    assert found == CaseNote(
        "A restart.",
        "known-failure",
        "ids are made of a time (a bug)",
        "https://issues.apache.org/jira/browse/K-1",
    )
    verdict = told(replace(finding("restart-session"), case=found))
    assert (verdict["outcome"], verdict["beside"]) == ("violated", "known-failure")


def test_a_stale_known_failure_says_what_was_listed() -> None:
    note = 'stale: listed as a known failure ("x"), but fails in another way ("y")'
    found = case_note({"outcome": "stale-known-failure", "notes": [note]})
    assert f"stale: {found.why}" == note


def test_of_a_case_that_is_no_known_failure_nothing_is_told() -> None:
    assert case_note({"outcome": "fail", "notes": ["r1: generationId 2 instead of 1"]}) == CaseNote(
        outcome="fail"
    )
    assert told(finding("restart-session"))["beside"] == ""


def test_an_answer_that_is_right_but_late_says_by_how_much() -> None:
    verdict = told(late())
    found = re.fullmatch(r"the right answer, ([\d,]+) ms too late: (.*)", verdict["got"])
    assert found is not None
    assert found[2] in verdict["expected"]
    assert 0 < int(found[1].replace(",", "")) < 16_000
    step = match_model(late().trace, REVISION).beside[verdict["decided"]]
    assert any(verdict["rule"] in each.outcome.rules for each in step)


def test_an_answer_that_is_late_and_wrong_is_not_called_right() -> None:
    got = told(late(generationId=77))["got"]
    assert "right" not in got
    assert "too late: NONE, generation 77" in got


@pytest.mark.parametrize("named", [True, False], ids=["with its rule", "without"])
def test_the_one_field_that_is_wrong_is_shown(*, named: bool) -> None:
    trace = committed("refused-join-with-generation")
    if not named:
        trace = replace(trace, verdict=replace(trace.verdict, expected=(), rule=None))
    verdict = told(PageTrace(trace, "a trace", "a.json"))
    assert verdict["expected"] == ["generationId -1"]
    assert verdict["got"] == "INCONSISTENT_GROUP_PROTOCOL; generationId 0"


def test_the_sentence_of_the_case_is_told() -> None:
    shown = finding("restart-session")
    assert shown.trace.plan is not None
    assert told(shown)["about"] == shown.trace.plan["about"] != ""
    assert told(replace(shown, case=CaseNote("As listed.", "fail")))["about"] == "As listed."


def test_sources_can_be_followed() -> None:
    text = str(linked('KIP-345 <"x">; KAFKA-8715, https://example.org/a.'))
    assert 'href="https://cwiki.apache.org/confluence/display/KAFKA/KIP-345' in text
    assert 'href="https://issues.apache.org/jira/browse/KAFKA-8715"' in text
    assert 'href="https://example.org/a"' in text
    assert "<&#34;" not in text
    assert "&lt;" in text
