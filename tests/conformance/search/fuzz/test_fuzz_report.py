"""What keeps a search from more requests a second is told, by figures."""

from __future__ import annotations

import pytest

from fencepost.conformance.search.findings.findings import Findings
from fencepost.conformance.search.fuzz.fuzz import FuzzResult
from fencepost.conformance.search.fuzz.fuzz_report import effort, limit, lines
from fencepost.conformance.search.fuzz.tally import Budget, Tally
from fencepost.model.coordinator import Provenance
from fencepost.model.revisions.base import KAFKA_4


def test_it_says_that_plans_wait_where_they_do() -> None:
    tally = Tally(plans=20, requests=400, seconds=10.0, theirs=1.0, lived=100.0)
    tally.spent["judging"] = 2.0
    assert "10 were under way at once, 5 s each; 0.30 of 2 cores" in limit(tally, 2)
    assert "5.0 ms a request" in effort(tally)
    assert "the target's: 2.5 ms a request, 0.10 of a core" in effort(tally)


def test_it_says_that_the_processors_are_busy_where_they_are() -> None:
    tally = Tally(plans=20, requests=400, seconds=10.0, theirs=8.0, lived=100.0)
    tally.spent["judging"] = 9.0
    assert limit(tally, 2) == "limited by the processors: 1.7 of 2 cores were busy with it"


def test_it_says_nothing_of_a_target_that_somebody_else_started() -> None:
    tally = Tally(plans=1, requests=1, seconds=1.0)
    assert "target" not in effort(tally)


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (Budget(requests=400), "the budget of requests is spent"),
        (Budget(seconds=9.0), "the time was over (0.15 min)"),
        (Budget(requests=1000), "plans of 1,000 requests were run; the rest was not sent"),
        (Budget(requests=1000, seconds=9.0), "the time was over (0.15 min)"),
    ],
)
def test_it_says_what_ended_the_search(budget: Budget, said: str) -> None:
    tally = Tally(plans=20, requests=400, seconds=10.0)
    made = Provenance("a target", "it", "0")
    fuzzed = FuzzResult(
        made, "virtual", KAFKA_4, 0, tally, Findings(), {}, [], {}, {}, budget=budget
    )
    verdict, *rest = lines(fuzzed)
    assert any(line.startswith(f"ended      {said}") for line in rest)
    assert verdict == "a target: no violation found"
