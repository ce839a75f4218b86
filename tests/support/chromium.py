"""A real browser for tests: the system's Chromium, driven by Playwright.

Missing, it is a reason to skip, by name and with the remedy; in CI it is a failure, since `.ci/run`
installs it.  A module that asks for it has one of its own: as long as Playwright runs, so does its
event loop, and no test with an event loop could run in another module.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from tools.docs.chromium import REMEDY, find_chromium, launch

PATIENCE_MS = 30_000  # a busy machine is no failure

ContextOf = Callable[..., BrowserContext]
"""The fixture `context_of`: gives a context with the options of `Browser.new_context`."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = find_chromium()
    if path is None:
        if os.environ.get("CI", "").lower() in {"1", "true", "yes"}:
            pytest.fail(f"no Chromium: {REMEDY}; .ci/run does it")
        pytest.skip(f"needs chromium, which is not on the PATH: {REMEDY}")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as driver:
        chromium = launch(driver, path)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def context_of(browser: Browser) -> Iterator[ContextOf]:
    """One context for each choice of options: a new one costs more than two pages in an old one.

    Who has a page of it closes that, and leaves nothing in its storage.
    """
    made: dict[tuple[tuple[str, Any], ...], BrowserContext] = {}

    def context(**options: Any) -> BrowserContext:
        chosen = tuple(sorted(options.items()))
        if chosen not in made:
            made[chosen] = browser.new_context(**options)
        return made[chosen]

    yield context
    for one in made.values():
        one.close()
