"""What opens a page in a real browser."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page

Open = Callable[..., Page]
"""The fixture `open_page` of tests/traces/page/conftest.py."""
