"""The plans of the catalogue are written and described as they were published.

`plan_digests.txt` holds each case's id, a digest of its plan's JSON and one of its steps in words.
A line changes only with the case itself.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from support.committed import NAMES, committed
from support.runs import LEVELS, entries

from fencepost.conformance.cases.case_registry import Entry
from fencepost.model.plans.spelling import plan_json, read_plan
from fencepost.model.plans.steps import describe

DIGESTS = {
    name: (plan, words)
    for name, plan, words in map(
        str.split, Path(__file__).with_name("plan_digests.txt").read_text("utf-8").splitlines()
    )
}
ENTRIES = {entry.id: entry for entry in entries()}


def digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]


def test_every_case_has_a_digest() -> None:
    assert set(ENTRIES) == set(DIGESTS)


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_a_plan_is_written_and_described_as_before(entry: Entry) -> None:
    cases = [entry.case(LEVELS, delayed=delayed) for delayed in (False, True)]
    plan = digest(*(json.dumps(plan_json(case)) for case in cases))
    words = digest(*(describe(step) for case in cases for step in case.steps))
    assert (plan, words) == DIGESTS[entry.id]


@pytest.mark.parametrize("name", NAMES)
def test_the_plan_of_a_committed_trace_comes_back(name: str) -> None:
    plan = committed(name).plan
    assert plan is not None
    assert json.dumps(plan_json(read_plan(plan))) == json.dumps(plan)
