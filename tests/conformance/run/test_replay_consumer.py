"""A trace of the consumer protocol is judged again, run again and converted; its page has lanes."""

from __future__ import annotations

import asyncio

import pytest

from fencepost.conformance.run.certificate_run import run_certificate
from fencepost.conformance.run.replay import rejudge, replay_trace, sound_trace
from fencepost.conformance.targets.target_registry import find_revision, target_of
from fencepost.properties.judging.outcome import Outcome
from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.forms.itf import to_itf_text
from fencepost.traces.forms.mermaid import to_mermaid
from fencepost.traces.pages.trace_page import PageTrace, trace_page

CASE = "CG-JOIN-AGAIN-UNRELEASED/lost-answer-to-a-return"


@pytest.fixture(scope="module")
def trace() -> TraceFile:
    """The trace of a case that the proposal fails, judged by a release."""
    ran = run_certificate("model:pr-23542", revision="consumer-4.3", cases=[CASE])
    (result,) = ran.results
    assert result.outcome is Outcome.FAIL
    made = sound_trace(result, find_revision("consumer-4.3"), ran.provenance)
    assert made is not None
    return made


def test_it_is_judged_again_and_run_again(trace: TraceFile) -> None:
    assert rejudge(trace).same
    assert asyncio.run(replay_trace(trace, target_of("model:pr-23542"))).same
    today = asyncio.run(replay_trace(trace, target_of("model:consumer-4.3"))).today
    assert today.outcome == "holds"


def test_the_forms_have_epochs_and_partitions(trace: TraceFile) -> None:
    assert "Stable, epoch 3" in to_mermaid(trace)
    assert "assigned t-0, t-1" in to_mermaid(trace)
    assert "target_epoch" in to_itf_text(trace)


def test_the_page_has_the_fields_of_the_group(trace: TraceFile) -> None:
    text = trace_page([PageTrace(trace, "a trace", "trace.json")])
    for field in ("target epoch", "member A2: assigned", "instance A"):
        assert field in text
