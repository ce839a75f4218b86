from __future__ import annotations

from xml.etree import ElementTree as ET

from tools.assignors.assignor_figures import GAPS
from tools.docs.assignors_page import gap_plot, percent

NONE = dict.fromkeys(GAPS, 0)
ROWS = [
    {"groups": "A & B", "assignor": "sticky", "by": by, "gaps": {**NONE, **gaps}}
    for by, gaps in (
        ("Java", {"best": 3, "farther": 1}),
        ("fencepost", {"best": 4}),
    )
]
SVG = "{http://www.w3.org/2000/svg}"


def test_bars_are_shares() -> None:
    drawn = ET.fromstring(gap_plot(ROWS))
    bars = [
        (float(rect.attrib["width"]), title.text)
        for rect in drawn.iter(f"{SVG}rect")
        if (title := rect.find(f"{SVG}title")) is not None
    ]
    assert bars == [
        (300, "sticky, Java: best, 3 of 4"),
        (100, "sticky, Java: farther, 1 of 4"),
        (400, "sticky, fencepost: best, 4 of 4"),
    ]
    texts = [text.text for text in drawn.iter(f"{SVG}text")]
    assert texts[:5] == ["A & B", "sticky, Java", "25 %", "sticky, fencepost", "0 %"]
    assert texts[5:] == list(GAPS)


def test_a_small_share_is_not_nothing() -> None:
    assert [percent(0, 9), percent(1, 3000), percent(3, 3)] == ["0 %", "0.033 %", "100 %"]
