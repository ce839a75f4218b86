"""No text that users see has a banned word or pattern: `support/banned_words.py` has the list."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from support.banned_words import wrong_patterns
from support.user_text import (
    ROOT,
    Text,
    help_text,
    page_text,
    product_text,
    schema_text,
    template_text,
)

from fencepost.conformance.cli.cli import fencepost

PUBLISHED = {
    "can't tell whether covered": "a value in the JSON of `check`",
    "is not told": "a part of what lists of known failures name",
    "is told of something else": "a part of what lists of known failures name",
}
"""Texts that stay, each with the reason."""

QUOTES = {
    "docs/certificates.md": "quotes the reasons of known failures",
    "docs/clients/results.md": "quotes the reasons of known failures",
}
"""Pages that quote texts that stay, each with the reason."""

PAGES = [
    page
    for page in (
        *sorted((ROOT / "docs").rglob("*.md")),
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
    )
    if str(page.relative_to(ROOT)) not in QUOTES
]


@cache
def texts_of_code() -> tuple[Text, ...]:
    return tuple(product_text())


@cache
def wrong_in(place: str, text: str) -> tuple[str, ...]:
    """Return what is banned in a text, a line each."""
    return tuple(f"{place}: {words}" for words in wrong_patterns(text) if text not in PUBLISHED)


def assert_plain(texts: Iterable[Text]) -> None:
    wrong = [line for place, text in texts for line in wrong_in(place, text)]
    assert not wrong, f"{len(wrong)} texts:\n" + "\n".join(wrong)


def test_help_is_plain() -> None:
    texts = list(help_text(fencepost, "fencepost"))
    assert len(texts) > 300
    assert_plain(texts)


def test_messages_and_sentences_are_plain() -> None:
    texts = texts_of_code()
    assert len(texts) > 5_000
    assert_plain(texts)


def test_pages_of_reports_are_plain() -> None:
    texts = list(template_text())
    assert len(texts) > 200
    assert_plain(texts)


def test_descriptions_of_schemas_are_plain() -> None:
    assert_plain(schema_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_is_plain(page: Path) -> None:
    assert_plain(page_text(page))


@pytest.mark.parametrize(
    ("text", "words", "better"),
    [
        ("What waits for its answer.", "What waits for its answer.", "noun"),
        ("What the files are is found out by their first lines.", "found out", "detect"),
        ("So many are run, one bounce, but a dear one.", "dear", "expensive"),
        ("The rollout stopped.", "rollout", "deployment"),
        ("It takes one bounce.", "bounce", "deployment"),
        ("Wait so\nlong.", "so long", "number"),
        ("What is violated is told only twice.", "told", "reported"),
        ("It hangs on the clock.", "hangs on", "depends"),
        ("This is put down to the network.", "put down to", "attributed"),
        ("They lead by turns.", "by turns", "alternately"),
        ("Beside it there are two.", "Beside it", "also"),
        ("The JSON tells all.", "tells", "has"),
        ("Put it as said above.", "said", "noun"),
        ("A revision of one's own.", "of one's own", "your own"),
        ("No property speaks of it.", "speaks of", "is about"),
        ("No lying client.", "lying", "plain"),
        ("Each answer is held to the table.", "held to", "checked"),
    ],
)
def test_a_banned_pattern_is_reported_with_a_better_one(text: str, words: str, better: str) -> None:
    reports = [report for report in wrong_patterns(text) if report.startswith(repr(words))]
    assert len(reports) == 1
    assert better in reports[0].partition(": write ")[2]


@pytest.mark.parametrize(
    "text",
    [
        "What does it print?",
        'simulate rolling-bounce; KIP-345, Rolling Bounce; a step `do = "bounce"`',
        "It goes on as long as the log grows.",
        "zombie-is-told: violated",
        "There are so many that none is listed.",
        "The page shows it beside the log.",
        "Settings mending-window-ms.",
    ],
)
def test_other_texts_are_fine(text: str) -> None:
    assert list(wrong_patterns(text)) == []


def test_strings_of_code_are_collected_without_docstrings() -> None:
    texts = {text for _, text in texts_of_code()}
    assert "no violation found" in texts
    assert not any(text.startswith("Return the verdict on one line") for text in texts)
