"""Two certificates compared: what was fixed, is new or changed; and what is no certificate."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from support.places import ROOT
from support.runs import certificate, result_of

from fencepost.model.table.table import Level
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.traces.report.certificate_data import read_certificate_file
from fencepost.traces.report.certificate_diff import diff_certificates, diff_page
from fencepost.traces.report.report_folder import certificate_document
from fencepost.traces.report.report_writer import write_report

FAILS = result_of("JOIN-STATIC-EMPTY-STABLE/follower", "comment-table-1")
PASSES = result_of("JOIN-STATIC-EMPTY-STABLE/follower")
ZOMBIE = result_of("HEARTBEAT-INSTANCE-FENCED/zombie", "comment-table-1")


def document(*results: Any) -> dict[str, Any]:
    return certificate_document(certificate(*results))


def test_fixed_new_and_changed_are_told_apart() -> None:
    other = replace(ZOMBIE, observed="B1 Heartbeat: UNKNOWN_MEMBER_ID")
    repaired = diff_certificates(document(FAILS, ZOMBIE), document(PASSES, other))
    assert [change.id for change in repaired.fixed] == ["JOIN-STATIC-EMPTY-STABLE/follower"]
    assert [change.id for change in repaired.changed] == ["HEARTBEAT-INSTANCE-FENCED/zombie"]
    assert repaired.new == ()
    assert repaired.changed[0].was == f"fail ({ZOMBIE.observed})"
    assert repaired.changed[0].now == f"fail ({other.observed})"
    worse = diff_certificates(document(PASSES), document(FAILS, ZOMBIE))
    assert len(worse.new) == 2
    assert worse.summary == "0 fixed, 1 new failure, 0 changed, not in the old run: 1"
    assert f"  added    {ZOMBIE.level.value:<6}  {ZOMBIE.case.id}" in list(worse.lines())
    assert "      was pass; now fail (B2 JoinGroup: MEMBER_ID_REQUIRED, member id B1)" in list(
        worse.lines()
    )


def test_a_change_has_the_level_of_its_failure() -> None:
    late = replace(FAILS, level=Level.SHOULD)
    (fixed,) = diff_certificates(document(late), document(PASSES)).fixed
    (new,) = diff_certificates(document(PASSES), document(late)).new
    assert (fixed.level, new.level) == ("SHOULD", "SHOULD")


def test_what_is_listed_as_known_meanwhile_is_no_change() -> None:
    """A list beside the second run: what passes is fixed, and only what fails anew is new."""

    def listed(result: CaseResult, outcome: Outcome) -> CaseResult:
        return replace(result, outcome=outcome)

    known = listed(ZOMBIE, Outcome.KNOWN_FAILURE)
    before, stale = document(FAILS, ZOMBIE), listed(PASSES, Outcome.STALE_KNOWN_FAILURE)
    found = diff_certificates(before, document(stale, known))
    assert found.summary == "1 fixed, 0 new failures, 0 changed"
    assert found.fixed[0].now == "stale-known-failure"
    again = diff_certificates(document(stale, known), document(PASSES, ZOMBIE))
    assert again.summary == "0 fixed, 0 new failures, 0 changed"
    other = replace(known, outcome=Outcome.STALE_KNOWN_FAILURE, observed="B1 Heartbeat: NONE")
    assert diff_certificates(before, document(stale, other)).changed[0].id == ZOMBIE.case.id
    assert len(diff_certificates(document(PASSES), document(known)).new) == 1


def test_the_older_one_is_told_with_its_verdict() -> None:
    old = document(FAILS)
    assert diff_certificates(old, old).old_summary == old["summary"]
    short = read_certificate_file(ROOT / "docs" / "certificates" / "kfake.json")
    assert diff_certificates(short, short).old_summary.endswith(f": {short['verdict']}")


def test_the_same_certificate_differs_in_nothing() -> None:
    same = diff_certificates(document(FAILS, PASSES), document(FAILS, PASSES))
    assert (same.fixed, same.new, same.changed) == ((), (), ())


def test_the_short_form_is_read_and_says_nothing_of_what_was_seen() -> None:
    short = read_certificate_file(ROOT / "docs" / "certificates" / "kfake.json")
    again = diff_certificates(short, short)
    assert (again.fixed, again.new, again.changed) == ((), (), ())
    name = next(n for n, case in short["cases"].items() if case["outcome"] == "known-failure")
    rest = {n: case for n, case in short["cases"].items() if n != name}
    assert [c.id for c in diff_certificates({**short, "cases": rest}, short).new] == [name]


def test_the_page_names_each_case(tmp_path: Path) -> None:
    made = certificate(FAILS, ZOMBIE)
    diff = diff_certificates(document(PASSES, ZOMBIE), certificate_document(made))
    write_report(made, tmp_path, diff)
    text = (tmp_path / "diff.html").read_text("utf-8")
    assert "1 new failure" in text
    assert re.search(r"</span> new failure</h2>", text)
    assert "comparison" in text
    assert made.provenance.target in text
    assert "JOIN-STATIC-EMPTY-STABLE/follower" in text
    assert "was pass; now fail" in text


def test_the_page_of_two_short_ones_counts_in_the_plural_and_is_amber() -> None:
    names = ("kafka-2.3.0", "kafka-4.3.0")
    old, new = (
        read_certificate_file(ROOT / "docs" / "certificates" / f"{name}.json") for name in names
    )
    text = diff_page(diff_certificates(old, new), new, {}, "excused")
    titles = re.findall(r"</span> ([a-z ]+)</h2>", text)
    assert titles == ["new failures", "changed cases", "fixed cases"]
    assert '<header class="verdict is-excused">' in text
    assert "kafka:4.3.0 (Apache Kafka 4.3.0) under kafka-4" in text
