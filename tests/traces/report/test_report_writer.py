"""A report without a certificate: its files, in one way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fencepost.traces.files.text_files import ReportError
from fencepost.traces.report.certificate_data import FindingEntry, FindingSection
from fencepost.traces.report.report_writer import (
    FindingsPage,
    PlainReport,
    write_report,
)

FOUND = FindingsPage(
    "mock: 1 violation",
    "violated",
    [("seed", "0"), ("left out", "")],
    [FindingSection("violation", "fail", [FindingEntry("a", "R", "MUST", "S.", "once", None)])],
    {},
    60_000,
)


@pytest.mark.parametrize(("is_escaped", "text"), [(True, '"\\u2192"'), (False, '"→"')])
def test_the_files_are_json_a_page_and_what_lies_beside_them(
    tmp_path: Path, is_escaped: bool, text: str
) -> None:
    content = {"arrow": "→"}
    report = PlainReport("x.json", content, FOUND, {"runs.csv": "a,b\n"}, is_escaped=is_escaped)
    write_report(report, tmp_path / "deep")
    written = {path.name: path.read_text("utf-8") for path in (tmp_path / "deep").iterdir()}
    assert set(written) == {"x.json", "index.html", "runs.csv"}
    assert written["x.json"] == f'{{\n "arrow": {text}\n}}\n'
    assert json.loads(written["x.json"]) == content
    assert written["runs.csv"] == "a,b\n"
    assert "mock: 1 violation" in written["index.html"]
    assert "left out" not in written["index.html"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ReportError, match="give --report another folder"):
        write_report(PlainReport("x.json", {}, FOUND), tmp_path / "file")


class BrokenPage:
    """A page that can't be made."""

    def html(self) -> str:
        raise KeyError("name")


def test_a_page_that_cannot_be_made_loses_no_data(tmp_path: Path) -> None:
    report = PlainReport("x.json", {"seed": 1}, BrokenPage(), {"traces/a.json": "{}"})
    with pytest.raises(KeyError):
        write_report(report, tmp_path)
    assert json.loads((tmp_path / "x.json").read_text()) == {"seed": 1}
    assert (tmp_path / "traces" / "a.json").exists()
