"""What a known departure brings about is put down to it, whatever it looks like."""

from __future__ import annotations

import asyncio

import pytest

from fencepost.conformance.fuzz import fuzz
from fencepost.conformance.fuzz_course import Wish
from fencepost.conformance.fuzz_page import fuzz_index
from fencepost.conformance.fuzz_report import fuzz_json, lines
from fencepost.conformance.fuzz_run import Budget
from fencepost.conformance.in_process import InProcessTarget
from fencepost.conformance.report import trace_name
from fencepost.model.revision_base import KAFKA_4
from fencepost.properties.departures import DEPARTURES, departed


@pytest.mark.parametrize("name", ["protocol-twice", "pending-leave"])
def test_all_that_a_departure_brings_about_is_put_down_to_it(name: str) -> None:
    revision = departed(KAFKA_4, [DEPARTURES[name]])
    wish = Wish(KAFKA_4, Budget(3000), 1)
    fuzzed = asyncio.run(fuzz(lambda: InProcessTarget("departed", revision, "0"), wish))
    assert fuzzed.exit_code() == 1  # explained is not excused
    document = fuzz_json(fuzzed)
    assert {row["cause"] for row in document["findings"]} == {name}
    told = f"Known cause: {DEPARTURES[name].about} (docs/findings/{name}.md)."
    assert list(lines(fuzzed)).count(told) == len(fuzzed.found)
    traces = {trace_name(case): trace for case, trace in fuzzed.traces.items()}
    assert told in fuzz_index(document, traces)
