"""The results site in a real browser: whole, from a disk, in both sizes and both themes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from support.chromium import ContextOf
from support.kept import kept, write_kept
from support.page.open import expect_place
from support.page.pages import DOCS, TRACE, certificate, finding

from fencepost.conformance.site.site import pages, write_site
from fencepost.conformance.site.site_results import read_results
from fencepost.traces.files.text_files import write_texts

BUG = "the timeouts of a first join stay (https://issues.apache.org/jira/browse/KAFKA-14009)"
CASES = {"JOIN-STATIC-EMPTY-STABLE/restart": "pass", "LEAVE-MEMBER/one": "pass"}
LATE = "SESSION-EXPIRED/session-of-a-rejoin"
SIZES = ((1280, 900), (390, 844))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six targets, one of them with traces, and their site."""
    folder = tmp_path_factory.mktemp("certificates")
    late = {**CASES, LATE: BUG}
    later = {**CASES, LATE: "pass"}
    told = {
        "kafka:2.8.0": late,
        "kafka:3.3.1": late,
        "kafka:3.9.1+old": later,
        "kafka:4.3.0": {**later, "DESCRIBE-STABLE/a": "unsupported"},
        "kfake:1": {**later, "FETCH-GROUP/a": "no offsets"},
    }
    write_kept(folder / "kept", *(kept(target, cases) for target, cases in told.items()))
    report = folder / "report"
    texts = {"certificate.json": json.dumps(certificate())}
    write_texts(texts | {TRACE: finding("restart-session").trace.text()}, report, "--report")
    write_site([folder / "kept", report], folder / "site")
    return folder / "site"


