"""The decision table on a terminal: columns as the KIP's table has them, nothing cut off."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from fencepost.conformance.cli.show import _Changes, _revision_json, _table_lines, table_command
from fencepost.conformance.targets.target_registry import find_revision
from fencepost.model.classic.cells import COLUMNS, when
from fencepost.model.classic.vocabulary import Mid
from fencepost.model.revision import DropRule, SetRule, derive
from fencepost.model.table.table import Level, Rule, Table

BASE = find_revision("kafka-4")
JOINS = BASE.tables["JoinGroup"]
SAME = _Changes(BASE)


@pytest.mark.parametrize("width", [100, 160])
@pytest.mark.parametrize("table", BASE.tables.values(), ids=lambda table: str(table.name))
def test_a_table_fits_and_says_everything(table: Table, width: int) -> None:
    lines = [line for line, _ in _table_lines(table, COLUMNS.headings, width, SAME)]
    assert max(map(len, lines)) <= width
    text = " ".join(" ".join(lines).split())
    for rule in table.rules():
        assert f"{rule.id}: {rule.level.value}, " in text
        for step in rule.steps():
            assert set(step.split()) <= set(text.replace(";", " ").split()) | set(text.split())


def test_a_rule_is_a_row_of_cells_with_its_source_under_it() -> None:
    lines = [line for line, _ in _table_lines(JOINS, COLUMNS.headings, 160, SAME)]
    assert lines[0].split() == ["mid", "inst", "state", "more", "then"]
    under = next(n for n, line in enumerate(lines) if "JOIN-STATIC-EMPTY-PREPARING" in line)
    assert lines[under - 2].startswith('""                 mapped to another  PreparingRebalance')
    assert lines[under].endswith(': MUST, row; KIP-345 "Join Group Logic Change"')


def test_what_differs_from_the_base_is_marked() -> None:
    changed = BASE.rule("JOIN-LEADER-STABLE").but(level=Level.MAY)
    added = Rule("JOIN-NEW", when(mid=Mid.PENDING))
    mine = derive(
        BASE,
        "mine",
        "mine",
        (
            SetRule("JoinGroup", changed, "x"),
            SetRule("JoinGroup", added, "x"),
            DropRule("JoinGroup", "JOIN-PENDING", "x"),
        ),
    )
    changes = _Changes(mine)
    lines = _table_lines(mine.tables["JoinGroup"], COLUMNS.headings, 160, changes)
    marked = [line for line, style in lines if line[2:3] in "+~-" and line[:2] == "  "]
    assert [line.split(":")[0] for line in marked] == [
        "  ~ JOIN-LEADER-STABLE",
        "  + JOIN-NEW",
        "  - JOIN-PENDING",
    ]
    assert not [
        line for line, _ in _table_lines(JOINS, COLUMNS.headings, 160, SAME) if "  ~" in line
    ]


def test_a_table_as_json_says_what_differs() -> None:
    told = CliRunner().invoke(table_command, ["--revision", "kip-345", "--json"])
    changes = {row["id"]: row["change"] for row in json.loads(told.output)}
    differences = _revision_json(find_revision("kip-345"))["differences"]
    assert {rule: change for rule, change in changes.items() if change} == {
        row["rule"]: row["change"] for row in differences
    }
    assert changes["HEARTBEAT-STABLE"] is None
