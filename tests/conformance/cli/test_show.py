"""The decision table on a terminal: columns as the KIP's table has them, nothing cut off."""

from __future__ import annotations

import pytest

from fencepost.conformance.cli.show import _table_lines
from fencepost.conformance.targets.target_registry import find_revision
from fencepost.model.classic.cells import COLUMNS
from fencepost.model.table.table import Table

BASE = find_revision("kafka-4")


@pytest.mark.parametrize("width", [100, 160])
@pytest.mark.parametrize("table", BASE.tables.values(), ids=lambda table: str(table.name))
def test_a_table_fits_and_says_everything(table: Table, width: int) -> None:
    lines = [line for line, _ in _table_lines(table, COLUMNS.headings, width)]
    assert max(map(len, lines)) <= width
    text = " ".join(" ".join(lines).split())
    for rule in table.rules():
        assert f"{rule.id}: {rule.level.value}, " in text
        for step in rule.steps():
            assert set(step.split()) <= set(text.replace(";", " ").split()) | set(text.split())


def test_a_rule_is_a_row_of_cells_with_its_source_under_it() -> None:
    lines = [line for line, _ in _table_lines(BASE.tables["JoinGroup"], COLUMNS.headings, 160)]
    assert lines[0].split() == ["mid", "inst", "state", "more", "then"]
    under = next(n for n, line in enumerate(lines) if "JOIN-STATIC-EMPTY-PREPARING" in line)
    assert lines[under - 2].startswith('""                 mapped to another  PreparingRebalance')
    assert lines[under].endswith(': MUST, row; KIP-345 "Join Group Logic Change"')
