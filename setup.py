"""The packages, read from the folders: a floor `model/` is installed as `fencepost.model`.

setuptools can map a folder to a package, but its finders can't put a name before what they find.
Everything else about the project stands in pyproject.toml.
"""

from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).resolve().parent
FLOORS = ("model", "properties", "traces", "conformance")


def packages() -> list[str]:
    """Each floor, and each folder below it that holds a module or a package with one."""
    return sorted(
        ".".join(("fencepost", *folder.relative_to(ROOT).parts))
        for floor in FLOORS
        for folder in (ROOT / floor, *(ROOT / floor).rglob("*/"))
        if folder.name != "__pycache__" and any(folder.rglob("*.py"))
    )


setup(packages=packages(), package_dir={f"fencepost.{floor}": floor for floor in FLOORS})
