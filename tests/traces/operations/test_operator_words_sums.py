"""The parts of each sum in an audit add up, in the text, the JSON and the figures."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.logs.audits import headline
from support.logs.coordinator_lines import audit_text
from support.logs.invented_logs import NAMES, InventedGroup, Step, steps

from fencepost.traces.operations.open_metrics import metrics_text
from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_rows import AVOIDING, Remedy
from fencepost.traces.operations.operator_words import operator_json, operator_summary


def report_of(folder: Path, groups: Sequence[InventedGroup]) -> OperatorReport:
    lines = sorted(
        (
            (at_ms, group.words.line(at_ms, message))
            for group in groups
            for at_ms, message in group.lines
        ),
        key=lambda line: line[0],
    )
    return audit_text(folder, "".join(text for _, text in lines)).report


def numbers(text: str) -> list[int]:
    """Return the numbers behind the names of a list."""
    return [int(number) for number in re.findall(r" (\d+)(?:,|$)", text)]


def metric(text: str, name: str) -> int:
    rows = re.findall(rf"^fencepost_{name}(?:\{{[^}}]*\}})? (\d+)", text, re.MULTILINE)
    return sum(map(int, rows))


def check_rebalances(report: OperatorReport, document: dict[str, Any]) -> None:
    count = report.rebalances.count
    figures = report.figures.values()
    rows = document["rebalances"]["rows"]
    by_remedy = document["rebalances_by_remedy"]
    assert sum(document["rebalances_by_cause"].values()) == count == len(rows)
    assert sum(by_remedy.values()) == count
    assert sum(document["rebalances_unclear"].values()) == by_remedy.get("unknown", 0)
    assert sum(hour["rebalances"] for hour in document["rebalances_by_hour"]) == count
    by_group = [group["causes"] for group in document["rebalances_by_group"]]
    assert sum(sum(causes.values()) for causes in by_group) == count
    for name, total in by_remedy.items():
        assert sum(row["remedy"] == name for row in rows) == total
        assert sum(f.remedies[Remedy(name)] for f in figures) == total
    found = metrics_text(report, is_open=False)
    assert metric(found, "rebalances") == metric(found, "rebalances_by_remedy") == count
    assert metric(found, "expirations") == document["expirations"]["count"]
    assert metric(found, "failovers") == document["failovers"]["count"]


def check_expirations(report: OperatorReport, document: dict[str, Any]) -> None:
    rows = document["expirations"]["rows"]
    back = [row for row in rows if row["back_ms"] is not None]
    unclear = [row for row in rows if row["is_unclear"]]
    never = sum(figures.never_back for figures in report.figures.values())
    assert len(back) + len(unclear) + never == len(rows) == document["expirations"]["count"]
    assert all(row["back_ms"] is None for row in unclear)
    after = sum(row["loaded_ms"] is not None for row in rows)
    assert sum(row["expired"] for row in document["failovers"]["rows"]) == after


def check_text(report: OperatorReport, text: str) -> None:
    count, avoidable = report.rebalances.count, sum(report.remedies[each] for each in AVOIDING)
    if parts := re.search(r"rebalances? in \d+ groups? \((.*?)\)", text):
        ended = re.findall(r"(\d+) (?:gave|left|was|were|had)", parts[1])
        assert sum(map(int, ended)) == count
    if every := re.search(
        r"This setting would have avoided all (\d+): (.*)\.$", text, re.MULTILINE
    ):
        assert int(every[1]) == avoidable == count
        assert sum(numbers(every[2])) in {0, avoidable}
    if some := re.search(r"would have avoided some: (.*?)( \(.*)?\.$", text, re.MULTILINE):
        assert sum(numbers(some[1])) == avoidable < count
        if some[2]:
            assert some[2] == f" (together {avoidable} of {count})"
    unknown = re.findall(r"The remedy of (\d+) is unknown", text)
    assert sum(map(int, unknown)) == report.remedies[Remedy.UNKNOWN]
    line = r"^  '\w+': (\d+) \(([^)]*)\)(?:; (?!avoided)[^;\n]*)*(?:; avoided by (.*))?$"
    groups = re.findall(line, text, re.MULTILINE)
    if groups:
        assert sum(int(total) for total, _, _ in groups) == count
        assert all(sum(numbers(causes)) == int(total) for total, causes, _ in groups)
        assert sum(sum(numbers(avoided)) for *_, avoided in groups) == avoidable
    first = headline(report)
    if said := re.search(r"(\d+) of (\d+) rebalances? w\w+ avoidable(?: and (\d+) more)?", first):
        assert int(said[1]) + int(said[3] or 0) == avoidable
        assert int(said[2]) == count


drawn = st.lists(
    st.tuples(st.lists(st.sampled_from(NAMES), unique=True), steps), min_size=1, max_size=3
)


@settings(max_examples=60, deadline=None)
@given(taken=drawn, is_new=st.booleans())
def test_the_parts_of_each_sum_add_up(
    taken: list[tuple[list[str], list[Step]]], is_new: bool
) -> None:
    groups = [
        InventedGroup(f"group{number}", number, is_new=is_new, before=before).do(each)
        for number, (before, each) in enumerate(taken)
    ]
    with tempfile.TemporaryDirectory() as folder:
        report = report_of(Path(folder), groups)
    document = operator_json(report)
    text = "\n".join(operator_summary(report))
    check_rebalances(report, document)
    check_expirations(report, document)
    check_text(report, text)


ONCE = {
    "expires": [(15_000, "expire", "ads-1"), (20, "join", "ads-1")],
    "leaves": [(15_000, "leave", "ads-1"), (20, "join", "ads-1")],
    "static": [(15_000, "expire", "ads-3"), (20, "join", "ads-3")],
}


@pytest.mark.parametrize("story", ONCE)
@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("is_new", [False, True], ids=["old", "new"])
def test_a_story_that_repeats_counts_each_time(
    tmp_path: Path, story: str, times: int, is_new: bool
) -> None:
    group = InventedGroup("ads", is_new=is_new, before=NAMES).do(times * ONCE[story])
    report = report_of(tmp_path, [group])
    assert report.rebalances.count == 2 * times
    assert report.avoidable == 2 * times
    assert not report.unclear
