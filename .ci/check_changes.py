"""Check the fragments of the changelog: each is well-formed, and a change of the product has one.

The second needs git and a base branch: of a pull request GITHUB_BASE_REF, else `origin/main` or
`main`.  Where none is there, only the fragments are checked.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("model/", "properties/", "traces/", "conformance/")
NOT_SHIPPED = "traces/corpus/"
LONGEST = 400


def wrong_fragment(name: str, text: str, types: list[str]) -> str | None:
    """Return what is wrong with a fragment."""
    fits = re.fullmatch(r"\+[a-z0-9-]+\.([a-z]+)\.md", name)
    if not fits or fits[1] not in types:
        return f"call it +WORDS.TYPE.md, with a TYPE of {', '.join(types)}"
    if not text.strip().endswith((".", "!", "`")):
        return "end it with a full stop"
    if text.lstrip().startswith(("-", "*", "#")):
        return "write sentences: the release makes a list of them"
    if len(text) > LONGEST:
        return f"shorten it to {LONGEST} characters, and link to a page for the rest"
    return None


def git(root: Path, *words: str) -> list[str] | None:
    """Return the lines that a git command prints, or None if it fails."""
    program = shutil.which("git")
    if program is None:
        return None
    done = subprocess.run(  # noqa: S603 - git, with names of this project
        [program, *words], cwd=root, capture_output=True, text=True, check=False
    )
    return None if done.returncode else done.stdout.splitlines()


def changed_files(root: Path, base: str) -> list[str] | None:
    """Return the files that differ from the base branch, or None without such a branch."""
    names = [f"origin/{base}"] if base else ["origin/main", "main"]
    for name in names:
        if fork := git(root, "merge-base", name, "HEAD"):
            changed = git(root, "diff", "--name-only", fork[0]) or []
            return changed + (git(root, "ls-files", "--others", "--exclude-standard") or [])
    return None


def main(root: Path, base: str) -> list[str]:
    """Return all that is wrong."""
    settings = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["towncrier"]
    types = [kind["directory"] for kind in settings["type"]]
    folder = settings["directory"]
    fragments = {p.name: p for p in sorted((root / folder).iterdir()) if p.name != "README.md"}
    wrong = [
        f"{folder}/{name}: {fault}"
        for name, path in fragments.items()
        if (fault := wrong_fragment(name, path.read_text("utf-8"), types))
    ]
    changed = changed_files(root, base)
    if changed is None:
        return wrong + ([f"no branch origin/{base} here: fetch it"] if base else [])
    product = [n for n in changed if n.startswith(PRODUCT) and not n.startswith(NOT_SHIPPED)]
    has_one = settings["filename"] in changed or any(f"{folder}/{n}" in changed for n in fragments)
    if product and not has_one:
        wrong.append(
            f"this branch changes {product[0]}, and no fragment says so:"
            f" add {folder}/+WORDS.TYPE.md ({folder}/README.md says how)"
        )
    return wrong


if __name__ == "__main__":
    faults = main(Path(*sys.argv[1:2] or [ROOT]), os.environ.get("GITHUB_BASE_REF", ""))
    sys.exit("\n".join(faults) or None)
