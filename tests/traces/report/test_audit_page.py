"""The page of an audit in a browser: what opens, what it looks like to a screen reader."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from support.logs.audit_reports import reported
from support.logs.audits import violated_run
from support.logs.busy_server_log import consumer_protocol_lines
from support.page.open import Open
from support.page.pages import finding
from support.places import TESTS

from fencepost.traces.audit.server_log_audit import audit_server_log
from fencepost.traces.logs.request_log import read_request_log
from fencepost.traces.logs.server_log import ServerLog
from fencepost.traces.report.audit_folder import LogRun, write_audit
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


def folder_page(run: LogRun, folder: Path) -> str:
    """Write a report; return its page."""
    write_audit(run, folder)
    return (folder / "index.html").read_text("utf-8")


def server_page(text: str, folder: Path) -> str:
    log = folder / "server.log"
    log.write_text(text, "utf-8")
    return folder_page(audit_server_log(ServerLog([log])), folder / "report")


def violated_page(folder: Path) -> str:
    return folder_page(violated_run(folder), folder / "report")


UNREAD = (
    "[2026-11-21 10:00:00,000] INFO [GroupCoordinator 1]: Preparing to rebalance group orders in "
    "state PreparingRebalance with old generation 0 (reason: Adding new member a-1) "
    "(kafka.coordinator.group.GroupCoordinator)\n"
    "[2026-11-21 10:00:01,000] INFO [GroupCoordinator 1]: Group stock of nobody knows what "
    "(kafka.coordinator.group.GroupCoordinator)\n"
)
PAGES = {
    "empty": lambda folder: server_page("[2026-11-21 10:00:02,000] INFO hello\n", folder),
    "unread": lambda folder: server_page(UNREAD, folder),
    "others": lambda folder: server_page("".join(consumer_protocol_lines()), folder),
    "violated": violated_page,
}
FIRST = {
    "empty": ("Problems", "no line about a group of the classic protocol"),
    "unread": ("Not understood, so missing below", "Group stock of nobody knows what"),
    "others": ("Problems", "Nothing judged: no group of the classic protocol"),
    "violated": ("Time line", "violated"),
}


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("kind", PAGES)
def test_pages_of_odd_logs_begin_with_what_is_odd(
    open_page: Open, tmp_path: Path, kind: str, width: int
) -> None:
    page = open_page(PAGES[kind](tmp_path), width=width, theme="dark" if width < 640 else "light")
    heading, says = FIRST[kind]
    assert page.locator("#index h2").first.text_content() == heading
    expect(page.locator("#index")).to_contain_text(says)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = Axe().run(page).response["violations"]
    assert [(f["id"], f["impact"], f["nodes"][0]["html"][:120]) for f in found] == []


def test_a_violation_has_its_line_its_rule_and_its_trace(open_page: Open, tmp_path: Path) -> None:
    page = open_page(violated_page(tmp_path))
    answers = page.get_by_role("region", name="What the broker answered")
    expect(answers).to_contain_text("kafka-request.log:")
    expect(answers).to_contain_text("was answered")
    answers.get_by_role("link").first.click()
    expect(page.locator("#index")).to_be_hidden()


def test_life_lines_fit_a_narrow_screen(open_page: Open, text: str) -> None:
    page = open_page(text, width=390)
    expect(page.locator("svg.lives")).to_be_hidden()
    slim = page.locator(".slim-lives svg")
    expect(slim.first).to_be_visible()
    assert slim.count() == page.locator("svg.lives g").count()
    assert (
        slim.first.locator(".cut").count()
        == page.locator("svg.lives g").first.locator(".cut").count()
    )


def test_only_the_head_of_a_problem_is_bold(open_page: Open, text: str) -> None:
    page = open_page(text)
    problem = page.get_by_role("region", name="Problems").locator("li").first
    weights = problem.evaluate(
        "(li) => ['h3', 'p', '.remedy'].map((what) => li.querySelector(what))"
        ".map((part) => getComputedStyle(part).fontWeight)"
    )
    assert int(weights[0]) >= 600
    assert weights[1:] == ["400", "400"]
    expect(problem.locator("h3")).to_have_text(re.compile("ping-pong 'orders' · orders-2 · pod-3"))


def test_a_long_line_is_folded_up(open_page: Open, text: str) -> None:
    page = open_page(text)
    line = page.locator("details.long").first
    length = len(line.text_content() or "")
    assert length > 360
    assert len(line.inner_text()) < 260
    line.locator("summary").click()
    assert len(line.inner_text()) > 300
