"""The changelog is made of fragments: each is well-formed, and a change of the product has one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.places import ROOT

CHECK = ROOT / ".ci" / "check_changes.py"
GOOD = "changes/+jobs.added.md"


def check(root: Path, **variables: str) -> str:
    """Run the check in a checkout; return its complaints."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GITHUB_")}
    done = subprocess.run(
        [sys.executable, CHECK, root],
        env=environment | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert bool(done.returncode) is bool(done.stderr)
    return done.stderr


def git(root: Path, *words: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *who, *words], cwd=root, capture_output=True, check=True)


def write(root: Path, name: str, text: str = "A sentence.\n") -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text, encoding="utf-8")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with this project's settings and no fragment."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    write(tmp_path, "changes/README.md", "How.\n")
    return tmp_path


@pytest.fixture
def branch(root: Path) -> Path:
    """A checkout of a branch of main, without a change yet."""
    write(root, "model/rule.py", "a = 1\n")
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "all")
    git(root, "switch", "--quiet", "--create", "work")
    return root


def test_the_fragments_of_this_checkout_are_well_formed() -> None:
    named = [line for line in check(ROOT).splitlines() if line.startswith("changes/")]
    assert named == []


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("+jobs.added.md", "`certify` takes `--jobs`.\n", ""),
        ("jobs.added.md", "A sentence.\n", "call it +WORDS.TYPE.md"),
        ("+jobs.feature.md", "A sentence.\n", "a TYPE of added, changed"),
        ("+jobs.fixed.txt", "A sentence.\n", "call it +WORDS.TYPE.md"),
        ("+jobs.fixed.md", "\n", "full stop"),
        ("+jobs.fixed.md", "- A sentence.\n", "makes a list of them"),
        ("+jobs.fixed.md", "A sentence. " * 50, "shorten it to 400"),
    ],
)
def test_a_fragment_that_is_malformed_is_named(root: Path, name: str, text: str, said: str) -> None:
    write(root, f"changes/{name}", text)
    found = check(root)
    assert said in found
    assert found.startswith(f"changes/{name}: " if said else "")
    assert bool(found) is bool(said)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (["model/rule.py"], "changes model/rule.py, and no fragment"),
        (["model/new.py"], "changes model/new.py, and no fragment"),
        (["model/rule.py", GOOD], ""),
        (["model/rule.py", "CHANGELOG.md"], ""),
        (["docs/a.md", "traces/corpus/a.json"], ""),
        ([], ""),
    ],
)
@pytest.mark.parametrize("committed", [True, False])
def test_a_change_of_the_product_has_a_fragment(
    branch: Path, files: list[str], said: str, committed: bool
) -> None:
    for name in files:
        write(branch, name)
    if committed and files:
        git(branch, "add", "--all")
        git(branch, "commit", "--quiet", "--message", "more")
    found = check(branch)
    assert said in found
    assert bool(found) is bool(said)


def test_a_fragment_that_the_base_has_does_not_count(branch: Path) -> None:
    git(branch, "switch", "--quiet", "main")
    write(branch, GOOD)
    git(branch, "add", "--all")
    git(branch, "commit", "--quiet", "--message", "more")
    git(branch, "switch", "--quiet", "--create", "later")
    write(branch, "model/rule.py")
    assert "no fragment says so" in check(branch)


def test_the_base_of_a_pull_request_is_the_one_that_is_compared(branch: Path) -> None:
    write(branch, "model/rule.py")
    assert "no branch origin/release here: fetch it" in check(branch, GITHUB_BASE_REF="release")
    git(branch, "update-ref", "refs/remotes/origin/release", "main")
    assert "no fragment says so" in check(branch, GITHUB_BASE_REF="release")
