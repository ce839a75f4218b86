"""The page of a trace in a real browser: reading, stepping, linking, copying, both themes."""

from __future__ import annotations

import json
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from support.page.long import long_trace
from support.page.open import Open, expect_place
from support.page.pages import FINDINGS, finding_page

from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.pages.trace_page import PageTrace, trace_page

NAME = "restart-session"
WRONG = 16


@pytest.fixture(scope="module")
def text() -> str:
    return finding_page(NAME)


@pytest.fixture(scope="module")
def long_text() -> str:
    return trace_page([PageTrace(long_trace(10_000), "long", "long.json")])


def expect_step(page: Page, number: int) -> None:
    """Wait until a step is the chosen one: a link's address changes before the page does."""
    expect(page.get_by_role("spinbutton", name="Step")).to_have_value(str(number))


def detail(page: Page) -> str:
    return page.get_by_role("region", name="The chosen step").inner_text()


def test_the_verdict_comes_first(open_page: Open, text: str) -> None:
    page = open_page(text)
    heading = page.locator("main h1")
    assert heading.inner_text().startswith("a's Heartbeat v4 (step 16) should have been answered")
    assert page.locator("main :is(h1, h2, h3)").first.inner_text() == heading.inner_text()
    for word in ("Expected", "because", "Got", "Source"):
        expect(page.locator("dl.why").get_by_text(word, exact=True)).to_be_visible()
    assert page.locator(".kicker").inner_text().split()[:3] == [
        "violated",
        "SHOULD",
        "HEARTBEAT-STABLE",
    ]


def test_it_opens_where_it_goes_wrong_and_keys_step(open_page: Open, text: str) -> None:
    page = open_page(text)
    expect_step(page, WRONG)
    page.keyboard.press("ArrowLeft")
    expect_step(page, WRONG - 1)
    page.keyboard.press("Home")
    expect_step(page, 1)
    page.keyboard.press("ArrowLeft")
    expect_step(page, 1)
    page.keyboard.press("ArrowRight")
    expect_step(page, 2)
    page.keyboard.press("d")
    expect_step(page, WRONG)
    status = page.get_by_role("status")
    assert "Here it goes wrong" in (status.text_content() or "")


def test_buttons_step_and_know_their_ends(open_page: Open, text: str) -> None:
    page = open_page(text, "#step-1")
    expect(page.get_by_role("button", name="Step back")).to_be_disabled()
    page.get_by_role("button", name="Step on").click()
    page.get_by_role("button", name="Step on").click()
    expect_step(page, 3)
    page.get_by_role("button", name="Jump to the divergence").click()
    expect_step(page, WRONG)
    expect(page.get_by_role("button", name="Last step")).to_be_disabled()
    page.get_by_role("button", name="First step").click()
    expect_step(page, 1)
    page.get_by_role("spinbutton", name="Step").fill("9")
    page.keyboard.press("Enter")
    expect_step(page, 9)
    assert detail(page).startswith("Step 9")


def test_arrows_in_the_field_of_the_step_are_the_fields_own(open_page: Open, text: str) -> None:
    page = open_page(text, "#step-5")
    page.get_by_role("spinbutton", name="Step").focus()
    page.keyboard.press("ArrowLeft")
    expect_step(page, 5)


def test_a_step_has_an_address(open_page: Open, text: str) -> None:
    page = open_page(text, "#step-12")
    expect_step(page, 12)
    page.keyboard.press("ArrowRight")
    expect_place(page, "#step-13")
    page.get_by_role("region", name="List of steps").get_by_text("JoinGroup of step 3").click()
    expect_place(page, "#step-5")
    expect_step(page, 5)
    assert detail(page).startswith("Step 5")
    page.go_back()
    expect_step(page, 13)


def test_an_address_that_is_none_is_no_fault(open_page: Open, text: str) -> None:
    expect_step(open_page(text, "#step-999"), WRONG)
    expect_step(open_page(text, "#nothing"), WRONG)


def test_expected_stands_beside_observed(open_page: Open, text: str) -> None:
    page = open_page(text)
    row = page.locator(".detail tr.differs")
    assert row.inner_text().split() == ["errorCode", "NONE", "REBALANCE_IN_PROGRESS"]
    assert "throttleTimeMs" not in detail(page)
    page.get_by_role("checkbox", name="all fields").check()
    assert "throttleTimeMs" in detail(page)
    assert "generationId" in detail(page), "the request, too"
    page.keyboard.press("a")
    assert "throttleTimeMs" not in detail(page)


