"""The pictures show the pages as they are made today, are small, and are on a page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.places import ROOT

from fencepost.traces.files.bounded import own_version
from tools.docs.pictures import (
    DIGESTS,
    FOLDER,
    MOST_BYTES,
    PICTURES,
    Picture,
    digest,
    furnish,
    page_of,
    read_digests,
)

DOCS = ROOT / "docs"
REMEDY = "take it anew: python -m tools.docs.pictures docs"


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_a_picture_shows_the_page_of_today(picture: Picture, tmp_path: Path) -> None:
    furnish(tmp_path, ROOT)
    made = digest(page_of(picture, tmp_path))
    assert made == read_digests(DOCS)[picture.name], f"{REMEDY} {picture.name}"


def test_any_change_of_a_page_makes_its_picture_old() -> None:
    page = "<style>p { color: red }</style><p>1 step"
    assert digest(page) == digest(page)
    assert digest(page) != digest(page.replace("1 step", "2 steps"))
    assert digest(page) != digest(page.replace("red", "blue"))


def test_a_release_makes_no_picture_old() -> None:
    assert digest(f"fencepost {own_version()}") == digest("fencepost VERSION")


def test_each_picture_is_there_and_small() -> None:
    sizes = {path.stem: path.stat().st_size for path in (DOCS / FOLDER).glob("*.webp")}
    assert (
        sorted(sizes) == sorted(picture.name for picture in PICTURES) == sorted(read_digests(DOCS))
    )
    assert [name for name, size in sizes.items() if size > MOST_BYTES] == []
    assert (DOCS / FOLDER / DIGESTS).is_file()


def test_each_picture_is_on_a_page_with_a_text_that_describes_it() -> None:
    texts = [path.read_text("utf-8") for path in (ROOT / "README.md", *DOCS.rglob("*.md"))]
    file = r"[\w./-]*/pictures/([\w-]+)\.webp"
    shown = [
        (words, name)
        for text in texts
        for words, *names in (
            *re.findall(rf"!\[([^\]]*)\]\({file}\)", text),
            # With another file for narrow screens.
            *(
                (alt, one, two)
                for one, alt, two in re.findall(
                    rf'<source [^>]*srcset="{file}"><img alt="([^"]*)" src="{file}">', text
                )
            ),
        )
        for name in names
    ]
    assert {name for _, name in shown} == {picture.name for picture in PICTURES}
    assert [name for words, name in shown if len(words.split()) < 5] == []


def test_a_command_that_fails_is_reported(tmp_path: Path) -> None:
    wrong = Picture("wrong", ("view none.json -o page.html",), "page.html", "body")
    with pytest.raises(RuntimeError, match="view none"):
        page_of(wrong, tmp_path)
