from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.places import ROOT

from benchmarks import assignors
from benchmarks.__main__ import bench_group
from fencepost.model.assignors.assignors import ASSIGNORS
from fencepost.properties.assignors.assignor_promises import AssignorInput
from tools.assignors.assignor_figures import JavaAnswer, Question
from tools.docs.assignors_page import FIGURES, page


def test_a_row_for_each_assignor_and_group(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def ask_us(questions: list[Question], within_s: float) -> list[JavaAnswer]:
        del within_s
        groups = [(q.assignor, AssignorInput(q.members, q.counts, q.racks)) for q in questions]
        return [JavaAnswer((group.assigned(ASSIGNORS[name]),), 7) for name, group in groups]

    monkeypatch.setattr(assignors, "ask_java", ask_us)
    kept = tmp_path / "speed.json"
    argv = ["assignors", "--members", "20", "--partitions", "100", "--save", str(kept)]
    result = CliRunner().invoke(bench_group, argv, standalone_mode=False)
    assert result.exception is None, result.output
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(rows) == 4 * 8
    assert {row["assignor"] for row in rows} == set(ASSIGNORS)
    assert {(row["java_ms"], row["parity"]) for row in rows} == {(7, "equal")}
    assert all(row["ms"] >= 0 for row in rows)
    assert json.loads(kept.read_text("utf-8")) == rows
    figures = json.loads((ROOT / "docs" / FIGURES).read_text("utf-8"))
    told = f"| `range` | same topics: forms | {rows[0]['ms']} | 7 | 7 |"
    assert told in page(figures, rows)  # the page finds the rows that it tells
