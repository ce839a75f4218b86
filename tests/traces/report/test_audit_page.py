"""The page of an audit in a browser: what opens, what it looks like to a screen reader."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from support.logs.audit_reports import reported
from support.page.open import Open
from support.page.pages import finding
from support.places import TESTS

from fencepost.traces.logs.request_log import read_request_log
from fencepost.traces.report.audit_page import Judged, audit_page

LOG = TESTS / "traces" / "request_logs" / "kafka-2.8.0.log.gz"


@pytest.fixture(scope="module")
def text() -> str:
    judged = [
        Judged("orders", "violated", "log:7: Heartbeat was answered wrongly", "orders.trace.json"),
        Judged("stock", "unknown", "requests are missing"),
        Judged("search", "explained", "some run gives every answer"),
    ]
    report = reported(read_request_log([LOG]))
    return audit_page(report, judged, {"orders.trace.json": finding("full-group")})


def test_a_violated_group_opens_its_trace(open_page: Open, text: str) -> None:
    page = open_page(text)
    expect(page.locator("h1:visible")).to_contain_text("1 explained, 1 unknown, 1 violated")
    page.get_by_role("link", name="orders", exact=True).click()
    expect(page.locator("#index")).to_be_hidden()
    page.get_by_role("link", name="The audit").click()
    expect(page.locator("#index")).to_be_visible()


def test_tables_open_and_life_lines_say_who(open_page: Open, text: str) -> None:
    page = open_page(text)
    assert page.locator("svg.lives rect.cut").count() >= 5
    assert "pod-3 (127.1.1.3)" in (page.locator("svg.lives title").first.text_content() or "")
    each = page.get_by_role("region", name="Each rebalance")
    each.locator("summary").first.click()
    expect(each.locator(".rebalances").first).to_be_visible()
    page.get_by_role("region", name="Who held each instance id").get_by_text("As a table").click()
    expect(page.get_by_role("region", name="Life lines as a table")).to_contain_text("replaced by")


def test_it_reads_well_without_scripts(open_page: Open, text: str) -> None:
    page = open_page(text, scripts=False)
    expect(page.get_by_text("share group.instance.id orders-2")).to_be_visible()
    expect(page.get_by_role("heading", name="Restarts and deployments")).to_be_visible()


@pytest.mark.slow
@pytest.mark.parametrize(("width", "theme"), [(1400, "light"), (420, "dark")])
def test_a_screen_reader_stumbles_over_nothing(
    open_page: Open, text: str, theme: str, width: int
) -> None:
    page = open_page(text, theme=theme, width=width)
    for summary in page.locator("summary:visible").all():
        summary.click()
    found = Axe().run(page).response["violations"]
    assert [(f["id"], f["impact"], f["nodes"][0]["html"][:120]) for f in found] == []


def test_a_narrow_screen_scrolls_tables_not_the_page(open_page: Open, text: str) -> None:
    page = open_page(text, width=420)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 420
