"""What opens a page in a real browser, and waits for it."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

Open = Callable[..., Page]
"""The fixture `open_page` of tests/traces/conftest.py."""


def expect_place(page: Page, end: str) -> None:
    """Wait until the address of a page ends so: a click returns before it is gone to."""
    expect(page).to_have_url(re.compile(re.escape(end) + "$"))