class Links(HTMLParser):
    """The addresses and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors += filter(None, [found.get("id")])
        self.links += filter(None, [found.get("href") if tag == "a" else None])
        self.loaded += [v or "" for k, v in attrs if k == "src" or (k == "href" and tag == "link")]


def dead_ends(folder: Path) -> list[str]:
    """The links of a site, and the anchors, that lead nowhere; anchors that a page has twice."""
    held = {path: Links(path.read_text("utf-8")) for path in folder.rglob("*.html")}
    wrong = []
    for path, found in held.items():
        wrong += [f"{path}: #{a} twice" for a in found.anchors if found.anchors.count(a) > 1]
        for link in found.links:
            address, anchor = urldefrag(link)
            if address.startswith("https:") or "traces" in path.parts:
                continue
            goal = (path.parent / unquote(address)).resolve() if address else path
            anchors = held[goal].anchors if goal in held else []
            if not goal.is_file() or (anchor and unquote(anchor) not in anchors):
                wrong.append(f"{path.name}: {link}")
    return wrong


def test_every_link_leads_somewhere(site: Path) -> None:
    assert len(list(site.rglob("*.html"))) > 20
    assert dead_ends(site) == []


def test_a_link_that_leads_nowhere_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a id="x" href="b.html"></a><a href="#y"></a><p id="x">')
    assert len(dead_ends(tmp_path)) == 4


def test_nothing_is_loaded(site: Path) -> None:
    for path in site.rglob("*.html"):
        assert set(Links(path.read_text("utf-8")).loaded) == {"data:,"}


def test_the_same_certificates_give_the_same_site() -> None:
    certificates = [DOCS / "certificates" / f"kafka-{v}.json" for v in ("2.3.0", "4.3.0")]
    assert list(pages(read_results(certificates))) == list(pages(read_results(certificates)))


def test_an_area_of_which_nothing_could_be_tested_has_no_figure(tmp_path: Path) -> None:
    cases = {"LEAVE-MEMBER/one": "unsupported", "HEARTBEAT-STABLE/x": "pass"}
    made = dict(pages(read_results(write_kept(tmp_path, kept("a:1", cases)))))["targets/a-1.html"]
    assert re.findall(r'class="count">([^<]*)<', made).count("n/a") == 1


def test_each_protocol_has_its_pages_and_a_switch_leads_to_the_same_page(tmp_path: Path) -> None:
    here = {"CG-JOIN-RETURN/restart": "pass"}
    write_kept(tmp_path / "one", kept("kafka:4.3.0", CASES))
    write_kept(tmp_path / "other", kept("kafka:4.3.0", here, revision="consumer-4.3"))
    write_site([tmp_path / "one", tmp_path / "other"], tmp_path / "site")
    assert dead_ends(tmp_path / "site") == []
    switched = {
        "index.html": "consumer/index.html",
        "rules.html": "consumer/rules.html",
        "targets/kafka-4.3.0.html": "../consumer/index.html",
        "consumer/history.html": "../history.html",
        "consumer/rules/CG-JOIN-RETURN.html": "../../index.html",
    }
    for name, leads_to in switched.items():
        text = (tmp_path / "site" / name).read_text("utf-8")
        (switch,) = re.findall(r'<nav class="switch".*?</nav>', text)
        assert re.findall(r'<a href="([^"]*)">', switch) == [leads_to]
        assert switch.count('aria-current="true"') == 1
    alone = dict(pages(read_results([tmp_path / "other"])))
    assert 'class="switch"' not in alone["index.html"]
    assert "the consumer group protocol" in alone["index.html"]


def test_groups_of_each_kind_have_a_name(tmp_path: Path) -> None:
    for revision in ("mixed-4.4", "streams-4.4"):
        write_kept(tmp_path / revision, kept("kafka:4.4.0", CASES, revision=revision))
    text = dict(pages(read_results([tmp_path / "mixed-4.4", tmp_path / "streams-4.4"])))
    assert "groups with members of both protocols" in text["index.html"]
    assert "streams groups" in text["streams/index.html"]


@pytest.fixture
def page(context_of: ContextOf) -> Iterator[Page]:
    """A page whose errors fail the test."""
    wrong: list[str] = []
    page = context_of(offline=True).new_page()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text))
    yield page
    page.evaluate("localStorage.clear()")
    page.close()
    assert wrong == []


def test_a_cell_leads_to_its_cases_and_a_case_to_its_trace(site: Path, page: Page) -> None:
    page.goto((site / "index.html").as_uri())
    page.get_by_role("link", name=re.compile("some:target, heartbeats: 1 pass, 1 failure")).click()
    expect(page.get_by_role("heading", name="heartbeats")).to_be_in_viewport()
    page.get_by_role("link", name="trace of HEARTBEAT-STABLE/restart-session").click()
    expect(page.locator("article h1").first).to_contain_text("a's Heartbeat v4")


def test_a_rule_has_its_text_its_cases_and_its_history(site: Path, page: Page) -> None:
    page.goto((site / "rules.html").as_uri())
    page.get_by_role("link", name="SESSION-EXPIRED", exact=True).click()
    expect(page.locator(".why")).to_contain_text("then")
    told = page.locator(".findings li").first
    expect(told).to_contain_text("old coordinator: seen in 2.8.0 to 3.3.1, gone by 3.9.1")
    ticket = told.get_by_role("link", name="KAFKA-14009")
    assert ticket.get_attribute("href") == BUG.partition("(")[2].rstrip(")")
    sign = page.get_by_role("link", name=f"known failure: {LATE}")
    sign.first.click()
    expect_place(page, "targets/kafka-2.8.0.html#sessions")


def test_rules_can_be_looked_for_and_the_address_keeps_it(site: Path, page: Page) -> None:
    page.goto((site / "rules.html").as_uri())
    rows = page.locator("tr[data-name]:visible")
    every = rows.count()
    page.get_by_label("Rules", exact=True).fill("leave-")
    expect(rows).to_have_count(1)
    expect(page.locator("#found")).to_have_text(f"showing 1 of {every} rules")
    page.get_by_label("Rules", exact=True).fill("")
    page.get_by_label("only where something fails").check()
    assert 0 < rows.count() < every
    page.goto((site / "rules.html").as_uri() + "?rules=heartbeat-stable")
    expect(rows).to_have_count(1)


def test_any_two_can_be_chosen(site: Path, page: Page) -> None:
    page.goto((site / "compare.html").as_uri())
    page.get_by_label("One").select_option("kfake:1")
    page.get_by_label("Other").select_option("kafka:2.8.0")
    page.locator("#go").click()
    expect(page.locator("h1")).to_have_text("kafka:2.8.0 and kfake:1")
    expect(page.locator("h2").first).to_contain_text("Fails in kafka:2.8.0, passes in kfake:1")


def test_without_scripts_all_of_it_is_there(site: Path, context_of: ContextOf) -> None:
    page = context_of(java_script_enabled=False).new_page()
    page.goto((site / "compare.html").as_uri())
    expect(page.locator("#choose")).to_be_hidden()
    page.get_by_role("link", name="kafka:2.8.0 and kfake:1").first.click()
    expect(page.locator("h1")).to_have_text("kafka:2.8.0 and kfake:1")
    page.get_by_role("link", name="Causes over versions").click()
    expect(page.locator("tbody")).to_contain_text("gone by 3.9.1")


def kinds(site: Path) -> list[Path]:
    """A page of each kind."""
    inner = (next(iter(sorted((site / name).glob("*.html")))) for name in ("rules", "compare"))
    named = ("index", "rules", "history", "compare", "targets/some-target", "targets/kafka-2.8.0")
    return [*(site / f"{name}.html" for name in named), *inner]


@pytest.mark.slow
@pytest.mark.parametrize(("theme", "size"), [("light", SIZES[0]), ("dark", SIZES[1])])
def test_a_screen_reader_stumbles_over_nothing_and_nothing_is_cut_off(
    site: Path, context_of: ContextOf, theme: str, size: tuple[int, int]
) -> None:
    page = context_of(color_scheme=theme).new_page()
    for path in kinds(site):
        page.goto(path.as_uri())
        page.locator("details").evaluate_all("boxes => boxes.forEach(box => { box.open = true; })")
        for width, height in (*SIZES, size):  # the last one is what axe looks at
            page.set_viewport_size({"width": width, "height": height})
            over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert over <= 0, (path.name, width)
        found = Axe().run(page).response["violations"]
        assert [(path.name, f["id"], f["nodes"][0]["html"][:120]) for f in found] == []
