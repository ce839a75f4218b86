"""The page of certificates in a real browser: figures apart, cells that open, the coverage map."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from support.page.open import Open, expect_place
from support.page.pages import (
    EVERY_OUTCOME,
    TRACE,
    certificate,
    certificate_text,
    finding,
    kept_certificate,
)

from fencepost.traces.report import certificate_page as module
from fencepost.traces.report.certificate_page import certificate_page


@pytest.fixture(scope="module")
def text() -> str:
    return certificate_text()


@pytest.fixture(scope="module")
def several() -> str:
    names = ("kafka-2.3.0", "kafka-4.3.0", "kfake")
    return certificate_page([kept_certificate(name) for name in names], [{}, {}, {}])


def test_outcomes_are_counted_apart_by_level(open_page: Open, text: str) -> None:
    page = open_page(text)
    rows = page.locator(".counts tbody tr")
    assert [row.split()[-8:] for row in rows.all_inner_texts()] == [
        ["MUST", "1", "1", "1", "1", "0", "0", "0"],
        ["SHOULD", "0", "0", "0", "0", "1", "1", "1"],
        ["MAY", "0", "0", "0", "0", "0", "0", "0"],
    ]
    heads = page.locator(".counts thead th").all_inner_texts()
    assert [head.split(maxsplit=1)[-1] for head in heads[3:]] == [
        "pass",
        "fail",
        "known failure",
        "stale known failure",
        "unsupported",
        "unknown",
        "skipped",
    ]


@pytest.mark.parametrize("place", ["#t0", "#trace-no-such-case", "#%", "#step-3"])
def test_an_address_that_names_nothing_is_the_index(open_page: Open, text: str, place: str) -> None:
    page = open_page(text, place)
    expect(page.locator("#index")).to_be_visible()
    expect(page.locator("article")).to_be_hidden()


def test_a_cell_opens_its_trace_and_one_comes_back(open_page: Open, text: str) -> None:
    page = open_page(text)
    page.get_by_role("link", name="fail: HEARTBEAT-STABLE/restart-session").click()
    expect(page.locator("article h2").first).to_contain_text("a's Heartbeat v4")
    expect(page.locator("#index")).to_be_hidden()
    page.keyboard.press("Home")
    expect_place(page, "#trace-restart-session-step-1")
    page.get_by_role("link", name="All cases").click()
    expect(page.locator("#index")).to_be_visible()
    expect(page.locator("article")).to_be_hidden()


def test_a_cell_without_a_trace_opens_the_reason(open_page: Open, text: str) -> None:
    page = open_page(text)
    page.get_by_role("link", name="unsupported: JOIN-GROUP-FULL/one").click()
    row = page.locator("li.case, .cases li", has_text="JOIN-GROUP-FULL/one")
    expect(row).to_be_in_viewport()


def test_each_case_that_did_not_pass_is_in_the_matrix_and_has_a_reason(
    open_page: Open, text: str
) -> None:
    page = open_page(text)
    links = page.locator(".matrix a").all()
    named = [link.get_attribute("aria-label") or "" for link in links]
    for case, outcome in EVERY_OUTCOME.items():
        said = f"some:target, {outcome.replace('-', ' ')}: {case}"
        assert (said in named) is (outcome != "pass")
        listed = page.locator(".reasons").get_by_text(case, exact=True)
        assert listed.count() == (outcome != "pass")


def test_rows_can_be_looked_for(open_page: Open, several: str) -> None:
    page = open_page(several)
    rows = page.locator(".matrix tr[data-rule]:visible")
    every = rows.count()
    page.get_by_label("Search", exact=True).fill("heartbeat-")
    assert 0 < rows.count() < every
    assert f"of {every} rules" in page.locator("#found").inner_text()
    page.get_by_label("Search", exact=True).fill("")
    page.get_by_label("only where something did not pass").check()
    assert 0 < rows.count() < every


def test_cases_and_sentences_are_found_and_the_search_is_in_the_address(
    open_page: Open, text: str
) -> None:
    page = open_page(text)
    search = page.get_by_label("Search", exact=True)
    search.fill("what was seen in join-group-full/TWO")
    expect(page.locator(".matrix tr[data-rule]:visible")).to_have_count(1)
    expect(page.locator(".reasons .cases > li:visible")).to_have_count(1)
    expect(page.locator(".reasons h3:visible")).to_have_text(["? unknown: 1"])
    expect(page.locator(".matrix .part-head:visible")).to_have_count(1)
    expect(page.locator("#found")).to_contain_text("1 of 6 cases that did not pass")
    expect(page).to_have_url(re.compile(re.escape("find=what+was+seen")))
    page.reload()
    expect(search).to_have_value("what was seen in join-group-full/TWO")
    expect(page.locator(".reasons .cases > li:visible")).to_have_count(1)
    search.fill("nothing at all")
    expect(page.locator(".reasons h3:visible")).to_have_count(0)
    search.fill("")
    expect(page.locator(".reasons h3:visible")).to_have_count(6)
    expect(page).not_to_have_url(re.compile("find"))


def test_the_head_is_the_verdict_and_the_rest_is_below_the_table(open_page: Open) -> None:
    document = {**certificate(), "details": ["1 known failure", "<b>1</b> skipped"]}
    page = open_page(certificate_page([document], [{}]))
    expect(page.locator("header h1")).to_have_text(document["summary"])
    assert page.locator(".sheet .details li").all_inner_texts() == document["details"]


def test_a_verdict_that_rests_on_known_failures_is_amber(open_page: Open) -> None:
    document = {**certificate(), "verdict": "holds", "summary": ""}
    page = open_page(certificate_page([document], [{}]))
    badge = page.locator("header .badge.is-excused")
    expect(badge).to_have_text("holds, but for known failures")
    expect(page.locator(".counts")).to_contain_text("passes 1 of 7; 1 known failure")
    light = [{**case, "level": "SHOULD"} for case in document["cases"]]
    page = open_page(certificate_page([{**document, "cases": light}], [{}]))
    expect(page.locator("header .badge")).to_have_class("badge is-holds")


def test_on_a_phone_no_count_is_cut_off(open_page: Open, text: str) -> None:
    page = open_page(text)
    page.set_viewport_size({"width": 390, "height": 844})
    for count in page.locator(".counts td.some").all():
        box = count.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390


def test_traces_that_are_left_out_are_said_and_change_no_sign(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = certificate()
    document["cases"][0] |= {"rules": ["LEAVE-MEMBER"], "rule": "HEARTBEAT-STABLE"}
    traces = {TRACE: finding("restart-session")}
    assert "are in this page" not in certificate_page([document], [traces])
    monkeypatch.setattr(module, "MOST_TRACES", 0)
    text = certificate_page([document], [traces])
    assert "Of some:target the first 0 of 1 traces are in this page" in text
    assert "fail before its rule: HEARTBEAT-STABLE/restart-session" in text


def test_what_hides_most_is_to_be_mended_first() -> None:
    document = certificate()
    one = {**document["cases"][0], "rules": ["LEAVE-MEMBER"], "rule": "HEARTBEAT-STABLE"}
    document["cases"] += [{**one, "id": f"LEAVE-MEMBER/{n}", "trace": None} for n in range(10)]
    text = certificate_page([document], [{}])
    assert "Fix HEARTBEAT-STABLE first: 10 cases about other rules show the same violation" in text
    document["cases"].pop()
    assert "Fix " not in certificate_page([document], [{}])


def test_failures_are_told_by_cause_and_many_cases_are_open(open_page: Open) -> None:
    document = certificate()
    broken = [
        {
            **document["cases"][0],
            "id": f"LEAVE-MEMBER/{n}",
            "rules": ["LEAVE-MEMBER"],
            "rule": "HEARTBEAT-STABLE",
            "observed": f"A{n} Heartbeat: NONE",
            "trace": None,
        }
        for n in range(5)
    ]
    own = [
        {**b, "id": f"HEARTBEAT-STABLE/{n}", "rules": ["HEARTBEAT-STABLE"]}
        for n, b in enumerate(broken)
    ]
    page = open_page(certificate_page([{**document, "cases": [*broken, *own]}], [{}]))
    groups = page.locator(".reasons > ul > li")
    expect(groups).to_have_count(1)
    expect(groups).to_contain_text("5 cases, and 5 more, about other rules")
    expect(page.locator(".reasons .cases > li:visible code")).to_have_text(
        [f"HEARTBEAT-STABLE/{n}" for n in range(5)]
    )


def test_what_was_never_exercised_is_red(open_page: Open, text: str) -> None:
    page = open_page(text)
    row = page.locator(".map tr", has_text="HEARTBEAT-PREPARING").first
    assert "never exercised" in (row.text_content() or "")
    red = row.evaluate("row => getComputedStyle(row).backgroundColor")
    shown = page.locator(".map tr.yes", has_text="HEARTBEAT-STABLE").first
    assert shown.evaluate("row => getComputedStyle(row).backgroundColor") != red
    gone = page.locator(".map tr.out", has_text="JOIN-GROUP-DEAD").first
    assert "no group is ever Dead" in (gone.text_content() or "")
    assert page.locator(".diagram .edge.yes").count() == 1
    assert page.locator(".diagram .edge.never").count() > 3


def test_several_targets_stand_beside_each_other(open_page: Open, several: str) -> None:
    page = open_page(several)
    heads = page.locator(".matrix thead th").all_inner_texts()
    assert heads == ["rule", "kafka:2.3.0", "kafka:4.3.0", "kfake"]
    assert page.locator(".counts tbody").count() == 3
    page.locator(".counts").get_by_role("link", name="kfake").click()
    expect(page.locator("#reasons-2 h3")).to_be_in_viewport()


def test_without_scripts_all_of_it_can_be_read(open_page: Open, text: str) -> None:
    page = open_page(text, scripts=False)
    expect(page.locator(".matrix")).to_be_visible()
    expect(page.locator(".filters")).to_be_hidden()
    page.get_by_role("link", name="fail: HEARTBEAT-STABLE/restart-session").click()
    expect(page.locator("article h2").first).to_be_in_viewport()
    assert page.locator("ol.plain li").count() > 10


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_screen_reader_stumbles_over_nothing(open_page: Open, text: str, theme: str) -> None:
    kept = [kept_certificate(f"kafka-{version}") for version in ("2.3.0", "4.3.0")]
    some = [
        {**certificate, "cases": dict(list(certificate["cases"].items())[::12])}
        for certificate in kept
    ]
    two = certificate_page(some, [{}, {}])
    for page in (open_page(text, theme=theme), open_page(two, theme=theme)):
        page.locator("details").evaluate_all("boxes => boxes.forEach(box => { box.open = true; })")
        found = Axe().run(page).response["violations"]
        assert [(f["id"], f["impact"], f["nodes"][0]["html"][:120]) for f in found] == []
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0
    page = open_page(text, "#trace-restart-session", theme=theme)
    found = Axe().run(page).response["violations"]
    assert [(f["id"], f["impact"], f["nodes"][0]["html"][:120]) for f in found] == []


def test_settings_are_listed_with_where_they_are_known_from() -> None:
    sources = {"group.max.size": "assumed", "group.min.session.timeout.ms": "describe-configs"}
    config = {"group.max.size": None, "group.min.session.timeout.ms": 6000}
    document = {**certificate(), "config": config, "settings_source": sources}
    text = certificate_page([document], [{}])
    rows = re.findall(r"<code>(group[^<]*)</code></th><td>([^<]*)</td><td>([^<]*)</td>", text)
    assert rows == [
        ("group.max.size", "none", "assumed"),
        ("group.min.session.timeout.ms", "6000", "read from the broker"),
    ]
    assert "Group settings" not in certificate_page([{**document, "settings_source": {}}], [{}])
