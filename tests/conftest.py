"""What all tests share: tools that a machine may lack, Hypothesis's profile, what is being tested.

A test that needs more than Python and a package registry says so, `@pytest.mark.needs("node")`,
and is skipped by name where the tool is missing: never silently, and never run in CI.
"""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from support.scheduling import Scheduling, rank

import fencepost.model.messages.errors

REMEDIES = {
    "docker": "install Docker and start its daemon",
    "go": "install Go 1.22 or later",
    "java": "install a Java runtime, 17 or later",
    "javac": "install a JDK, 17 or later",
    "mvn": "install Maven",
    "node": "install Node.js 18 or later",
    "npm": "install npm, which comes with Node.js",
}

pytest_plugins = ["support.chromium", "support.open_page"]  # a real browser, pages in it

# It kept this process from importing out of the current folder; the programs that tests start lie
# beside what they import.
os.environ.pop("PYTHONSAFEPATH", None)

# What a test replaces in this process must not be kept for the next check.
os.environ["FENCEPOST_NO_CACHE"] = "1"

# Models are many small immutable objects: looking for garbage less often saves an eighth.
gc.set_threshold(50_000, 20, 50)

# Derandomised, so that a red run is red again; HYPOTHESIS_PROFILE=nightly searches freely.
# Nothing is timed: a slow machine is no failure.
# The nightly profile is no child of Hypothesis's own for CI, which wouldn't search there.
hypothesis.settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
hypothesis.settings.register_profile(
    "nightly",
    parent=hypothesis.settings.get_profile("default"),
    deadline=None,
    max_examples=2_000,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def why_not(tool: str, *, ci: bool, found: str | None) -> str | None:
    """Why a test that needs `tool` can't run here, or None if it can."""
    if tool not in REMEDIES:
        known = ", ".join(sorted(REMEDIES))
        message = f"needs({tool!r}): known are {known}; add it to REMEDIES in tests/conftest.py"
        raise pytest.UsageError(message)
    if ci:
        return f"needs {tool}: never run in CI, where only Python and a registry are expected"
    if found is None:
        return f"needs {tool}, which is not on the PATH: {REMEDIES[tool]}"
    return None


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() in {"1", "true", "yes"}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling | None:
    return Scheduling(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: rank(item.nodeid))
    for item in items:
        for mark in item.iter_markers("needs"):
            for tool in mark.args:
                reason = why_not(tool, ci=in_ci(), found=shutil.which(tool))
                if reason is not None:
                    item.add_marker(pytest.mark.skip(reason=reason))


def pytest_report_header() -> str:
    return f"fencepost: {Path(fencepost.model.messages.errors.__file__).parents[2]}"


def pytest_sessionstart() -> None:
    """Under tox the tests must see the wheel, or they would prove nothing about it."""
    loaded = Path(fencepost.model.messages.errors.__file__).resolve()
    if os.environ.get("FENCEPOST_TESTS_NEED_WHEEL") and "site-packages" not in loaded.parts:
        pytest.exit(f"expected the installed wheel, but {loaded} was imported", returncode=4)


@pytest.fixture(scope="session")
def reason_to_skip() -> Callable[..., str | None]:
    """`why_not`, for the test of it: a conftest can't be imported."""
    return why_not
