"""A pass is shown by a whole run; what breaks off, however it comes about, is none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.runs import KAFKA_4, entry, run

from fencepost.conformance.run.certify import case_result
from fencepost.conformance.run.replay import sound_trace
from fencepost.conformance.targets.in_process import ModelCoordinator
from fencepost.model.coordinator import Provenance
from fencepost.model.plans.times import times_for
from fencepost.properties.judging.answer_diff import Recording
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.judging.target_coverage import coverage_of
from fencepost.properties.oracle.oracle import judge
from fencepost.properties.oracle.verdict import Verdict

HELLO = ModelCoordinator(KAFKA_4).hello()
FOLLOWER = "JOIN-STATIC-EMPTY-STABLE/follower"


@pytest.fixture(scope="module")
def whole() -> tuple[Recording, Verdict]:
    return run(entry(FOLLOWER))


def outcome(recording: Recording, verdict: Verdict) -> tuple[Outcome, str]:
    result = case_result(recording.case, recording, verdict, KAFKA_4)
    return result.outcome, result.message


def test_a_whole_run_passes(whole: tuple[Recording, Verdict]) -> None:
    recording, _ = whole
    assert recording.completed
    assert len(recording.step_ends) == len(recording.case.steps)
    assert outcome(*whole) == (Outcome.PASS, "")


def test_a_run_that_broke_off_is_unknown_at_each_event(whole: tuple[Recording, Verdict]) -> None:
    """Whatever is judged to hold in a history without its end."""
    recording, _ = whole
    steps = len(recording.case.steps)
    for kept in range(len(recording.history)):
        taken = min(kept, steps)
        short = replace(
            recording,
            history=recording.history[:kept],
            step_ends=recording.step_ends[:taken],
            completed=False,
        )
        verdict = judge(KAFKA_4, short.config, short.history, lag_ms=0).verdict()
        assert verdict.violation is None
        found, why = outcome(short, replace(verdict, used=frozenset(short.case.rules)))
        assert found is Outcome.UNKNOWN
        assert f"step {taken} of {steps}" in why


def test_what_was_waited_for_in_vain_is_said(whole: tuple[Recording, Verdict]) -> None:
    recording, verdict = whole
    short = replace(recording, completed=False, stopped="A1's sync waited for in vain")
    assert outcome(short, verdict) == (Outcome.UNKNOWN, "A1's sync waited for in vain")


def test_what_is_no_pass_holds_in_no_trace_either(whole: tuple[Recording, Verdict]) -> None:
    recording, verdict = whole
    short = replace(recording, completed=False)
    result = case_result(short.case, short, verdict, KAFKA_4)
    trace = sound_trace(result, KAFKA_4, Provenance("a target", "it", "0"))
    assert trace is not None
    assert trace.verdict.outcome == "unknown"
    assert not coverage_of(KAFKA_4, HELLO, [result]).covered


def test_a_run_that_lag_blurs_is_unknown(whole: tuple[Recording, Verdict]) -> None:
    recording, verdict = whole
    times = times_for(recording.config, lag_ms=300)
    real = replace(recording, clock="real", times=times)
    assert outcome(replace(real, lag_ms=5000), verdict)[0] is Outcome.PASS
    found, why = outcome(replace(real, lag_ms=20_000), verdict)
    assert found is Outcome.UNKNOWN
    assert "blurs" in why


def test_who_moved_or_can_not_be_explained_does_not_pass(whole: tuple[Recording, Verdict]) -> None:
    recording, verdict = whole
    assert outcome(replace(recording, moved=True), verdict)[0] is Outcome.UNKNOWN
    assert outcome(recording, replace(verdict, unknown="too many")) == (Outcome.UNKNOWN, "too many")
    assert outcome(recording, replace(verdict, used=frozenset()))[0] is Outcome.UNKNOWN
