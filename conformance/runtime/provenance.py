"""The versions of everything that a verdict depends on."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version


def own_version() -> str:
    """This package's version."""
    return _version_of("fencepost")


def all_versions() -> dict[str, str]:
    """This package, Python, and the packages that speak to targets; those that are installed."""
    names = ("fencepost", "kafka-python", "jsonschema", "confluent-kafka")
    found = {name: _version_of(name) for name in names}
    return {"python": platform.python_version(), **{n: v for n, v in found.items() if v != "none"}}


def _version_of(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"
