"""The page of obligations says what the table and the scenarios say today."""

from __future__ import annotations

from pathlib import Path

from support.places import ROOT

from fencepost.properties.requirements.requirements import REQUIREMENTS
from tools.docs.obligations_page import FILE, main, obligations_page


def test_the_page_is_what_is_made_now(tmp_path: Path) -> None:
    main(tmp_path)
    assert (tmp_path / FILE).read_text("utf-8") == (ROOT / "docs" / FILE).read_text("utf-8"), (
        "make it anew: python -m tools.docs.obligations_page docs"
    )


def test_a_level_that_may_be_disputed_is_explained() -> None:
    assert "*Why SHOULD*: Each request with the old member id is refused" in obligations_page()


def test_each_obligation_has_its_row() -> None:
    page = obligations_page()
    for one in REQUIREMENTS.values():
        assert f"### {one.id}\n\n**{one.level.value}.** " in page
