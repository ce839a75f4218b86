from __future__ import annotations

import io
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from support.client_results import FAILED, LACKS, UNDECIDED, certificate, listed, result

from fencepost.properties.judging.outcome import Outcome
from fencepost.traces.report.certificate_diff import diff_certificates
from fencepost.traces.report.client_certificate import client_trace, read_client_certificate
from fencepost.traces.report.junit import junit_xml
from fencepost.traces.report.report_folder import certificate_document
from fencepost.traces.report.report_text import print_certificate
from fencepost.traces.report.report_writer import write_report

ALL = certificate(result(), FAILED, LACKS, UNDECIDED)


def test_a_report_has_all_forms_and_a_trace_of_what_did_not_pass(tmp_path: Path) -> None:
    write_report(ALL, tmp_path)
    names = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file())
    assert names == [
        "certificate.json",
        "index.html",
        "junit.xml",
        "traces/CLIENT-CLOSE-IN-TIME__static-life.json",
        "traces/CLIENT-CLOSE-STATIC-STAYS__static-life.json",
    ]
    old = read_client_certificate(tmp_path / "certificate.json")
    assert diff_certificates(old, certificate_document(ALL)).summary == (
        "0 fixed, 0 new failures, 0 changed"
    )
    better = certificate(result(), replace(FAILED, outcome=Outcome.PASS), LACKS, UNDECIDED)
    diff = diff_certificates(old, certificate_document(better))
    assert [change.id for change in diff.fixed] == [FAILED.case.id]
    write_report(better, tmp_path, diff)
    page = (tmp_path / "diff.html").read_text("utf-8")
    assert re.search(r"</span> fixed case</h2>", page)
    assert f"was fail ({FAILED.observed}); now pass" in page
    assert "on serve" in page


def test_a_page_shows_what_was_done_sent_and_seen(tmp_path: Path) -> None:
    write_report(ALL, tmp_path)
    page = (tmp_path / "index.html").read_text("utf-8")
    for shown in ("LeaveGroup v5", "assigned t-0, t-1", "2 records of t-0", "How it goes", "close"):
        assert shown in page
    assert "<script src" not in page
    assert 'href="http' not in page


def test_junit_counts_what_failed_and_what_is_undecided() -> None:
    root = ET.fromstring(junit_xml(ALL))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("4", "1", "1")
    assert root.get("skipped") == "1"
    suites = [suite.get("name") for suite in root]
    assert suites == ["CLOSE MUST", "CLOSE SHOULD", "RESTART MUST"]
    failure = root.find(".//failure")
    assert failure is not None
    assert "sent LeaveGroup" in (failure.text or "")


def test_a_trace_has_both_sides_in_order() -> None:
    trace = client_trace(FAILED).plain()
    rows = [(row["kind"], row["said"]) for row in trace["rows"]]
    assert rows[0] == (
        "sent",
        'JoinGroup v9, member "", instance i-1 → NONE, generation 1, member m1, leads',
    )
    assert ("saw", "assigned t-0, t-1") in rows
    assert ("delivered", "2 records of t-0 from 0") in rows
    assert ("delivered", "1 record of t-0 from 2") in rows
    assert ("did", "close, took 95 ms") in rows
    assert ("control", "the control client waited 80 ms") in rows
    assert [row["at_ms"] for row in trace["rows"]] == sorted(row["at_ms"] for row in trace["rows"])
    assert trace["wrong_at_ms"] == 1050
    assert json.dumps(trace)


def test_what_was_never_run_has_no_trace() -> None:
    with pytest.raises(ValueError, match="no evidence"):
        client_trace(LACKS)


def test_the_console_has_the_verdict_first_then_the_failures() -> None:
    known = result(
        Outcome.KNOWN_FAILURE,
        "CLIENT-CLOSE-IN-TIME",
        known=listed("it is slow", "https://bugs.example/2"),
    )
    stream = io.StringIO()
    print_certificate(certificate(FAILED, known, UNDECIDED), Console(file=stream, width=120))
    lines = stream.getvalue().splitlines()
    assert lines[0] == certificate(FAILED, known, UNDECIDED).summary()
    assert "  - 1 known failure" in lines
    assert "FAIL  MUST  CLIENT-CLOSE-STATIC-STAYS" in lines
    assert "it is slow" in stream.getvalue()
    assert "Undecided (1):" in lines
