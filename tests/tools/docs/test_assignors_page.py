from __future__ import annotations

import json
from pathlib import Path

from tools.assignors.assignor_figures import Parity
from tools.docs.assignors_page import FIGURES, PAGE, PICTURE, SPEED, gap_plot, main, page

DOCS = Path(__file__).parents[3] / "docs"
AGAIN = "make it anew: python -m tools.docs.assignors_page docs"


def test_the_page_and_its_picture_are_those_of_the_figures(tmp_path: Path) -> None:
    (tmp_path / "clients").mkdir()
    for name in (FIGURES, SPEED):
        (tmp_path / name).write_text((DOCS / name).read_text("utf-8"), "utf-8")
    main(tmp_path)
    for name in (PAGE, PICTURE):
        assert (tmp_path / name).read_bytes() == (DOCS / name).read_bytes(), AGAIN


def test_each_disagreement_is_explained() -> None:
    figures = json.loads((DOCS / FIGURES).read_text("utf-8"))
    found = {name for row in figures["parity"] for name in row["found"]}
    assert Parity.DIFFERENT.value not in found
    text = page(figures, json.loads((DOCS / SPEED).read_text("utf-8")))
    plain = {Parity.EQUAL.value, Parity.ONE_OF_SEVERAL.value, Parity.AS_GOOD.value}
    for name in found - plain:
        assert f"- **{name}.**" in text
    assert gap_plot(figures["quality"]).count("<rect") > len(figures["quality"])
