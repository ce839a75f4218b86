"""The documentation stays short: words written by hand, pages of the navigation, the README."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MOST_WORDS = 25_000
MOST_PAGES = 40
MOST_README_LINES = 80
NAMES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/**/*.md")
FENCE = re.compile(r"^( *)```.*?^\1```", re.DOTALL | re.MULTILINE)
WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
# A page that a tool makes, and a part of a page, from its first mark to its last one.
MADE = re.compile(r"<!-- Made by `[^>]*don't edit\. -->")
# The table of CONTRIBUTING.md, in which one looks up a row.
ROWS = re.compile(r"^\| (?:to add …|a[n]? |words of|the level|what one).*$", re.MULTILINE)
PART = re.compile(r"<!-- [^>]*[Mm]ade by `.*?<!-- [^>]*[Ee]nd of[^>]*-->", re.DOTALL)


def words_by_hand(text: str) -> int:
    """Count the words outside of code blocks and of what a tool makes."""
    if MADE.search(text):
        return 0
    return len(WORD.findall(ROWS.sub("", PART.sub("", FENCE.sub("", text)))))


def navigation(config: str) -> list[str]:
    """The pages that the navigation of `mkdocs.yml` names."""
    return re.findall(r"([\w/-]+\.md)$", config.partition("\nnav:\n")[2], re.MULTILINE)


def test_the_words_by_hand_are_few() -> None:
    pages = {path: words_by_hand(path.read_text("utf-8")) for n in NAMES for path in ROOT.glob(n)}
    longest = sorted(pages.items(), key=lambda page: -page[1])[:10]
    listed = ", ".join(f"{path.relative_to(ROOT)}: {count}" for path, count in longest)
    assert sum(pages.values()) <= MOST_WORDS, (
        "make pages shorter, or put facts into --help, which the reference shows; "
        f"the longest are {listed}"
    )


def test_the_navigation_is_short() -> None:
    pages = navigation((ROOT / "mkdocs.yml").read_text("utf-8"))
    assert 30 < len(pages) == len(set(pages)) <= MOST_PAGES
    assert [page for page in pages if not (ROOT / "docs" / page).is_file()] == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= MOST_README_LINES


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# A page\n\nIt doesn't say `much`, in 4 lines.\n", 8),
        ("One\n\n```console\n$ fencepost certify mock\n```\n\ntwo\n", 2),
        (
            "One\n\n<!-- x: made by `python -m x` -->\n\na b c\n\n<!-- end of x -->\n\ntwo\n",
            2,
        ),
        ("One\n<!-- Made by `python -m x a.md`. -->\na b\n<!-- The end of what is made. -->\n", 1),
        ("# One\n\n<!-- Made by `python -m x docs`; don't edit. -->\n\na b c\n", 0),
        ("A trace that was made by `certify` and a second one.\n", 11),
    ],
)
def test_words_in_code_and_of_tools_are_not_counted(text: str, words: int) -> None:
    assert words_by_hand(text) == words
