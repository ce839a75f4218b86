"""Cases on a coordinator that batches assignments: each waits for its target."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from support.real_clock import RealClockTarget
from support.virtual_clock import at_once

from fencepost.conformance.cases import CONSUMER_ENTRIES, MIXED_ENTRIES, entry
from fencepost.conformance.cases.case_registry import Entry
from fencepost.conformance.run.certify import Options, certify
from fencepost.model.consumer.settings import (
    ASSIGNMENT_INTERVAL,
    BROKER_SETTINGS,
    SESSION_TIMEOUT,
)
from fencepost.model.coordinator import Config
from fencepost.model.history.events import Sent
from fencepost.model.revision import Revision
from fencepost.model.revisions import revisions
from fencepost.properties.judging.outcome import Outcome

CONSUMER, MIXED = revisions.find("consumer-4.4"), revisions.find("mixed-4.4")
BATCHED: Config = {**BROKER_SETTINGS, SESSION_TIMEOUT: 6_000, ASSIGNMENT_INTERVAL: 1_000}
RETURN = "CG-JOIN-RETURN/restart"
LOST = "CG-BEAT-REPEATED/lost-answer-with-a-new-epoch"


@pytest.mark.parametrize(
    ("revision", "entries", "session_ms"),
    [(CONSUMER, CONSUMER_ENTRIES, 6_000), (MIXED, MIXED_ENTRIES, 60_000)],
    ids=["consumer", "mixed"],
)
@at_once
async def test_every_case_is_decided_where_assignments_are_batched(
    revision: Revision, entries: Sequence[Entry], session_ms: int
) -> None:
    """But those that need other settings, or an end of the broker."""
    target = RealClockTarget(revision, settings={**BATCHED, SESSION_TIMEOUT: session_ms})
    certificate = await certify(target, revision, entries, Options())
    others = {
        result.case.id: result.outcome
        for result in certificate.results
        if result.outcome not in {Outcome.PASS, Outcome.UNSUPPORTED}
    }
    assert others == {}
    assert len(certificate.of(Outcome.PASS)) > len(certificate.results) * 0.8


@pytest.mark.parametrize(("interval_ms", "waits"), [(0, False), (1_000, True)])
@at_once
async def test_a_case_waits_only_where_there_is_an_interval(interval_ms: int, waits: bool) -> None:
    target = RealClockTarget(CONSUMER, settings={**BATCHED, ASSIGNMENT_INTERVAL: interval_ms})
    (result,) = (await certify(target, CONSUMER, [entry(LOST)], Options())).results
    assert result.outcome is Outcome.PASS
    assert result.recording is not None
    sent = [event.at_ms for event in result.recording.history if isinstance(event, Sent)]
    assert (sent[-1] - sent[0] >= 1_000) is waits


@at_once
async def test_a_session_that_is_too_short_for_a_case_is_said_to_be() -> None:
    target = RealClockTarget(CONSUMER, settings={**BATCHED, SESSION_TIMEOUT: 1_500})
    (result,) = (await certify(target, CONSUMER, [entry(RETURN)], Options())).results
    assert result.outcome is Outcome.UNKNOWN
    assert "group.consumer.session.timeout.ms is 1500, which may be too short" in result.message
