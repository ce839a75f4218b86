"""The time line of an audit's page in a browser, of a log with many groups and rebalances."""

from __future__ import annotations

from functools import cache

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect
from support.logs.busy_server_log import busy_report
from support.page.open import Open

from fencepost.traces.report.audit_page import audit_page

WIDTHS = (1280, 390)
THEMES = ("light", "dark")
BARS = "#times .bars:visible"
OUTSIDE = """() => {
  const all = document.querySelector('#times').getBoundingClientRect();
  return [...document.querySelectorAll('#times .bars a')].filter((mark) => {
    const box = mark.getBoundingClientRect();
    const lane = mark.closest('.lane').getBoundingClientRect();
    return box.width && (box.left < all.left - 1 || box.right > all.right + 1
      || box.top < lane.top - 1 || box.bottom > lane.bottom + 1);
  }).map((mark) => [mark.textContent, mark.getBoundingClientRect().toJSON()]);
}"""
DRAWN = """() => {
  const sum = (what) => [...document.querySelectorAll(`#times .lane:not(.all) ${what}`)]
    .filter((mark) => mark.getClientRects().length)
    .reduce((all, mark) => all + Number(mark.querySelector('text')?.textContent || 1), 0);
  const expired = sum('a:has(.expired)'), taken = sum('a:has(.taken)');
  return {rebalances: sum('[data-column]'), expired, taken};
}"""
CROSSING = """() => [...document.querySelectorAll('#times .bars')].flatMap((bars) => {
  const marks = [...bars.querySelectorAll('.expired, .taken, [data-column] text')];
  const boxes = marks.map((mark) => mark.getBoundingClientRect());
  const apart = (a, b) => b.left >= a.right - 1 || a.left >= b.right - 1;
  const meets = (a, b) => !apart(a, b) && Math.abs(a.top - b.top) < 5;
  return boxes.filter((a) => a.width && boxes.some((b) => a !== b && meets(a, b)));
}).length"""


@cache
def busy() -> str:
    return audit_page(busy_report(20, 500))


@cache
def large() -> str:
    return audit_page(busy_report(200, 5_000))


def lane_of(page: Page, name: str) -> Locator:
    return page.locator("#times .lane").filter(has=page.get_by_text(name, exact=True))


