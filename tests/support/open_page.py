"""Pages in a real browser (`tests/support/chromium.py`), opened from a disk and watched."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Page, Request
from support.chromium import ContextOf
from support.page.open import Open

HEIGHT = 1000


@pytest.fixture
def open_page(context_of: ContextOf, tmp_path: Path) -> Iterator[Open]:
    """Opens the text of a page from a disk; whatever goes wrong in it fails the test."""
    opened: list[Page] = []
    wrong: list[str] = []
    ends = ExitStack()

    def watched(page: Page, url: str) -> None:
        def asked(request: Request) -> None:
            for_what = request.url
            if re.split("[?#]", for_what)[0] != url and not for_what.startswith("data:"):
                wrong.append(f"asks for {for_what}")

        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text))
        page.on("request", asked)

    def open_page(
        text: str,
        place: str = "",
        *,
        theme: str = "light",
        scripts: bool = True,
        quiet: bool = True,
        width: int = 1400,
    ) -> Page:
        path = tmp_path / f"page-{len(opened)}.html"
        path.write_text(text, encoding="utf-8", newline="\n")
        context = context_of(
            color_scheme="dark" if theme == "dark" else "light", java_script_enabled=scripts
        )
        page = context.new_page()
        opened.append(page)
        ends.callback(context.clear_permissions)
        ends.callback(page.close)
        if scripts:
            ends.callback(page.evaluate, "localStorage.clear()")
        page.set_viewport_size({"width": width, "height": HEIGHT})
        url = path.as_uri()
        if quiet:
            watched(page, url)
        page.goto(url + place)
        return page

    with ends:
        yield open_page
    assert wrong == []