def test_the_state_shows_what_changed_and_all_on_demand(open_page: Open, text: str) -> None:
    page = open_page(text, "#step-10")
    changed = page.locator(".detail section", has_text="State of the group").locator("tbody tr")
    names = changed.locator("td:first-child").all_inner_texts()
    assert "instance A" in names
    assert "member a" not in names
    row = changed.filter(has_text=re.compile("^instance A"))
    assert row.locator("td").all_inner_texts() == ["instance A", "held by A1", "held by A2"]
    page.keyboard.press("a")
    assert "member a" in changed.locator("td:first-child").all_inner_texts()


def test_the_rule_that_fired_and_why_the_others_did_not(open_page: Open, text: str) -> None:
    page = open_page(text, "#step-10")
    rule = page.locator(".rule").first
    assert "JOIN-STATIC-EMPTY-STABLE" in rule.inner_text()
    assert 'mid is "" and inst is mapped to another' in rule.inner_text()
    rule.locator("summary").click()
    others = rule.locator(".others li")
    expect(others).to_have_count(4)
    nearest = rule.locator(".others li", has_text="JOIN-STATIC-EMPTY-STABLE-SELECTION")
    assert "✗ selected protocol is changed" in nearest.inner_text()
    assert "selected protocol is unchanged" in nearest.inner_text()
    rule.get_by_role("button", name="Show all").click()
    expect(others.nth(15)).to_be_visible()


def test_lanes_are_drawn(open_page: Open, text: str) -> None:
    page = open_page(text, "#step-10")
    lanes = page.get_by_role("region", name="Swim lanes", exact=True)
    labels = lanes.locator(".labels").inner_text().split("\n")
    assert labels == ["time", "coordinator", "instance A", "A1", "A2", "dynamic a"]
    assert lanes.locator(".cut").count() == 1
    assert "fenced" in (lanes.locator("svg").text_content() or "")
    for what in (".hold", ".parked", ".timer", ".Stable", ".PreparingRebalance", ".passing"):
        assert lanes.locator(f"svg {what}").count() > 0, what
    assert lanes.locator(".arrow.error").count() == 1
    assert re.match(r"showing 1[56] of 16 steps", lanes.locator(".shown").inner_text())


def test_a_column_of_the_lanes_chooses_its_step(open_page: Open, text: str) -> None:
    page = open_page(text, "#step-1")
    expect(page.locator(".lanes svg text", has_text="Sync v5").first).to_be_visible()
    # In one go: the lanes are drawn anew when the page gets its size, and old marks have no box.
    x, y = page.evaluate(
        """() => {
          const words = [...document.querySelectorAll(".lanes svg text")];
          const box = words.find((t) => t.textContent.includes("Sync v5")).getBoundingClientRect();
          return [box.x, box.y];
        }"""
    )
    page.mouse.click(x + 4, y + 30)
    expect_step(page, 2)


def test_words_in_the_lanes_do_not_overlap(open_page: Open, text: str) -> None:
    page = open_page(text)
    overlaps = page.evaluate(
        """() => {
          const boxes = [...document.querySelectorAll(".lanes svg text")]
            .map((t) => [t.textContent, t.getBoundingClientRect()]).filter(([, b]) => b.width);
          const found = [];
          boxes.forEach(([one, a], i) => boxes.slice(i + 1).forEach(([other, b]) => {
            if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 4
                && b.top < a.bottom - 4) found.push(`${one} / ${other}`);
          }));
          return found;
        }"""
    )
    assert overlaps == []


def test_minimal_and_original_stand_on_one_page(open_page: Open) -> None:
    page = open_page(finding_page(NAME, "full-group"))
    which = page.get_by_role("navigation", name="Traces")
    assert which.get_by_role("link").count() == 2
    assert page.locator("article:visible").count() == 1
    which.get_by_role("link", name="full-group").click()
    expect(page.locator("article:visible h1")).to_contain_text("GROUP_MAX_SIZE_REACHED")
    page.keyboard.press("Home")
    expect_place(page, "#trace-full-group-step-1")
    expect(which.get_by_role("link", name="full-group")).to_have_attribute("aria-current", "true")
    which.get_by_role("link", name=NAME).click()
    expect(page.locator("article:visible h1")).to_have_text(re.compile("^a's Heartbeat"))


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("replay command", f"fencepost replay docs/findings/{NAME}.json"),
        ("pytest", "def test_"),
        ("Mermaid", "sequenceDiagram"),
        ("ITF", '"#meta"'),
    ],
)
def test_a_form_is_copied(open_page: Open, text: str, name: str, part: str) -> None:
    page = open_page(text)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name=name, exact=True).click()
    expect(page.get_by_role("status")).to_have_text(f"Copied: {name}")
    assert part in page.evaluate("navigator.clipboard.readText()")
    assert part in page.get_by_role("textbox", name="Text to copy").input_value()


