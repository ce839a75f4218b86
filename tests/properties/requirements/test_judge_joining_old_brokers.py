from __future__ import annotations

from dataclasses import replace

from support.client_story import (
    NEWEST,
    OLD,
    action,
    assigned,
    evidence,
    find,
    heartbeat,
    run,
    settled,
    told,
)

from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.requirements import judge

A, B = run(), run("b")
AT_OLD = ((0.0, OLD),)
REFUSED = told(A, 50, "UNSUPPORTED_VERSION"), told(B, 60, "UNSUPPORTED_VERSION")


def test_two_processes_never_work_in_silence() -> None:
    name = "CLIENT-OLD-BROKER-NOT-TWICE"
    assert judge(name, evidence(A, B, *REFUSED, versions=AT_OLD)).outcome is Outcome.PASS
    working = evidence(A, B, assigned(A, 50, 0), assigned(B, 60, 1), versions=AT_OLD)
    assert "in silence" in judge(name, working).observed
    assert judge(name, replace(working, stalls=((70.0, 900.0),))).outcome is Outcome.UNKNOWN
    alone = evidence(A, B, assigned(A, 50, 0), REFUSED[1], versions=AT_OLD)
    assert judge(name, alone).outcome is Outcome.PASS
    told_so = evidence(A, B, assigned(A, 70, 0), *REFUSED, versions=AT_OLD)
    assert judge(name, told_so).outcome is Outcome.PASS
    assert judge(name, evidence(A, B)).outcome is Outcome.UNKNOWN


def test_the_user_is_told_by_an_event_or_at_the_start() -> None:
    name = "CLIENT-OLD-BROKER-TOLD"
    verdict = judge(name, evidence(A, B, *REFUSED, versions=AT_OLD))
    assert verdict.outcome is Outcome.PASS
    assert verdict.sentence == "got UNSUPPORTED_VERSION"
    start = action("start", A, outcome="UNSUPPORTED_VERSION")
    assert judge(name, evidence(A, start, versions=AT_OLD)).outcome is Outcome.PASS
    assert "not told" in judge(name, evidence(A, versions=AT_OLD)).observed
    assert judge(name, evidence(A)).outcome is Outcome.UNKNOWN


def test_a_broker_that_comes_back_as_an_older_release() -> None:
    name = "CLIENT-OLD-BROKER-RESTARTED"
    lower = ((0.0, NEWEST), (500.0, {**NEWEST, "Heartbeat": (0, 3)}))
    begun = [A, *settled(A, 10, 0), action("restart", None, 400, 500)]
    right = evidence(begun, heartbeat(A, 600, version=3), versions=lower)
    assert judge(name, right).outcome is Outcome.PASS
    wrong = evidence(begun, heartbeat(A, 600, version=4), versions=lower)
    assert "above the broker's" in judge(name, wrong).observed
    assert judge(name, evidence(A)).outcome is Outcome.UNKNOWN
    finds = ((0.0, {"FindCoordinator": (0, 6)}), (500.0, {"FindCoordinator": (0, 2)}))
    looking = evidence(begun, find(A, 600), versions=finds)
    assert "FindCoordinator above the broker's" in judge(name, looking).observed
