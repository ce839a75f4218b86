"""How long a page takes to open in Chromium and to step; prints figures, asserts nothing of time.

Run by `pytest -s tests/traces/pages/big_open.py`.
"""

from __future__ import annotations

import json
import time

import pytest
from support.page.long import long_trace
from support.page.open import Open
from support.page.pages import finding_page

from fencepost.traces.pages.trace_page import PageTrace, trace_page

_STEPS = 20


@pytest.mark.parametrize("kind", ["3 steps", "10,000 steps"])
def test_open_and_step(open_page: Open, kind: str) -> None:
    began = time.perf_counter()
    if kind == "3 steps":
        text = finding_page("full-group")
    else:
        text = trace_page([PageTrace(long_trace(10_000), "long", "long.json")])
    ready = time.perf_counter()
    open_page("<!doctype html><title>the browser itself is up</title>")
    made = time.perf_counter()
    page = open_page(text)
    page.locator(".lanes svg rect").first.wait_for()
    opened = time.perf_counter()
    page.keyboard.press("Home")
    first = time.perf_counter()
    for _ in range(_STEPS):
        page.keyboard.press("ArrowRight")
    stepped = time.perf_counter()
    figures = {
        "page": kind,
        "bytes": len(text.encode()),
        "made_s": round(ready - began, 2),
        "opened_s": round(opened - made, 2),
        "step_s": round((stepped - first) / _STEPS, 3),
    }
    print(json.dumps(figures))  # noqa: T201  (what it is for)
    assert page.locator(".steps li").count() > 0
