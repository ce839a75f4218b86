"""Pages in a real browser (`tests/support/chromium.py`), opened from a disk and watched."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page
from support.page.open import Open


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens the text of a page from a disk; whatever goes wrong in it fails the test."""
    contexts: list[BrowserContext] = []
    wrong: list[str] = []

    def asked(for_what: str, page: str) -> None:
        if re.split("[?#]", for_what)[0] != page and not for_what.startswith("data:"):
            wrong.append(f"asks for {for_what}")

    def opened(
        text: str,
        place: str = "",
        *,
        theme: str = "light",
        scripts: bool = True,
        quiet: bool = True,
        width: int = 1400,
    ) -> Page:
        path = tmp_path / f"page-{len(contexts)}.html"
        path.write_text(text, encoding="utf-8", newline="\n")
        context = browser.new_context(
            color_scheme="dark" if theme == "dark" else "light",
            java_script_enabled=scripts,
            viewport={"width": width, "height": 1000},
        )
        contexts.append(context)
        page = context.new_page()
        url = path.as_uri()
        if quiet:
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.on("console", lambda said: wrong.append(said.text))
            context.on("request", lambda request: asked(request.url, url))
        page.goto(url + place)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []
