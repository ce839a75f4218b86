"""A real browser for tests: the system's Chromium, driven by Playwright.

Missing, it is a reason to skip, by name and with the remedy; in CI it is a failure, since `.ci/run`
installs it.  A module that asks for it has one of its own: as long as Playwright runs, so does its
event loop, and no test with an event loop could run in another module.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
REMEDY = "install Chromium, for example by `apt-get install chromium`"

PATIENCE_MS = 30_000  # a busy machine is no failure


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        if os.environ.get("CI", "").lower() in {"1", "true", "yes"}:
            pytest.fail(f"no Chromium: {REMEDY}; .ci/run does it")
        pytest.skip(f"needs chromium, which is not on the PATH: {REMEDY}")
    sandbox = [] if os.geteuid() else ["--no-sandbox"]  # Chromium has none for root
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=found, args=sandbox)
        yield chromium
        chromium.close()
