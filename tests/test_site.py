"""The documentation as a site: it builds without a warning, and asks nobody else for anything."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Request, expect
from support.chromium import ContextOf

ROOT = Path(__file__).resolve().parent.parent
VENDORED = ROOT / "theme" / "assets" / "vendored"
SECONDS = 300
# A diagram lies in a closed shadow root, where no test could see it.
OPEN_SHADOWS = """
const attach = Element.prototype.attachShadow;
Element.prototype.attachShadow = function (how) {
  return attach.call(this, {...how, mode: "open"});
};
"""
# What a browser fetches by itself; a link that is followed by hand (`a`) is none of it.
FETCHED = {
    "audio": "src",
    "embed": "src",
    "iframe": "src",
    "image": "href",
    "img": "src",
    "link": "href",
    "object": "data",
    "script": "src",
    "source": "src",
    "use": "href",
    "video": "src",
}
NOT_FETCHED = {"canonical", "next", "prev"}
ELSEWHERE = re.compile(r"\s*(?:https?:)?//", re.IGNORECASE)
IN_STYLES = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')\s]+)", re.IGNORECASE)


def build(config: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", config, "-d", folder],
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = build(ROOT / "mkdocs.yml", folder)
    assert built.returncode == 0, built.stdout
    return folder


class Fetches(HTMLParser):
    """Collects what a page has a browser fetch from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "link" and NOT_FETCHED & set(given.get("rel", "").split()):
            return
        places = [given.get(FETCHED.get(tag, ""), ""), *given.get("srcset", "").split(",")]
        self.found += [f"<{tag}> {place}" for place in places if ELSEWHERE.match(place)]
        self.found += IN_STYLES.findall(given.get("style", ""))


def fetched_elsewhere(text: str) -> list[str]:
    parser = Fetches()
    parser.feed(text)
    styles = re.findall(r"<style\b[^>]*>(.*?)</style>", text, re.DOTALL)
    return parser.found + [place for style in styles for place in IN_STYLES.findall(style)]


@pytest.mark.slow
def test_no_page_fetches_anything_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert site / "brokers" / "tutorial.html" in pages
    assert {
        page.name: found for page in pages if (found := fetched_elsewhere(page.read_text("utf-8")))
    } == {}
    styles = sorted(site.rglob("*.css"))
    assert styles
    assert [found for css in styles for found in IN_STYLES.findall(css.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example/x.js"></script>',
        '<link rel="stylesheet" href="//fonts.example/css">',
        '<link rel="preconnect" href="https://fonts.example" crossorigin>',
        '<img src="http://example.org/a.png">',
        '<img src="a.png" srcset="a.png 1x, https://example.org/b.png 2x">',
        '<p style="background: url(https://example.org/a.png)">',
        '<style>@import "https://fonts.example/css";</style>',
        "<style>a { src: url('//fonts.example/a.woff2') }</style>",
        '<svg><use href="https://example.org/a.svg#b"></use></svg>',
    ],
)
def test_a_page_that_fetches_is_caught(text: str) -> None:
    assert len(fetched_elsewhere(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        '<a href="https://example.org">a link</a>',
        '<link rel="canonical" href="https://example.org/">',
        '<script src="../assets/x.js"></script>',
        "<img src=\"data:image/svg+xml;utf8,<svg xmlns='http://www.w3.org/2000/svg'/>\">",
        "<code>https://example.org</code>",
    ],
)
def test_a_link_is_no_fetch(text: str) -> None:
    assert fetched_elsewhere(text) == []


@pytest.mark.slow
def test_every_fenced_block_is_a_block(site: Path) -> None:
    for page in site.rglob("*.html"):
        code = re.sub(r"<code>.*?</code>", "", page.read_text("utf-8"), flags=re.DOTALL)
        assert "```" not in code, page.name
    assert (
        "fencepost"
        in (site / "brokers" / "serve.html").read_text("utf-8").partition("language-sh")[2]
    )


def small_site(folder: Path, **pages: str) -> subprocess.CompletedProcess[str]:
    """A site of these pages, of which only the index is found, built as ours is."""
    docs = folder / "docs"
    docs.mkdir()
    for name, text in pages.items():
        (docs / f"{name}.md").write_text(text)
    config = folder / "mkdocs.yml"
    config.write_text(
        f"INHERIT: {ROOT / 'mkdocs.yml'}\n"
        f"docs_dir: {docs}\n"
        "hooks: []\n"
        f"theme:\n  custom_dir: {ROOT / 'theme'}\n"
        "nav:\n  - index.md\n"
    )
    return build(config, folder / "site")


def test_a_site_that_leads_everywhere_builds(tmp_path: Path) -> None:
    built = small_site(tmp_path, index="# One\n\n[here](#one)\n")
    assert built.returncode == 0, built.stdout


