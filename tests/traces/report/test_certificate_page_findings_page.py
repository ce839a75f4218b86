"""The page of a search: each finding with its sentence and its trace."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from support.page.open import Open
from support.page.pages import finding

from fencepost.traces.report.certificate_data import FindingEntry, FindingSection
from fencepost.traces.report.certificate_page import findings_page


@pytest.fixture(scope="module")
def text() -> str:
    told = FindingEntry(
        "a shape", "HEARTBEAT-STABLE", "MUST", "A sentence.", "seen once", "traces/a.json"
    )
    bare = FindingEntry("no trace", "JOIN-PENDING", "SHOULD", "Another.", "seen 2 times", None)
    groups = [
        FindingSection("violation", "fail", [told]),
        FindingSection("flaky one", "unknown", []),
        FindingSection("known failure", "known-failure", [bare]),
    ]
    traces = {"traces/a.json": finding("full-group")}
    return findings_page("mock: 1 violation", "violated", [("seed", "0")], groups, traces)


def test_findings_are_told_by_kind_and_open_their_traces(open_page: Open, text: str) -> None:
    page = open_page(text)
    expect(page.locator("h1:visible")).to_have_text("mock: 1 violation")
    assert page.locator("h2:visible").all_inner_texts() == ["1 violation", "1 known failure"]
    assert page.get_by_role("link", name="no trace").count() == 0
    page.get_by_role("link", name="a shape").click()
    expect(page.locator("article h2").first).to_contain_text("GROUP_MAX_SIZE_REACHED")
    expect(page.locator("#index")).to_be_hidden()
    page.get_by_role("link", name="All findings").click()
    expect(page.locator("#index")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("place", ["", "#trace-restart-session"])
def test_a_screen_reader_stumbles_over_nothing(
    open_page: Open, text: str, theme: str, place: str
) -> None:
    found = Axe().run(open_page(text, place, theme=theme)).response["violations"]
    assert [(f["id"], f["impact"], f["nodes"][0]["html"][:120]) for f in found] == []