def first_bar(page: Page, name: str) -> Locator:
    return lane_of(page, name).locator(".bars:visible [data-column]").first


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_whole_log_fits_the_screen(open_page: Open, width: int, theme: str) -> None:
    page = open_page(busy(), width=width, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(BARS).count() == 21, "all groups, and one lane for each"
    assert page.evaluate(OUTSIDE) == [], "a mark is cut off"
    assert page.locator("#times").evaluate("(box) => box.scrollWidth <= box.clientWidth")


@pytest.mark.parametrize("width", WIDTHS)
def test_the_time_line_is_first_and_its_legend_has_each_mark(open_page: Open, width: int) -> None:
    page = open_page(busy(), width=width)
    assert page.locator("#index h2").first.text_content() == "Time line"
    legend = page.locator(".legend li")
    assert [each.strip() for each in legend.all_text_contents()] == [
        "new member",
        "leave",
        "expiry",
        "rejoin or changed subscription",
        "another cause",
        "members that expired",
        "takeovers of an instance id",
        "a long rebalance",
    ]
    for each in legend.locator("i").all():
        paint = each.evaluate("(i) => [getComputedStyle(i).backgroundColor, i.offsetWidth]")
        assert paint[0] != "rgba(0, 0, 0, 0)"
        assert paint[1] >= 10


@pytest.mark.parametrize("width", WIDTHS)
def test_what_overlaps_is_one_mark_with_its_number(open_page: Open, width: int) -> None:
    page = open_page(busy(), width=width)
    drawn = page.evaluate(DRAWN)
    report = busy_report(20, 500)
    taken = sum(figures.replaced for figures in report.figures.values())
    assert drawn == {"rebalances": 500, "expired": report.expirations.count, "taken": taken}
    assert page.evaluate(CROSSING) == 0
    page = open_page(large(), width=width)
    assert page.evaluate(CROSSING) == 0
    sums = (
        "() => [...document.querySelectorAll('.sum')].filter((e) => e.scrollWidth > e.clientWidth)"
    )
    assert page.evaluate(sums) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_a_click_shows_a_rebalance_with_its_members_and_lines(open_page: Open, width: int) -> None:
    page = open_page(busy(), width=width)
    chosen = page.get_by_role("region", name="Chosen in the time line")
    expect(chosen).to_have_count(0)
    alone = lane_of(page, "emails").locator(".bars:visible [data-column]:not(:has(text))").first
    alone.click()
    expect(chosen.get_by_role("heading")).to_contain_text("emails, 2026-11-21")
    expect(chosen.locator("details")).to_have_count(1)
    expect(chosen).to_contain_text("emails-pod-1, emails-pod-2, emails-pod-3, emails-pod-4")
    expect(chosen.locator(".log li")).to_have_count(4)
    expect(chosen.locator(".log")).to_contain_text("Preparing to rebalance group emails in state")
    expect(chosen.locator(".log")).to_contain_text("server.log:")
    expect(chosen).to_be_in_viewport()
    chosen.get_by_role("button", name="Close").click()
    expect(chosen).to_have_count(0)
    expect(alone).to_be_focused()


def test_a_click_on_a_bar_of_several_lists_them(open_page: Open) -> None:
    page = open_page(busy())
    chosen = page.get_by_role("region", name="Chosen in the time line")
    first_bar(page, "emails").click()
    expect(chosen.get_by_role("heading")).to_contain_text("emails, 06:40:00 to 06:43:50")
    expect(chosen.locator("details")).to_have_count(4)
    expect(chosen.locator(".log").first).to_be_hidden()
    chosen.locator("summary").first.click()
    expect(chosen.locator(".log").first).to_be_visible()
    first_bar(page, "all groups").click()
    expect(chosen).to_have_count(1)
    expect(chosen.get_by_role("heading")).to_contain_text(
        "all groups, 06:40:00 to 06:43:50: 82 reb"
    )
    expect(chosen.locator("details")).to_have_count(40)
    expect(chosen).to_contain_text("and 42 more in the list below")
    expect(chosen.locator(".of").filter(has_text="checkout").first).to_be_visible()


def test_a_click_on_a_mark_names_the_members(open_page: Open) -> None:
    page = open_page(busy())
    chosen = page.get_by_role("region", name="Chosen in the time line")
    page.get_by_role("button", name="7 members expired").click()
    expect(chosen.get_by_role("heading")).to_contain_text("all groups, 7 members expired")
    expect(chosen.get_by_role("listitem")).to_have_count(7)
    chosen.get_by_role("link", name="All of them").click()
    expect(page.locator("#expired-title")).to_be_in_viewport()
    lane_of(page, "emails").locator("a:visible:has(.taken)").first.click()
    expect(chosen).to_contain_text("of 'emails' went to a new member")


@pytest.mark.parametrize("width", WIDTHS)
def test_a_finger_beside_a_bar_hits_it(open_page: Open, width: int) -> None:
    page = open_page(busy(), width=width)
    bars = lane_of(page, "emails").locator(".bars:visible")
    box, bar = bars.bounding_box(), bars.locator("[data-column]").nth(1).bounding_box()
    assert box is not None
    assert bar is not None
    bars.click(position={"x": bar["x"] - box["x"] + bar["width"] / 2, "y": bar["y"] - box["y"] - 6})
    expect(page.get_by_role("region", name="Chosen in the time line")).to_contain_text("emails")


def test_the_keyboard_reaches_each_mark(open_page: Open) -> None:
    page = open_page(busy())
    reachable = "#times .bars a[tabindex='0']"
    expect(page.locator(reachable)).to_have_count(1)
    page.locator(reachable).focus()
    page.keyboard.press("ArrowDown")
    expect(lane_of(page, "emails").locator("a:focus")).to_have_count(1)
    page.keyboard.press("Home")
    expect(first_bar(page, "emails")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(first_bar(page, "emails")).not_to_be_focused()
    page.keyboard.press("Enter")
    chosen = page.get_by_role("region", name="Chosen in the time line")
    expect(chosen.get_by_role("heading")).to_be_focused()
    page.keyboard.press("Escape")
    expect(chosen).to_have_count(0)
    expect(lane_of(page, "emails").locator("a:focus")).to_have_count(1)
    page.keyboard.press("End")
    expect(page.locator(reachable)).to_have_count(1)


def test_without_scripts_a_bar_leads_to_its_rebalance(open_page: Open) -> None:
    page = open_page(busy(), scripts=False)
    bar = first_bar(page, "emails")
    assert bar.get_attribute("href") in {f"#rebalance-{number}" for number in range(1, 501)}
    page = open_page(busy(), place=bar.get_attribute("href") or "")
    row = page.locator(bar.get_attribute("href") or "")
    expect(row).to_be_in_viewport()
    expect(row.locator(".log")).to_be_visible()


@pytest.mark.slow
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_a_screen_reader_stumbles_over_nothing(open_page: Open, width: int, theme: str) -> None:
    page = open_page(busy(), width=width, theme=theme)
    first_bar(page, "checkout").click()
    found = Axe().run(page).response["violations"]
    assert [(f["id"], f["impact"], f["nodes"][0]["html"][:160]) for f in found] == []


@pytest.mark.parametrize("theme", THEMES)
def test_each_colour_stands_out(open_page: Open, theme: str) -> None:
    page = open_page(busy(), theme=theme)
    ratios = page.evaluate(
        """() => {
          const light = (colour) => {
            const [r, g, b] = colour.match(/[\\d.]+/g).map((n) => {
              const part = n / 255;
              return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
            });
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const card = light(getComputedStyle(document.querySelector('.sheet')).backgroundColor);
          return [...document.querySelectorAll('.legend i:not(.stretch)')].map((i) => {
            const own = light(getComputedStyle(i).backgroundColor);
            return (Math.max(own, card) + 0.05) / (Math.min(own, card) + 0.05);
          });
        }"""
    )
    assert min(ratios) >= 4.5, "numbers stand in them, too"


def test_a_large_log_has_a_page_of_some_megabytes_that_opens(open_page: Open) -> None:
    text = large()
    assert len(text) < 6_000_000
    page = open_page(text)
    assert page.locator("*").count() < 80_000
    expect(page.locator("#times > .lane")).to_have_count(32)
    page.get_by_text("170 more groups").click()
    expect(page.locator("#times .rest .lane")).to_have_count(170)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1400
    page.locator("#times .rest .bars:visible [data-column]").first.click()
    chosen = page.get_by_role("region", name="Chosen in the time line")
    expect(chosen).to_be_in_viewport()
    expect(page.get_by_text("Showing 1,000 of 5,000")).to_be_visible()
