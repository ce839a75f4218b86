"""The page of revisions says what comparing them finds today."""

from __future__ import annotations

import difflib

from support.places import ROOT

from tools.docs.revisions_page import ABOUT, page

PAGE = ROOT / "docs" / "revisions.md"


def test_the_page_is_what_is_made_now() -> None:
    written = PAGE.read_text("utf-8")
    made = page()
    assert made == written, "\n".join(
        [
            "make it anew: python -m tools.docs.revisions_page docs/revisions.md",
            *difflib.unified_diff(written.splitlines(), made.splitlines(), "written", "made"),
        ]
    )


def test_each_pair_has_its_section() -> None:
    written = PAGE.read_text("utf-8")
    for one, other in ABOUT:
        assert f"\n## {one} → {other}\n" in written
