"""The results in the README are those of the kept certificates."""

from __future__ import annotations

import pytest
from support.places import ROOT

from tools.docs.results_table import FILE, rows, with_results


def test_the_table_is_what_is_made_now() -> None:
    text = (ROOT / FILE).read_text("utf-8")
    assert text == with_results(text, ROOT / "docs"), (
        "make it anew: python -m tools.docs.results_table"
    )


def certificate(target: str, *outcomes: str) -> dict[str, object]:
    cases = {str(number): {"outcome": outcome} for number, outcome in enumerate(outcomes)}
    return {"target": target, "cases": cases}


def test_the_newest_version_of_each_is_there_and_the_best_comes_first() -> None:
    kept = [
        certificate("kafka:4.3.0", "fail"),
        certificate("kafka:4.10.0*3", "fail"),
        certificate("kafka:4.10.0", "pass", "pass", "known-failure", "unsupported"),
        certificate("mock", "pass", "pass", "pass", "unknown"),
    ]
    assert rows(kept) == [
        ("mock", "| `mock` | 3 of 4 | 0 | 1 |"),
        ("kafka:4.10.0", "| `kafka:4.10.0` | 2 of 3 | 1 | 0 |"),
    ]


def test_a_text_without_the_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="put them back"):
        with_results("# fencepost\n", ROOT / "docs")
