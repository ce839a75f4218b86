"""Each catalogue has its published ids, and its cases name rules and can be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from fencepost.conformance.cases import (
    ALL_ENTRIES,
    BY_PROTOCOL,
    CONSUMER_ENTRIES,
    ENTRIES,
    MIXED_ENTRIES,
    STREAMS_ENTRIES,
    entries_of,
)
from fencepost.model.plans.spelling import plan_json, read_plan
from fencepost.model.revisions import revisions

HERE = Path(__file__).parent
IDS = {
    "classic": HERE / "case_ids.txt",
    "consumer": HERE / "consumer" / "consumer_case_ids.txt",
    "mixed": HERE / "bridge" / "bridge_case_ids.txt",
    "streams": HERE / "consumer" / "streams_case_ids.txt",
}
REVISIONS = {
    "classic": ("kafka-4",),
    "consumer": ("consumer-4.3",),
    "mixed": ("mixed-4.4",),
    "streams": revisions.STREAMS_NAMES,
}
"""The revisions whose rules the cases name."""
each = pytest.mark.parametrize("protocol", BY_PROTOCOL)


@each
def test_cases_name_rules_that_exist_and_say_what_they_are_about(protocol: str) -> None:
    known = {rule.id for name in REVISIONS[protocol] for _, rule in revisions.find(name).rules()}
    for case in entries_of(protocol):
        assert set(case.rules) <= known, case.id
        assert case.about.endswith("."), case.id


@each
def test_no_id_vanishes_and_new_ones_are_written_down(protocol: str) -> None:
    published = IDS[protocol].read_text(encoding="utf-8").split()
    assert published == sorted(case.id for case in entries_of(protocol)), f"see {IDS[protocol]}"


def test_ids_are_unique() -> None:
    assert len({case.id for case in ALL_ENTRIES}) == len(ALL_ENTRIES)


def test_each_protocol_has_its_cases() -> None:
    catalogues = (ENTRIES, CONSUMER_ENTRIES, MIXED_ENTRIES, STREAMS_ENTRIES)
    assert tuple(map(entries_of, IDS)) == catalogues


@each
@pytest.mark.parametrize("delayed", [False, True])
def test_each_plan_is_written_and_read_back(protocol: str, delayed: bool) -> None:
    for case in entries_of(protocol):
        plan = case.case({}, delayed=delayed)
        assert read_plan(plan_json(plan)) == plan
