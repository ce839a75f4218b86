"""The decision tables are total and unambiguous, every rule is reachable, and says why it is there.

The whole product of each table's features is enumerated; tables that revisions share, once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest

from fencepost.model.classic.cells import COLUMNS
from fencepost.model.revision import Revision
from fencepost.model.revisions import revisions
from fencepost.model.table.expr import Expr, Feature, Point
from fencepost.model.table.table import Level, Rule, Table, TableError

ALL = {name: revisions.find(name) for name in revisions.NAMES}


def distinct_tables() -> Iterator[tuple[str, Table]]:
    """Each table once, with the first revision that has it."""
    seen: set[object] = set()
    for name, revision in ALL.items():
        for table in revision.tables.values():
            content = tuple(
                (r.id, table.condition(r), r.effect, r.answer, r.defensive) for r in table.rules()
            )
            if (table.name, content) not in seen:
                seen.add((table.name, content))
                yield name, table


TABLES = [pytest.param(table, id=f"{name}-{table.name}") for name, table in distinct_tables()]
REVISIONS = [pytest.param(revision, id=name) for name, revision in ALL.items()]


@cache
def all_points(features: tuple[Feature, ...]) -> list[Point]:
    """Once for the tables that ask the same questions: of a JoinGroup, sixty thousand."""
    return list(COLUMNS.points(features))


def faults(table: Table) -> list[str]:
    """Where a table has no rule or several, and which rules nothing reaches; all in words."""
    found: list[str] = []
    chosen: set[str] = set()
    for point in all_points(table.features):
        rules = [rule.id for rule in table.applicable(point)]
        chosen.update(rules)
        if len(rules) != 1:
            found.append(f"{' and '.join(rules) or 'no rule'} for {table.describe(point)}")
    found += [
        f"nothing reaches {rule.id}"
        for rule in table.rules()
        if rule.id not in chosen and rule.defensive is None
    ]
    return found


@pytest.mark.parametrize("table", TABLES)
def test_every_point_has_exactly_one_rule_and_every_rule_has_a_point(table: Table) -> None:
    assert faults(table) == []


SIZE = Feature("size", (0, 1, 2), "how large")


def table_of(*rows: tuple[str, Expr], checks: tuple[tuple[str, Expr], ...] = ()) -> Table:
    return Table(
        "toy",
        (SIZE,),
        tuple(Rule(name, guard) for name, guard in checks),
        tuple(Rule(name, guard) for name, guard in rows),
    )


def test_an_overlap_is_caught_with_its_point() -> None:
    table = table_of(("LOW", SIZE.below(2)), ("HIGH", SIZE.at_least(1)))
    assert faults(table) == ["LOW and HIGH for size 1"]
    with pytest.raises(TableError, match="toy: LOW, HIGH for size 1"):
        table.decide((1,))


def test_a_gap_is_caught_with_its_point() -> None:
    table = table_of(("LOW", SIZE.below(1)), ("HIGH", SIZE.at_least(2)))
    assert faults(table) == ["no rule for size 1"]
    with pytest.raises(TableError, match="toy: no rule for size 1"):
        table.decide((1,))


def test_a_rule_that_nothing_reaches_is_caught() -> None:
    table = table_of(("ANY", SIZE.at_least(0)), checks=(("ALL", SIZE.at_least(0)),))
    assert faults(table) == ["nothing reaches ANY"]


def test_the_first_check_that_hits_decides_and_hides_the_rows() -> None:
    checks = (("FIRST", SIZE.at_least(1)), ("SECOND", SIZE.at_least(1)))
    table = table_of(("ROW", SIZE.at_least(0)), checks=checks)
    assert [table.decide((size,)).id for size in (0, 1, 2)] == ["ROW", "FIRST", "FIRST"]


def test_an_id_used_twice_is_refused() -> None:
    with pytest.raises(TableError, match="toy has two rules LOW"):
        table_of(("LOW", SIZE.below(1)), ("LOW", SIZE.at_least(1)))


@pytest.mark.parametrize("revision", REVISIONS)
def test_rule_ids_are_unique_across_tables_and_well_formed(revision: Revision) -> None:
    ids = [rule.id for _, rule in revision.rules()]
    assert sorted(set(ids)) == sorted(ids)
    assert [i for i in ids if not re.fullmatch(r"[A-Z0-9]+(-[A-Z0-9]+)*", i)] == []


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_rule_says_where_it_comes_from_why_and_how_binding_it_is(revision: Revision) -> None:
    for _, rule in revision.rules():
        assert rule.source, rule.id
        assert rule.because, rule.id
        assert not rule.because.endswith("."), rule.id
        assert isinstance(rule.level, Level), rule.id
        assert rule.defensive is None or rule.defensive, rule.id


def test_what_is_told_of_a_point_and_a_rule_are_words() -> None:
    table = ALL["kafka-4"].tables["SyncGroup"]
    rule = next(r for r in table.rows if r.id == "SYNC-COMPLETING-LEADER")
    assert table.condition(rule) == "state is CompletingRebalance and caller is leader"
    first = next(COLUMNS.points(table.features))
    assert table.describe(first).startswith("version 0, protocol fields given, group id null")
