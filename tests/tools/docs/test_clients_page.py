"""The page of clients says what their kept certificates say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.client_results import LACKS, certificate, listed, result
from support.places import ROOT

from fencepost.conformance.cases.clients.scenario_catalogue import SCENARIOS, cases_of
from fencepost.model.table.table import Level
from fencepost.properties.judging.known_failures import KnownFailure
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.requirements import REQUIREMENTS
from fencepost.traces.files.known_failure_lists import CLIENT_FOLDER, load
from fencepost.traces.report.client_certificate import kept, unfolded
from fencepost.traces.report.report_folder import certificate_document
from tools.docs.clients_page import FOLDER, PAGE, main, page, read_all, write

DOCS = ROOT / "docs"
FINDINGS = DOCS / "findings" / "clients"
A_FEW_LINES = 70
KNOWN = result(
    Outcome.KNOWN_FAILURE,
    "CLIENT-CLOSE-IN-TIME",
    observed="late",
    known=listed("it waits", "https://bugs.example/3"),
)
WHOLE = certificate_document(certificate(result(), KNOWN, LACKS, client="java:4.3.0"))


def known_of(document: dict[str, Any]) -> list[KnownFailure]:
    return load(document["target"], document["version"], folder=CLIENT_FOLDER)


def test_the_page_is_what_is_made_now() -> None:
    assert page(read_all(DOCS / FOLDER)) == (DOCS / PAGE).read_text("utf-8"), (
        "make it anew: python -m tools.docs.clients_page docs"
    )


def test_what_is_kept_is_of_today() -> None:
    cases = {case for scenario in SCENARIOS.values() for case in cases_of(scenario)}
    for document in read_all(DOCS / FOLDER):
        assert set(document["cases"]) == cases
        listed = {e.case for e in known_of(document)}
        anywhere = {(e.rule, e.observed) for e in known_of(document) if e.anywhere}
        for name, case in document["cases"].items():
            if case["outcome"] == "known-failure" and name not in listed:
                assert (name.partition("/")[0], case["observed"]) in anywhere, name


def test_each_failure_of_a_must_leads_to_a_page_that_names_it() -> None:
    found = [
        entry
        for document in read_all(DOCS / FOLDER)
        for entry in known_of(document)
        if REQUIREMENTS[entry.rule].level is Level.MUST
    ]
    assert found
    for entry in found:
        text = (ROOT / entry.link).read_text("utf-8")
        assert (ROOT / entry.link).parent == FINDINGS
        short = entry.rule.removeprefix(f"CLIENT-{REQUIREMENTS[entry.rule].area}")
        assert f"`{entry.rule}" in text or f"`{short}`" in text, entry.case


@pytest.mark.parametrize("page", sorted(FINDINGS.glob("*.md")), ids=lambda page: page.stem)
def test_a_page_says_how_to_see_it_without_fencepost_and_what_to_do(page: Path) -> None:
    (script,) = {path for path in FINDINGS.glob(f"{page.stem}.*") if path != page}
    written = script.read_text("utf-8")
    assert "fencepost" not in written
    assert len(written.splitlines()) <= A_FEW_LINES
    text = page.read_text("utf-8")
    assert "\n**Workaround**: " in text
    commands = text.partition("\nReproduce:\n\n```sh\n")[2].splitlines()
    assert commands[0].startswith(("fencepost certify-client ", "tox -e clients -- "))
    assert any(f"{script.name} localhost:9092" in line for line in commands)
    assert page.name in (DOCS / "findings" / "README.md").read_text("utf-8")


def test_a_certificate_is_kept_and_shown_with_its_reasons(tmp_path: Path) -> None:
    write(tmp_path / FOLDER, WHOLE)
    text = page(read_all(tmp_path / FOLDER))
    assert "| [java:4.3.0](#java430) | holds, 1 known failure |" in text
    assert "- **Known, 1**: it waits (https://bugs.example/3)" in text
    assert "- **Not applicable, 1**: no" in text


def test_main_keeps_reports_and_writes_the_page(tmp_path: Path) -> None:
    (tmp_path / "clients").mkdir()
    main(tmp_path)
    assert (tmp_path / PAGE).read_text("utf-8").startswith("# Results of client libraries")


def test_what_was_kept_unfolds_to_what_the_page_needs() -> None:
    again = unfolded(kept(WHOLE))
    assert again["counts"] == WHOLE["counts"]
    assert [case["id"] for case in again["cases"]] == [case["id"] for case in WHOLE["cases"]]
    assert unfolded(WHOLE) == WHOLE
