"""No text that users see has a banned word or pattern: `support/banned_words.py` has the list.

A page of documentation is checked once it is in `PAGES_DONE`, which only grows.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from support.banned_words import wrong_patterns
from support.user_text import (
    Text,
    help_text,
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
    texts = list(product_text())
    assert len(texts) > 5_000
    assert_plain(texts)


def test_pages_of_reports_are_plain() -> None:
    texts = list(template_text())
    assert len(texts) > 200
    assert_plain(texts)


def test_descriptions_of_schemas_are_plain() -> None:
    assert_plain(schema_text())
