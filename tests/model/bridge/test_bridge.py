"""The tables of mixed groups are total and unambiguous, and their steps can be done."""

from __future__ import annotations

import re

import pytest

from fencepost.model.bridge.effects import STEPS, Do
from fencepost.model.bridge.mixed_protocol import MIXED
from fencepost.model.bridge.mixed_work import EFFECTS
from fencepost.model.bridge.vocabulary import COLUMNS
from fencepost.model.messages.errors import Error
from fencepost.model.revision import SetRule, derive
from fencepost.model.revisions import revisions
from fencepost.model.revisions.mixed_releases import MIXED_REVISIONS
from fencepost.model.table.step_soundness import misplaced_steps, step_faults
from fencepost.model.table.table import Level, Table
from fencepost.model.table.table_soundness import decided, table_faults

BASE = MIXED_REVISIONS[0]
TABLES = {
    id(table): (revision.name, table)
    for revision in MIXED_REVISIONS
    for table in revision.tables.values()
}
DISTINCT = [pytest.param(table, id=f"{name}-{table.name}") for name, table in TABLES.values()]


@pytest.mark.parametrize("table", DISTINCT)
def test_a_table_is_sound(table: Table) -> None:
    points = decided(table, COLUMNS)
    assert table_faults(table, COLUMNS, points) == []
    assert [f for r in table.rules() for f in step_faults(table, r, STEPS)] == []
    assert list(misplaced_steps(table, points, STEPS)) == []


def test_a_gap_is_caught() -> None:
    rule = BASE.rule("MG-COMMIT").but(guard=BASE.rule("MG-COMMIT-ILLEGAL-GENERATION").guard)
    table = BASE.tables["OffsetCommit of a classic member"]
    wrong = derive(BASE, "own", "own", (SetRule(table.name, rule, "tried"),)).tables[table.name]
    assert table_faults(wrong, COLUMNS, decided(wrong, COLUMNS)) != []


def test_steps_have_their_effects() -> None:
    assert set(EFFECTS) == set(Do)
    assert set(MIXED.apis) == set(BASE.apis)


def test_ids_are_unique_also_beside_those_of_the_parts() -> None:
    for revision in MIXED_REVISIONS:
        assert revisions.find(revision.name) is revision
        ids = [rule.id for _, rule in revision.rules()]
        assert sorted(set(ids)) == sorted(ids)
        for table in revision.tables.values():
            for rule in table.rules():
                assert re.fullmatch(r"MG(-[A-Z0-9]+)+", rule.id)
                assert rule.source.startswith(("KIP-", "KAFKA-", "Kafka: "))
                assert rule.level is not Level.MUST
        for difference in revision.differences:
            assert difference.passage.startswith(("KIP-", "KAFKA-", "Kafka: "))


def test_the_basis_of_a_must_is_that_of_its_part() -> None:
    assert BASE.basis_of(BASE.rule("CG-JOIN-UNRELEASED"))
    assert BASE.basis_of(BASE.rule("JOIN-STATIC-EMPTY-STABLE"))


def test_an_unreadable_subscription_is_an_error_of_its_release() -> None:
    errors = {r.name: r.rule("MG-JOIN-SUBSCRIPTION-BROKEN").answer for r in MIXED_REVISIONS}
    assert errors.pop("mixed-4.4") is Error.INCONSISTENT_GROUP_PROTOCOL
    assert set(errors.values()) == {Error.UNKNOWN_SERVER_ERROR}
