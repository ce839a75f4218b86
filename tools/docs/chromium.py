"""Find and start the system's Chromium, for pictures of pages and for tests of them."""

from __future__ import annotations

import os
import shutil

from playwright.sync_api import Browser, Playwright

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""Names of the program, best first: the shell, the same engine without windows, costs a third."""
REMEDY = "install Chromium, for example by `apt-get install chromium-headless-shell`"


def find_chromium() -> str | None:
    """Return the path of Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def launch(driver: Playwright, path: str) -> Browser:
    """Start Chromium."""
    sandbox = [] if os.geteuid() else ["--no-sandbox"]  # Chromium has none for root
    return driver.chromium.launch(executable_path=path, args=sandbox)
