from __future__ import annotations

import pytest
from support.client_story import (
    NEWEST,
    OLD,
    Piece,
    commit,
    evidence,
    heartbeat,
    join,
    run,
    sync,
)

from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.requirements import judge

A = run()
DYNAMIC = run(instance=None)
RIGHT = [A, join(A, 10), sync(A, 20), heartbeat(A, 30), commit(A, 40)]

BY_OBLIGATION = [
    ("CLIENT-IDENTITY-AS-SET", RIGHT, [A, join(A, 10, instance=None)]),
    ("CLIENT-IDENTITY-AS-SET", RIGHT, [A, join(A, 10, instance="i-1-0")]),
    ("CLIENT-IDENTITY-AS-SET", RIGHT, [A, join(A, 10, instance=None, version=2)]),
    ("CLIENT-IDENTITY-EVERY-REQUEST", RIGHT, [*RIGHT, heartbeat(A, 50, instance=None)]),
    ("CLIENT-IDENTITY-EVERY-REQUEST", RIGHT, [*RIGHT, commit(A, 50, instance=None)]),
    ("CLIENT-IDENTITY-VERSIONS", RIGHT, [*RIGHT, heartbeat(A, 50, version=2, instance=None)]),
    (
        "CLIENT-IDENTITY-DYNAMIC",
        [DYNAMIC, join(DYNAMIC, 10)],
        [DYNAMIC, join(DYNAMIC, 10), heartbeat(DYNAMIC, 20, instance="")],
    ),
]


@pytest.mark.parametrize(("name", "right", "wrong"), BY_OBLIGATION)
def test_what_is_right_holds_and_what_is_wrong_is_seen(
    name: str, right: list[Piece], wrong: list[Piece]
) -> None:
    assert judge(name, evidence(right)).outcome is Outcome.PASS
    verdict = judge(name, evidence(wrong))
    assert verdict.outcome is Outcome.FAIL
    assert verdict.observed
    assert "i-1" not in verdict.observed


@pytest.mark.parametrize("name", sorted({name for name, *_ in BY_OBLIGATION}))
def test_nothing_is_said_where_nothing_was_sent(name: str) -> None:
    assert judge(name, evidence(A)).outcome is Outcome.UNKNOWN


def test_a_broker_that_knows_no_instance_ids_is_no_fault_of_the_client() -> None:
    calls: list[Piece] = [A, join(A, 10, version=4, instance=None)]
    found = evidence(calls, versions=((0.0, OLD),))
    assert judge("CLIENT-IDENTITY-AS-SET", found).outcome is Outcome.UNKNOWN
    assert judge("CLIENT-IDENTITY-VERSIONS", found).outcome is Outcome.UNKNOWN


def test_the_newest_version_that_both_know() -> None:
    lower = ((0.0, NEWEST), (100.0, {**NEWEST, "Heartbeat": (0, 3)}))
    name = "CLIENT-IDENTITY-NEWEST"
    right = evidence(A, heartbeat(A, 10), heartbeat(A, 200, version=3), versions=lower)
    assert judge(name, right).outcome is Outcome.PASS
    wrong = evidence(A, heartbeat(A, 10), heartbeat(A, 200, version=2), versions=lower)
    assert judge(name, wrong).outcome is Outcome.FAIL
    assert judge(name, evidence(A, heartbeat(A, 10))).outcome is Outcome.UNKNOWN
