"""The page about both protocols says what the rules say today."""

from __future__ import annotations

from support.places import ROOT

from tools.docs.protocols_page import SITUATIONS, page


def test_the_page_is_what_is_made_now() -> None:
    written = (ROOT / "docs" / "protocols.md").read_text("utf-8")
    assert page() == written, "make it anew: python -m tools.docs.protocols_page docs/protocols.md"


def test_each_situation_has_the_answer_of_its_rules() -> None:
    rows = [line for line in page().splitlines() if "table.md#" in line and line.startswith("| ")]
    assert len(rows) == len(SITUATIONS)
    (killed,) = (row for row in rows if "is killed" in row)
    assert "UNRELEASED_INSTANCE_ID: [`CG-JOIN-UNRELEASED`]" in killed
