"""What holds for the text of the project, whoever wrote it."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FLOORS = ("model", "properties", "traces", "conformance", "tools")
LONGEST = 800
VENDORED = "theme/assets/vendored/"  # scripts of others, unchanged; tests/test_site.py watches them

# Written so that no pattern matches itself.
FORBIDDEN = {
    "a to-do without a reason in brackets": r"\b(?:TOD[O]|FIXM[E])\b(?! ?\([^)]+\))",
    "a path of somebody's machine": r"(?<![\w.<-])/(?:work|root|home|tmp/devpath|tmp/v)/",
    "the address of a package registry": (
        r"pypi[.]org|pythonhosted[.]org|npmjs[.]|crates[.]io|proxy[.]golang[.]org"
        r"|repo1?[.]maven[.]|index[-]url"
    ),
}


def tracked(root: Path) -> list[Path]:
    """The files of the checkout that git knows; of an unpacked archive, all that it holds."""
    git = shutil.which("git")
    if git and (root / ".git").exists():
        names = subprocess.run(
            [git, "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True
        ).stdout
        return [root / name for name in names.split("\0") if name and (root / name).is_file()]
    generated = {".tox", ".venv", "build", "__pycache__"}
    return [
        path
        for path in sorted(root.rglob("*"))
        if path.is_file() and not generated & set(path.relative_to(root).parts)
    ]


def complaints(text: str) -> list[str]:
    """What no file may say, by line."""
    return [
        f"line {number}: {name}: {found.group()}"
        for number, line in enumerate(text.splitlines(), 1)
        for name, pattern in FORBIDDEN.items()
        if (found := re.search(pattern, line))
    ]


def too_long(text: str) -> bool:
    return len(text.splitlines()) > LONGEST


def is_module(path: Path) -> bool:
    return path.suffix == ".py" and path.relative_to(ROOT).parts[0] in FLOORS


def text_of(path: Path) -> str:
    """A file's text; nothing, if it is no text."""
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        return ""


def test_the_files_are_found() -> None:
    assert {ROOT / "pyproject.toml", Path(__file__).resolve()} <= set(tracked(ROOT))


def test_no_file_says_what_it_should_not() -> None:
    found = {
        str(path.relative_to(ROOT)): wrong
        for path in tracked(ROOT)
        if not str(path.relative_to(ROOT)).startswith(VENDORED)
        and (wrong := complaints(text_of(path)))
    }
    assert found == {}


def test_no_module_is_longer_than_a_reader_can_hold() -> None:
    modules = [path for path in tracked(ROOT) if is_module(path)]
    assert modules
    long = [str(path.relative_to(ROOT)) for path in modules if too_long(text_of(path))]
    assert long == [], f"over {LONGEST} lines: split by concept"


def test_every_example_is_described() -> None:
    folder = ROOT / "examples"
    described = (folder / "README.md").read_text("utf-8")
    files = [path.relative_to(folder) for path in tracked(ROOT) if folder in path.parents]
    names = {path.parts[0] for path in files} - {"README.md"}
    names |= {path.name for path in files if path.parent == Path("deployments")}
    assert len(names) > 10
    assert {name for name in names if name not in described} == set()


@pytest.mark.parametrize(
    "line",
    [
        "# TOD" + "O: later",
        "FIXM" + "E",
        "see /wor" + "k/notes.md",
        "cd /tmp/dev" + "path/",
        "https://pypi" + ".org/simple",
        "--index" + "-url http://127.0.0.1",
    ],
)
def test_a_forbidden_line_is_caught(line: str) -> None:
    assert len(complaints(f"fine\n{line}\n")) == 1


@pytest.mark.parametrize(
    "line",
    ["# TOD" + "O (once KIP-848 is modelled): the new protocol", "docs/work/map.md", "from PyPI"],
)
def test_an_allowed_line_is_not(line: str) -> None:
    assert complaints(line) == []


def test_a_long_module_is_caught() -> None:
    assert too_long("\n" * (LONGEST + 1))
    assert not too_long("\n" * LONGEST)


NEEDS = re.compile(r"\bneeds\(([^)]*)\)")


def test_every_tool_that_a_test_needs_has_a_remedy(
    reason_to_skip: Callable[..., str | None],
) -> None:
    """Of the big tests, too, which no ordinary run collects."""
    needed = {
        tool
        for path in (ROOT / "tests").rglob("*.py")
        for words in NEEDS.findall(path.read_text("utf-8"))
        for tool in re.findall(r"\"(\w+)\"", words)
    }
    assert needed >= {"java", "mvn", "npm"}
    for tool in needed:
        assert reason_to_skip(tool, ci=False, found="here") is None


def test_a_tool_that_is_missing_is_named_with_its_remedy(
    reason_to_skip: Callable[..., str | None],
) -> None:
    assert reason_to_skip("node", ci=False, found="/usr/bin/node") is None
    assert "install Node.js" in (reason_to_skip("node", ci=False, found=None) or "")
    assert "never run in CI" in (reason_to_skip("node", ci=True, found="/usr/bin/node") or "")
    with pytest.raises(pytest.UsageError, match="add it to REMEDIES"):
        reason_to_skip("abacus", ci=False, found=None)
