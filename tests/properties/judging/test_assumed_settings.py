"""Failures that depend on an assumed setting are found, with the value that fits the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest

from fencepost.conformance.cases import entry
from fencepost.conformance.run.certify import Options, case_result, certify
from fencepost.conformance.targets.in_process import InProcessTarget
from fencepost.model.plans.plan_order import DELAY
from fencepost.model.revision import Revision
from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.judging.assumed_settings import fitting_settings, fitting_words
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.mutants.mutants import MUTANTS
from fencepost.properties.oracle.oracle import judge

CASES = ("HEARTBEAT-STABLE/in-a-stable-group", "SYNC-STABLE/follower-comes-late")
REFUSED = "JOIN-SESSION-TIMEOUT-INVALID/restart-with-a-bad-session-timeout"
LEAST = "group.min.session.timeout.ms"


def assumed(
    changes: Mapping[str, int | None], *cases: str, revision: Revision = KAFKA_4
) -> list[CaseResult]:
    """Judge runs of the model as if it had other settings than it has."""
    target = InProcessTarget("model", revision, "0")
    entries = [entry(case_id) for case_id in cases]
    results = asyncio.run(certify(target, KAFKA_4, entries, Options(persists=True))).results
    again = []
    for result in results:
        assert result.recording is not None
        config = {**result.recording.config, **changes}
        recording = replace(result.recording, config=config)
        verdict = judge(KAFKA_4, config, recording.history, lag_ms=0).verdict()
        again.append(case_result(result.case, recording, verdict, KAFKA_4))
    return again


def test_the_initial_delay_that_was_seen_fits() -> None:
    results = assumed({DELAY: 9_000}, *CASES)
    assert [result.outcome for result in results] == [Outcome.FAIL, Outcome.FAIL]
    (fitting,) = fitting_settings(results, {DELAY: "assumed"}, KAFKA_4)
    assert fitting.option == f"--set {DELAY}=3000"
    assert fitting.cases == CASES
    (words,) = fitting_words(results, {DELAY: "assumed"}, KAFKA_4)
    assert words == (
        f"2 of 2 failures depend on {DELAY}, which is assumed: --set {DELAY}=3000 fits the answers"
    )


@pytest.mark.parametrize("source", ["measured", "option", "describe-configs"])
def test_a_setting_that_is_known_is_not_doubted(source: str) -> None:
    results = assumed({DELAY: 9_000}, *CASES)
    assert not fitting_settings(results, {DELAY: source}, KAFKA_4)


def test_the_bound_of_session_timeouts_lets_in_what_was_accepted() -> None:
    results = assumed({LEAST: 500_000}, CASES[0])
    (fitting,) = fitting_settings(results, {LEAST: "assumed"}, KAFKA_4)
    assert fitting.key == LEAST
    assert fitting.value is not None
    assert fitting.value < 500_000


def test_a_fault_depends_on_no_setting() -> None:
    zombies = MUTANTS["zombie-heartbeats"].revision
    results = assumed({}, "HEARTBEAT-INSTANCE-FENCED/zombie-beats", revision=zombies)
    assert [result.outcome for result in results] == [Outcome.FAIL]
    sources = dict.fromkeys(results[0].recording.config if results[0].recording else (), "assumed")
    assert not fitting_settings(results, sources, KAFKA_4)
