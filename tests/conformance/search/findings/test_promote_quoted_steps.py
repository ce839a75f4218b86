"""The pages about findings quote their traces, and the traces say what the pages say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.findings import FOLDER, TRACES

from fencepost.conformance.run.replay import rejudge
from fencepost.conformance.search.findings.promote import block
from fencepost.traces.files.trace_file import TraceFile

NO_FINDING = {"README.md", "history.md", "search.md"}


def test_there_are_findings() -> None:
    assert len(TRACES) >= 6


def test_each_page_has_its_trace_and_is_listed() -> None:
    pages = {path.stem for path in FOLDER.glob("*.md") if path.name not in NO_FINDING}
    assert pages == {path.stem for path in TRACES}
    listed = (FOLDER / "README.md").read_text("utf-8")
    assert all(f"({page}.md)" in listed for page in pages)


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_a_page_quotes_its_trace(path: Path) -> None:
    page = path.with_suffix(".md").read_text("utf-8")
    assert f"```text\n{block(TraceFile.read(path))}\n```" in page, (
        "make it anew: python -m fencepost.conformance.search.findings.promote "
        f"docs/findings/{path.name}"
    )
    assert f"\nfencepost replay docs/findings/{path.name} kafka:" in page


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_a_trace_is_a_violation_today_too(path: Path) -> None:
    trace = TraceFile.read(path)
    assert trace.verdict.outcome == "violated"
    assert rejudge(trace).exit_code() == 0


def test_a_trace_with_another_verdict_would_be_noticed() -> None:
    trace = TraceFile.read(TRACES[0])
    changed = replace(trace, verdict=replace(trace.verdict, rule="JOIN-GROUP-ABSENT"))
    assert rejudge(changed).exit_code() == 1
