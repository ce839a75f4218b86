"""The pytest form, run as its author would: in a module of its own, against a broker on a port."""

from __future__ import annotations

import asyncio
import os
import unittest
from collections.abc import Callable
from typing import Any

from fencepost.conformance.serve.broker import ModelBroker
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.forms.pytest_form import to_pytest

PASSED, SKIPPED = "passed", "skipped"


def run_pasted(trace: TraceFile, revision: str, seed: int = 0) -> str:
    """`passed`, `skipped` or what the test says, against a revision that is served."""
    return asyncio.run(_served(_function(trace), trace, revision, seed))


async def _served(test: Callable[[], None], trace: TraceFile, revision: str, seed: int) -> str:
    topics = {"t": 4}
    async with ModelBroker(
        find_revision(revision), trace.config, seed=seed, topics=topics
    ) as broker:
        os.environ["BROKER"] = str(broker.address)
        try:
            return await asyncio.to_thread(_said, test)
        finally:
            del os.environ["BROKER"]


def _said(test: Callable[[], None]) -> str:
    try:
        test()
    except unittest.SkipTest:
        return SKIPPED
    except Exception as error:  # noqa: BLE001  (whatever it is, a test has failed by it)
        return f"{type(error).__name__}: {error}"
    return PASSED


def _function(trace: TraceFile) -> Callable[[], None]:
    module: dict[str, Any] = {"__name__": "pasted"}
    exec(compile(to_pytest(trace), "pasted.py", "exec"), module)
    (test,) = (value for name, value in module.items() if name.startswith("test_"))
    found: Callable[[], None] = test
    return found
