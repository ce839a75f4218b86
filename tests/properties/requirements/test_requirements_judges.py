"""What holds for all judges."""

from __future__ import annotations

import pytest
from support.client_story import evidence, join, run

from fencepost.model.messages.errors import Error as Code
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.requirements import REQUIREMENTS, judge


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_a_judge_says_nothing_of_nothing(name: str) -> None:
    verdict = judge(name, evidence())
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.sentence


def test_a_run_that_broke_off_shows_only_what_is_wrong() -> None:
    a = run()
    broken = evidence(a, join(a, 10), broken="the driver died")
    assert judge("CLIENT-JOIN-EMPTY-FIRST", broken).sentence == "the driver died"
    wrong = evidence(a, join(a, 10, "m0"), broken="the driver died")
    assert judge("CLIENT-JOIN-EMPTY-FIRST", wrong).outcome is Outcome.FAIL


def test_what_a_library_cant_do_is_unsupported() -> None:
    found = evidence(unsupported="it has no commits")
    verdict = judge("CLIENT-FENCED-COMMIT", found)
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert verdict.sentence == "it has no commits"


def test_a_slow_machine_excuses_no_wait_that_was_long_all_the_same() -> None:
    story = (run(), join(run(), 10, error=Code.UNKNOWN_MEMBER_ID))
    for stalled_ms, outcome in ((400.0, Outcome.FAIL), (3000.0, Outcome.UNKNOWN)):
        found = evidence(*story, stalls=((2000.0, stalled_ms),))
        assert judge("CLIENT-JOIN-UNKNOWN-MEMBER", found).outcome is outcome
