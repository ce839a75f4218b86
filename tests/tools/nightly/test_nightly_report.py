"""What is told of a night, and what the next one is compared with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from support.committed import committed
from support.night_findings import night_options, shard_finding

from fencepost.conformance.search.findings.tracked_bugs import SOMETIMES, UNTRIED, Sighting
from fencepost.traces.files.text_files import ReportError
from tools.nightly.nightly import DONE, FAILED, SKIPPED, UNAVAILABLE, Night, NightPart, TargetTotals
from tools.nightly.nightly_report import SCHEMA_FILE, Before, NightReport
from tools.nightly.nightly_search import ShardCoverage


def report(
    folder: Path, *found: Sighting, before: Before | None = None, **parts: str
) -> NightReport:
    night = Night(night_options(folder), findings=list(found))
    night.parts = [NightPart(name, status) for name, status in (parts or {"mock": DONE}).items()]
    night.totals["mock"] = TargetTotals(
        covered=ShardCoverage(frozenset({"A", "B"}), frozenset({"A B"}))
    )
    return NightReport.of(night, before)


def test_a_summary_counts_the_parts_that_failed(tmp_path: Path) -> None:
    parts = {f"kafka:{number}.0.0": FAILED for number in range(20)}
    summary = report(tmp_path, shard_finding(), before=None, **parts).summary()
    assert summary == "1 new finding; kafka:0.0.0, kafka:1.0.0 and 18 more failed"


@pytest.mark.parametrize(
    ("found", "part", "code", "summary"),
    [
        ([], DONE, 0, "nothing new"),
        ([shard_finding(known="a reason")], DONE, 0, "nothing new"),
        ([shard_finding()], DONE, 1, "1 new finding"),
        ([shard_finding(), shard_finding(shape="other")], FAILED, 1, "2 new findings; mock failed"),
        ([shard_finding(sure=SOMETIMES)], DONE, 2, "1 new and not confirmed"),
        ([shard_finding(sure=UNTRIED)], DONE, 2, "1 new and not confirmed"),
        (
            [shard_finding(), shard_finding(shape="b", sure=UNTRIED)],
            DONE,
            1,
            "1 new finding; 1 new and not confirmed",
        ),
        ([], FAILED, 2, "nothing new; mock failed"),
        ([], UNAVAILABLE, 69, "nothing new; mock not available"),
        ([], SKIPPED, 0, "nothing new"),
    ],
)
def test_the_exit_code_says_what_is_new(
    tmp_path: Path, found: list[Sighting], part: str, code: int, summary: str
) -> None:
    told = report(tmp_path, *found, mock=part)
    assert (told.exit_code(), told.summary()) == (code, summary)


def test_the_next_night_is_compared_with_it(tmp_path: Path) -> None:
    text = committed("zombie-commits").text()
    first = report(tmp_path, shard_finding(trace=text))
    first.write(tmp_path)
    document = json.loads((tmp_path / "nightly.json").read_text("utf-8"))
    Draft202012Validator(json.loads(SCHEMA_FILE.read_text("utf-8"))).validate(document)
    before = Before.read(tmp_path / "nightly.json")
    second = report(tmp_path, before=before)
    second.night.totals["mock"].covered = ShardCoverage(frozenset({"B", "C"}), frozenset())
    assert second.exit_code() == 0
    assert second.summary() == "nothing new; 1 still open"
    (row,) = second.to_json()["coverage"]
    assert row["before"] == {"rules": 2, "pairs": 1, "states": 0, "gained": ["C"], "lost": ["A"]}
    second.write(tmp_path)
    page = (tmp_path / "index.html").read_text("utf-8")
    assert "Still open" in page
    assert "not seen tonight" in page
    assert 'href="#trace-' in page, "the trace of the first night still lies there"


def test_the_page_says_what_to_type_and_says_it_safely(tmp_path: Path) -> None:
    trace = committed("zombie-commits").text()
    wicked = shard_finding(trace=trace, sentence="<script>alert(1)</script>")
    failing = shard_finding("tests", target="tests", shape="tests/test_a.py::test_b", rule="")
    report(tmp_path, wicked, failing).write(tmp_path)
    page = (tmp_path / "index.html").read_text("utf-8")
    assert "<script>alert" not in page
    assert "fencepost adopt traces/mock-a-shape.json" in page
    assert "fencepost replay traces/mock-a-shape.json mock" in page
    assert "pytest &#39;tests/test_a.py::test_b&#39;" in page


@pytest.mark.parametrize("text", ["no JSON", "{}", '{"format": "fencepost-nightly"}'])
def test_a_night_before_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "nightly.json").write_text(text)
    with pytest.raises(ReportError, match=r"nightly\.json"):
        Before.read(tmp_path / "nightly.json")
