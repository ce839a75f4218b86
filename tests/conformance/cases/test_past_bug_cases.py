"""The page of old bugs: its cases exist, and what it says was seen is what the lists say."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.history_page import Row, rows

from fencepost.conformance.cases import entry
from fencepost.conformance.targets.brokers.kafka_version import parse_kafka_version
from fencepost.properties.judging.known_failures import KnownFailure
from fencepost.traces.files.known_failure_lists import load

ROWS = rows()
MOCK = "2.16.0"


def listed(row: Row) -> list[KnownFailure]:
    kind, _, version = row.target.partition(":")
    if kind != "kafka":
        return load(row.target, MOCK)
    kafka = parse_kafka_version(version)
    coordinator = "new" if kafka.has_new_coordinator else "old"
    return load(row.target, version, (), frozenset({f"kafka+{coordinator}"}))


def test_the_page_has_a_table() -> None:
    assert len(ROWS) > 10
    assert {row.target.partition(":")[0] for row in ROWS} == {"kafka", "kfake", "mock"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.case}-{row.target}")
def test_its_cases_are_in_the_catalogue(row: Row) -> None:
    assert entry(row.case).id == row.case


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.judge is None], ids=lambda row: f"{row.case}-{row.target}"
)
def test_what_was_seen_is_listed_where_it_was_seen_and_not_where_it_is_gone(row: Row) -> None:
    seen = {(known.case, known.observed) for known in listed(row)}
    assert {(row.case, observed) for observed in row.observed} <= seen
    if row.gone is not None:
        fixed = replace(row, target=row.gone)
        assert row.case not in {known.case for known in listed(fixed)}
