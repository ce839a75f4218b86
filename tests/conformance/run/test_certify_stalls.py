"""A target that stands still now and then: its faults never pass, and it is accused of no others.

What a mutant fails on the virtual clock is the truth.
"""

from __future__ import annotations

import pytest
from support.real_clock import QUICK, RealClockTarget, Stalls
from support.runs import KAFKA_4
from support.tcp.over_tcp import catalogue, in_process
from support.virtual_clock import run_at_once

from fencepost.conformance.run.certify import Options, certify
from fencepost.model.coordinator import MOVES
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.properties.judging.outcome import CaseResult, Outcome

SETTINGS = {key: value for key, value in QUICK.items() if value is not None}
OFTEN = Stalls(1_500, 7_000, 3_000)
FROM_THE_START = Stalls(0, 9_000, 3_000)
FOR_LONG = Stalls(4_000, 10**9, 97_000)
MUTANTS = {
    "kafka-9752": OFTEN,
    "kafka-12890": FROM_THE_START,
    "crabka-static-never-expires": OFTEN,
    "redpanda-keeps-timeouts": FROM_THE_START,
    "replaced-told-nothing": FROM_THE_START,
    "waiting-followers-forgotten": FOR_LONG,
    "least-rebalance-timeout": OFTEN,
    "zombie-heartbeats": FOR_LONG,
}
FAILS = {
    "kafka-9752": (
        "SESSION-EXPIRED/silent-between-join-and-sync",
        "SESSION-EXPIRED/silent-static-member-between-join-and-sync",
    ),
    "kafka-12890": (
        "SYNC-PHASE-EXPIRED/leader-never-syncs",
        "SYNC-PHASE-EXPIRED/follower-never-syncs",
    ),
    "crabka-static-never-expires": (
        "SESSION-EXPIRED/silent-static-member",
        "SESSION-EXPIRED/instance-of-an-expired-member",
    ),
    "redpanda-keeps-timeouts": (
        "SESSION-EXPIRED/session-of-a-restart-is-shorter",
        "JOIN-STATIC-EMPTY-STABLE/session-of-a-restart-is-longer",
    ),
    "replaced-told-nothing": (
        "JOIN-STATIC-EMPTY-PREPARING/second-process-while-first-waits",
        "JOIN-STATIC-EMPTY-PREPARING/second-process-before-first-generation",
    ),
    "waiting-followers-forgotten": (
        "JOIN-STATIC-EMPTY-COMPLETING/second-process-while-assignment-is-awaited",
    ),
    "least-rebalance-timeout": (
        "JOIN-DYNAMIC-EMPTY-LEGACY/version-0-rebalances-within-its-session-timeout",
        "JOIN-PHASE-WAIT/rebalance-timeout-of-a-restart",
    ),
    "zombie-heartbeats": (
        "HEARTBEAT-INSTANCE-FENCED/zombie-beats",
        "JOIN-MEMBER-PREPARING/static-member-rejoins-without-its-instance",
    ),
}
"""Cases that the mutant fails."""


def truth(name: str) -> dict[str, Outcome]:
    """A few cases on the virtual clock: what the mutant fails of them, and some that it doesn't."""
    entries = [e for e in catalogue().values() if e.delayed is not True and not e.needs.config]
    stays = [e.id for e in entries if e.needs.features.isdisjoint({"restart", MOVES})]
    cases = [*FAILS[name.partition(":")[2]], *stays[::150]]
    return in_process(name, SETTINGS, cases)


def stalled(name: str, stalls: Stalls, cases: list[str]) -> list[CaseResult]:
    async def certified() -> list[CaseResult]:
        target = RealClockTarget(find_revision(name), stalls=stalls)
        entries = [catalogue()[case] for case in cases]
        return list((await certify(target, KAFKA_4, entries, Options())).results)

    return run_at_once(certified())


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_what_a_mutant_fails_never_passes(name: str) -> None:
    here = truth(f"mutant:{name}")
    assert {case for case, came in here.items() if came is Outcome.FAIL} >= set(FAILS[name])
    assert Outcome.PASS in here.values()
    for result in stalled(f"mutant:{name}", MUTANTS[name], list(here)):
        expected = here[result.case.id]
        assert result.outcome in {expected, Outcome.UNKNOWN}, (result.case.id, result.message)
        if result.outcome is Outcome.PASS:
            assert result.recording is not None
            assert result.recording.completed


def test_stalls_leave_most_decided() -> None:
    cases = [case for case, entry in catalogue().items() if not entry.needs.config]
    results = stalled("kafka-4", OFTEN, cases[::12])
    assert not [r for r in results if r.outcome is Outcome.FAIL]
    passed = sum(r.outcome is Outcome.PASS for r in results)
    assert passed > len(results) * 2 // 3