def test_each_dead_end_fails_the_build(tmp_path: Path) -> None:
    targets = ("two.md", "#two", "../../README.md", "/index.md")
    links = "".join(f"[there]({target})\n\n" for target in targets)
    built = small_site(tmp_path, index=f"# One\n\n{links}")
    assert built.returncode != 0
    warnings = [line for line in built.stdout.splitlines() if line.startswith("WARNING")]
    assert [sum(f"'{target}'" in line for line in warnings) for target in targets] == [1] * 4
    assert f"Aborted with {len(targets)} warnings in strict mode" in built.stdout


def test_a_page_that_nobody_finds_fails_the_build(tmp_path: Path) -> None:
    built = small_site(tmp_path, index="# One\n", lost="# Lost\n")
    assert built.returncode != 0
    assert "lost.md" in built.stdout


def test_vendored_scripts_are_those_that_are_named() -> None:
    notes = (VENDORED / "README.md").read_text("utf-8")
    lines = re.findall(r"^([0-9a-f]{64})  (.+)$", notes, re.MULTILINE)
    named = {name: digest for digest, name in lines}
    scripts = {str(path.relative_to(VENDORED)): path for path in VENDORED.rglob("*.js")}
    assert named == {
        name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in scripts.items()
    }
    assert all((path.parent / "LICENSE").is_file() for path in scripts.values())


@pytest.fixture(params=["light", "dark"])
def page(context_of: ContextOf, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page of a browser without a network; what it misses, or is told of errors, fails."""
    wrong: list[str] = []

    def asked(request: Request) -> None:
        if not request.url.startswith(("file:", "data:", "blob:")):
            wrong.append(f"asks for {request.url}")

    context = context_of(color_scheme=request.param, offline=True)
    context.on("request", asked)  # a worker's, too
    page = context.new_page()
    page.add_init_script(OPEN_SHADOWS)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text))
    yield page
    page.evaluate("localStorage.clear()")
    page.close()
    context.remove_listener("request", asked)
    assert wrong == []


in_one_theme = pytest.mark.parametrize("page", ["light"], indirect=True)
"""What no colour changes."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "diagrams", "said"),
    [
        ("states.html", 1, "CompletingRebalance"),
        ("contributors/architecture.html", 2, "the oracle"),
    ],
)
def test_diagrams_are_drawn_without_a_network(
    site: Path, page: Page, name: str, diagrams: int, said: str
) -> None:
    page.goto((site / name).as_uri())
    drawn = page.locator(".mermaid svg")
    expect(drawn).to_have_count(diagrams)
    expect(drawn.filter(has_text=said).first).to_be_visible()
    for number in range(diagrams):
        box = drawn.nth(number).bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) > 200
    assert page.locator("pre.mermaid").count() == 0, "its source is not left over"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["brokers/tutorial", "table", "states"])
def test_axe_finds_nothing_serious(site: Path, page: Page, name: str) -> None:
    page.set_viewport_size({"width": 1400, "height": 1000})
    page.goto((site / f"{name}.html").as_uri())
    options = {"preload": False, "resultTypes": ["violations"]}
    found = Axe().run(page, options=options).response["violations"]
    serious = [fault for fault in found if fault["impact"] in {"serious", "critical"}]
    assert [(fault["id"], fault["nodes"][0]["html"]) for fault in serious] == []


TOO_WIDE = """
() => [...document.querySelectorAll(".md-content table")].filter(table => {
  const page = table.closest(".md-content").getBoundingClientRect();
  return table.getBoundingClientRect().right > page.right;
}).length
"""


@pytest.mark.slow
@in_one_theme
@pytest.mark.parametrize("name", ["table", "certificates"])
def test_wide_tables_fit_beside_the_contents_and_on_a_phone(
    site: Path, page: Page, name: str
) -> None:
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto((site / f"{name}.html").as_uri())
        assert page.locator(".md-content table").count() > 0
        assert page.evaluate(TOO_WIDE) == 0, width


@pytest.mark.slow
@in_one_theme
def test_the_search_works_from_disk(site: Path, page: Page) -> None:
    page.goto((site / "index.html").as_uri())
    page.get_by_role("textbox", name="Search").fill("replaced holder fenced")
    expect(page.locator(".md-search-result__item").first).to_be_visible()


@pytest.mark.slow
def test_a_page_without_diagrams_doesnt_load_what_draws_them(site: Path) -> None:
    assert "mermaid" in (site / "states.html").read_text("utf-8")
    assert "mermaid.tiny.js" not in (site / "brokers" / "certify.html").read_text("utf-8")


@pytest.mark.slow
def test_the_results_of_the_certificates_stand_beside_the_pages(site: Path) -> None:
    page = site / "brokers" / "certify.html"
    (link,) = re.findall(r'href="(\.\./results/[^"]+)"', page.read_text("utf-8"))
    heat = (page.parent / link).read_text("utf-8")
    assert "kafka:4.3.0, static joins: " in heat