def test_a_lesser_fault_before_the_wrong_step_is_not_called_as_expected(open_page: Open) -> None:
    document = json.loads((FINDINGS / f"{NAME}.json").read_text())
    document["steps"][3]["body"]["protocolType"] = "other"
    trace = TraceFile.from_json(document, where="x.json")
    page = open_page(trace_page([PageTrace(trace, "x", "x.json")]), "#step-2")
    expect_step(page, 2)
    assert "As expected." not in detail(page)
    assert "protocolType is not the model's" in detail(page)
    page.get_by_role("region", name="The chosen step").get_by_role(
        "link", name=f"step {WRONG}"
    ).click()
    expect_step(page, WRONG)


def test_without_scripts_all_steps_are_text(open_page: Open, text: str) -> None:
    page = open_page(text, "#step-16", scripts=False)
    steps = page.locator("ol.plain li")
    assert steps.count() == WRONG
    assert "← wrong" in steps.last.inner_text()
    expect(steps.last).to_be_in_viewport()
    expect(page.get_by_role("button")).to_have_count(0)


def test_nothing_can_be_asked_for(open_page: Open, text: str) -> None:
    page = open_page(text, quiet=False)
    refused = page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'went', () => 'refused')")
    assert refused == "refused"
    image = "new Promise((r) => { const i = new Image(); i.onload = () => r('went');"
    image += " i.onerror = () => r('refused'); i.src = 'http://127.0.0.1:9/x.png'; })"
    assert page.evaluate(image) == "refused"


def test_a_changed_script_does_not_run(open_page: Open, text: str) -> None:
    changed = text.replace('"use strict";', '"use strict"; // changed')
    assert changed != text
    page = open_page(changed, quiet=False)
    expect(page.locator(".viewer")).to_have_count(0)
    expect(page.locator("main h1")).to_be_visible()


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 420])
def test_a_screen_reader_stumbles_over_nothing(
    open_page: Open, text: str, theme: str, width: int
) -> None:
    page = open_page(text, theme=theme, width=width)
    page.locator(".rule summary").first.click()
    page.get_by_role("checkbox", name="all fields").check()
    found = Axe().run(page).response["violations"]
    assert [(f["id"], f["impact"], f["nodes"][0]["html"][:120]) for f in found] == []
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0


def test_axe_finds_what_is_wrong(open_page: Open, text: str) -> None:
    page = open_page(text)
    page.evaluate("document.querySelector('[data-do=back]').removeAttribute('aria-label')")
    page.evaluate("document.querySelector('[data-do=back]').textContent = ''")
    assert "button-name" in [f["id"] for f in Axe().run(page).response["violations"]]


def test_the_theme_follows_the_system_until_told(open_page: Open, text: str) -> None:
    page = open_page(text, theme="dark")
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(paper)
    button = page.get_by_role("button", name="Theme")
    button.click()
    expect(button).to_have_text("Theme: light")
    assert page.evaluate(paper) != dark
    page.reload()
    expect(page.get_by_role("button", name="Theme")).to_have_text("Theme: light")
    button.click()
    assert page.evaluate(paper) == dark


def test_focus_is_seen(open_page: Open, text: str) -> None:
    page = open_page(text)
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    for _ in range(3):
        page.keyboard.press("Tab")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_of_ten_thousand_steps_a_few_are_drawn(open_page: Open, long_text: str) -> None:
    page = open_page(long_text, "#step-5000")
    expect_step(page, 5000)
    list_of_steps = page.get_by_role("region", name="List of steps")
    assert list_of_steps.locator("li").count() < 60
    assert page.locator(".lanes svg *").count() < 600
    assert re.search(r"showing \d+ of 9,\d{3}", page.locator(".steps .shown").inner_text())
    assert re.search(r"showing \d+ of 9,\d{3} steps", page.locator(".lanes .shown").inner_text())
    page.keyboard.press("End")
    expect(page.get_by_role("spinbutton", name="Step")).to_have_value(re.compile(r"^9\d{3}$"))
    last = list_of_steps.locator("li").last
    expect(last).to_be_visible()
    list_of_steps.evaluate("list => { list.scrollTop = 3200; }")
    expect(list_of_steps.get_by_text("101", exact=True)).to_be_visible()


def test_the_state_of_a_late_step_is_the_same_however_one_comes_there(
    open_page: Open, long_text: str
) -> None:
    straight = open_page(long_text, "#step-950")
    straight.keyboard.press("a")
    about = open_page(long_text, "#step-9000")
    about.evaluate("location.hash = '#step-300'")
    about.evaluate("location.hash = '#step-950'")
    about.keyboard.press("a")
    expect_step(about, 950)
    assert detail(straight) == detail(about)
    assert "instance B" in detail(straight)
