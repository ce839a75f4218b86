"""One place says how fencepost is installed: nothing else names it to pip."""

from __future__ import annotations

import re
import subprocess

import pytest
from support.places import ROOT

from fencepost.traces.files.bounded import SOURCE, pip_install

NAMED = re.compile(r"pip install[^\n`]*?['\" ]fencepost(?:\[\w+\])?(?! @|[-\w[])|`fencepost\[\w")
"""What works only once a registry has it."""
GIT = "`pip install 'fencepost[mock] @ git+https://example.org/it.git'`"
TEXTS = ("*.md", "*.py", "*.yml", "*.ini", "*.toml", "Dockerfile")


def says_so(text: str) -> list[str]:
    return NAMED.findall(text)


def test_an_extra_is_installed_from_a_checkout() -> None:
    assert pip_install("prove").startswith(f"pip install '{SOURCE}[prove]'")
    page = (ROOT / "docs" / "install.md").read_text("utf-8")
    assert f"pip install '{SOURCE}[mock]'" in page


@pytest.mark.skipif(SOURCE == "fencepost", reason="a registry has it")
def test_nothing_names_what_no_registry_has() -> None:
    told = subprocess.run(
        ["git", "ls-files", "-z", "--", *TEXTS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    paths = [ROOT / name for name in told.stdout.split("\0") if name and "tests/" not in name]
    assert [path for path in paths if path.is_file() and says_so(path.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    "text", ["pip install fencepost\n", "pip install 'fencepost[mock]'", "extra `fencepost[mock]`"]
)
def test_a_name_is_seen(text: str) -> None:
    assert says_so(text)


@pytest.mark.parametrize(
    "text",
    ["pip install '.[mock]'", "pip install dist/fencepost-0.1.0.whl", "a `fencepost` run", GIT],
)
def test_what_works_is_not(text: str) -> None:
    assert not says_so(text)
