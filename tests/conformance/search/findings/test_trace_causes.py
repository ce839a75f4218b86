from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.places import ROOT

from fencepost.conformance.search.findings.trace_causes import (
    bug_of_trace,
    cause_sentence,
    known_cause,
)
from fencepost.properties.departures.known_departures import DEPARTURES
from fencepost.traces.files.trace_file import TraceFile

FINDINGS = sorted((ROOT / "docs" / "findings").glob("*.json"))
MUTANTS = sorted((ROOT / "traces" / "corpus" / "mutants").glob("*.json"))
SESSION_KEPT = {"replace-keeps-session-timer", "replace-starts-no-timer"}
"""Mutants that do what is known of Kafka: the first session after a restart is the old one's."""

AS_OTHERS = {
    "pending-does-not-block": "pending-not-awaited",
    "refused-by-size-stays": "refused-member",
    "refused-join-without-id": "refused-join-id",
}
"""Mutants that do as others do, as far as their traces go."""


@pytest.mark.parametrize("path", FINDINGS, ids=lambda path: path.stem)
def test_a_finding_has_the_cause_of_its_name_or_none_that_is_known(path: Path) -> None:
    expected = path.stem if path.stem in DEPARTURES else ""
    assert known_cause(TraceFile.read(path)) == expected


def test_what_is_broken_otherwise_is_put_down_to_nothing() -> None:
    assert len(MUTANTS) > 100
    found = {path.stem: known_cause(TraceFile.read(path)) for path in MUTANTS}
    explained = {name: cause for name, cause in found.items() if cause}
    assert explained == {**dict.fromkeys(SESSION_KEPT, "restart-session"), **AS_OTHERS}


def test_what_holds_has_no_cause() -> None:
    (path,) = (ROOT / "traces" / "corpus" / "recorded").glob("*.json")
    assert known_cause(TraceFile.read(path)) == ""


def test_of_two_causes_that_would_do_the_one_of_the_tested_coordinator_is_named() -> None:
    trace = TraceFile.read(Path(__file__).with_name("two_causes.json"))
    assert trace.provenance["target"] == "kafka:3.9.1+old"
    assert known_cause(trace) == "delay-not-extended"
    newer = replace(trace, provenance={**trace.provenance, "target": "kafka:3.9.1+new"})
    assert known_cause(newer) == "delay-cut-short"


def test_two_looks_of_one_cause_are_the_same_bug() -> None:
    one, other = (
        TraceFile.read(next(path for path in MUTANTS if path.stem == name)) for name in SESSION_KEPT
    )
    same = replace(other, provenance={**other.provenance, "target": one.provenance["target"]})
    assert bug_of_trace(one) == bug_of_trace(same) == (one.provenance["target"], "restart-session")
    assert bug_of_trace(other) != bug_of_trace(one)


def test_causes_are_told_in_words_with_their_pages() -> None:
    words = cause_sentence("parked-sync + pending-leave")
    for name in ("parked-sync", "pending-leave"):
        assert f"{DEPARTURES[name].about} (docs/findings/{name}.md)" in words
