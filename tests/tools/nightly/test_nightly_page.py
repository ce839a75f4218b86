"""The page of a night: the sums, what is new, what was done; and what is known, folded up."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from support.page.open import Open
from support.page.pages import finding

from tools.nightly.nightly_report import nightly_page

TRACE = "traces/kafka-a.json"


def entry(status: str, **fields: Any) -> dict[str, Any]:
    told = {
        "origin": "kafka",
        "cause": "",
        "shape": f"a {status} shape",
        "shapes": [f"a {status} shape"],
        "rule": "HEARTBEAT-STABLE",
        "level": "MUST",
        "status": status,
        "why": "",
        "sentence": "It is <b>wrong</b>.",
        "sure": "each time",
        "seen": 3,
        "shards": ["kafka:4.3.0"],
        "targets": ["kafka:4.3.0"],
        "seed": 5,
        "first_night": "2026-03-02",
        "last_night": "2026-03-02",
        "trace": None,
    }
    return told | fields


def document(*entries: dict[str, Any], **fields: Any) -> dict[str, Any]:
    before = {
        "rules": 2,
        "pairs": 9,
        "states": 4,
        "gained": ["JOIN-PENDING"],
        "lost": ["LIST-GROUP"],
    }
    told = {
        "night": "2026-03-02",
        "began": "2026-03-02T01:17:00+00:00",
        "seed": 20260302,
        "minutes": 60,
        "seconds": 3541.5,
        "exit_code": 1,
        "summary": "1 new finding",
        "before": "2026-03-01",
        "corpus": 129,
        "parts": [
            {"name": "model", "status": "done", "said": "7 plans", "seconds": 9, "share": 60},
            {"name": "kfake", "status": "skipped", "said": "no go", "seconds": 0, "share": 60},
        ],
        "entries": list(entries),
        "mutants": {
            "tried": 3,
            "found": 2,
            "missed": [{"mutant": "a-mutant", "requests": 1234, "seconds": 70}],
            "requests": 210,
        },
        "coverage": [
            {
                "target": "kafka:4.3.0",
                "version": "Apache Kafka 4.3.0",
                "plans": 10,
                "requests": 5128,
                "unknown": 0,
                "rules": ["HEARTBEAT-STABLE", "JOIN-PENDING"],
                "never": ["SYNC-STABLE"],
                "pairs": 7,
                "states": 4,
                "before": before,
            }
        ],
    }
    return told | fields


@pytest.fixture(scope="module")
def text() -> str:
    entries = (
        entry("new", trace=TRACE),
        entry("new", origin="mock", targets=["mock"], shape="a doubt", sure="now and then"),
        entry("open", seen=0, last_night="2026-02-27"),
        entry("known", why="a reason"),
        entry("adopted", cause="pending-leave", shapes=["one", "two"], why="pending-leave"),
    )
    return nightly_page(document(*entries), {TRACE: finding("full-group")})


def test_what_is_new_comes_first_with_what_to_type(open_page: Open, text: str) -> None:
    page = open_page(text)
    expect(page.locator("h1:visible")).to_have_text("Night of 2026-03-02: 1 new finding")
    titles = page.locator("h2:visible").all_inner_texts()
    assert titles == [
        "Bugs",
        "1 New",
        "1 Still open",
        "Parts of the run",
        "Does the search still find mutants?",
        "Coverage",
        "1 New, and not sure",
        "1 In the corpus",
        "1 Known failures",
    ]
    new = page.locator("section", has=page.get_by_role("heading", name="1 New", exact=True))
    expect(new).to_contain_text("seen 3 times in kafka:4.3.0; it happens each time")
    expect(new).to_contain_text("It is <b>wrong</b>.")
    assert new.locator("code.todo").all_inner_texts() == [
        f"fencepost replay {TRACE} kafka:4.3.0",
        f"fencepost adopt {TRACE}",
    ]
    page.get_by_role("link", name="kafka: a new shape").click()
    expect(page.locator("article h2").first).to_contain_text("GROUP_MAX_SIZE_REACHED")
    page.get_by_role("link", name="The night").click()
    expect(page.locator("#index")).to_be_visible()


def test_what_is_known_is_folded_up(open_page: Open, text: str) -> None:
    page = open_page(text)
    expect(page.get_by_text("Known: a reason.")).to_be_hidden()
    page.get_by_text("Known failures", exact=False).last.click()
    expect(page.get_by_text("Known: a reason.")).to_be_visible()


def test_a_known_cause_names_its_bug_and_is_told_in_words(open_page: Open, text: str) -> None:
    page = open_page(text)
    page.get_by_role("heading", name="1 In the corpus").click()
    bug = page.get_by_role("listitem").filter(has_text="kafka: pending-leave")
    expect(bug).to_contain_text(
        "It is <b>wrong</b>. Known cause: a LeaveGroup with a pending member id "
        "rebalances a stable group (docs/findings/pending-leave.md). It was seen in 2 shapes. "
        "In the corpus as pending-leave."
    )


def test_a_long_name_is_broken_and_not_the_page(open_page: Open) -> None:
    long = f"g Stable, {'long-' + 'x' * 300} Empty"
    page = open_page(nightly_page(document(entry("new", sentence=long, shape=long)), {}))
    expect(page.get_by_text(long).first).to_be_visible()
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wide) <= 0


def test_coverage_is_told_against_the_night_before(open_page: Open, text: str) -> None:
    page = open_page(text)
    row = page.get_by_role("row").filter(has_text="Apache Kafka 4.3.0")
    assert row.locator("td small").all_inner_texts() == ["±0", "\N{MINUS SIGN}2", "±0"]
    expect(page.get_by_text("rules reached before, and not tonight: 1")).to_be_visible()


def test_a_quiet_night_says_so(open_page: Open) -> None:
    quiet = document(
        exit_code=0,
        summary="nothing new",
        before=None,
        corpus=None,
        coverage=[],
        mutants={"tried": 0, "found": 0, "missed": [], "requests": None},
    )
    page = open_page(nightly_page(quiet, {}))
    expect(page.locator("header.is-holds h1")).to_have_text("Night of 2026-03-02: nothing new")
    assert page.locator("h2:visible").all_inner_texts() == ["Parts of the run"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_screen_reader_stumbles_over_nothing(open_page: Open, text: str, theme: str) -> None:
    page = open_page(text, theme=theme)
    page.evaluate("document.querySelectorAll('#index details').forEach(d => d.open = true)")
    found = Axe().run(page).response["violations"]
    assert [(f["id"], f["impact"], f["nodes"][0]["html"][:120]) for f in found] == []
