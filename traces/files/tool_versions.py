"""The versions of everything that a verdict depends on."""

from __future__ import annotations


def own_version() -> str:
    """This package's version."""
    return _version_of("fencepost")


def all_versions() -> dict[str, str]:
    """This package, Python, and the packages that speak to targets; those that are installed."""
    import platform  # noqa: PLC0415  (certificates alone)

    names = ("fencepost", "kafka-python", "jsonschema", "confluent-kafka")
    found = {name: _version_of(name) for name in names}
    return {"python": platform.python_version(), **{n: v for n, v in found.items() if v != "none"}}


def _version_of(name: str) -> str:
    # Here, since it reads e-mail headers and takes 30 ms to import.
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        return version(name)
    except PackageNotFoundError:
        return "none"
