from __future__ import annotations

from typing import Any

import pytest
from support.client_story import (
    Piece,
    action,
    assert_told_apart,
    assigned,
    evidence,
    heartbeat,
    join,
    leave,
    run,
    settled,
    sync,
)

from fencepost.model.messages.errors import Error as Code
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.requirements import judge

A = run(ended=1000, how="closed")
D = run(instance=None, ended=1000, how="closed")
HERE = run()
STABLE = [A, *settled(A, 10, 0, 1)]
DYNAMIC = [D, *settled(D, 10, 0, 1)]
OPEN = [HERE, *settled(HERE, 10, 0, 1)]
CLOSED = action("close", A, 1000, 1100, took_ms=90.0, limit_ms=5000.0)
LATE = action("close", A, 1000, 11_000, outcome="late", limit_ms=5000.0)
TWICE = action("close-twice", A, 1000, 1100, took_ms=90.0, limit_ms=6000.0)
HANGS = action("close-twice", A, 1000, 12_000, outcome="late", limit_ms=6000.0)
RAISES = action("close-twice", A, 1000, 1100, outcome="RuntimeError", limit_ms=6000.0)
FENCED = heartbeat(A, 500, error=Code.FENCED_INSTANCE_ID)

BY_OBLIGATION: list[tuple[str, list[Piece], list[Piece], str]] = [
    (
        "CLIENT-CLOSE-STATIC-STAYS",
        [*STABLE, CLOSED],
        [*STABLE, CLOSED, leave(A, 1050)],
        "LeaveGroup of a static member",
    ),
    (
        "CLIENT-CLOSE-UNSUBSCRIBED-STAYS",
        [*OPEN, action("unsubscribe", HERE, 900)],
        [*OPEN, action("unsubscribe", HERE, 900), leave(HERE, 950, "", instance="i-1")],
        "LeaveGroup of a static member",
    ),
    (
        "CLIENT-CLOSE-DYNAMIC-LEAVES",
        [*DYNAMIC, CLOSED, leave(D, 1050)],
        [*DYNAMIC, CLOSED],
        "no LeaveGroup",
    ),
    (
        "CLIENT-CLOSE-DYNAMIC-LEAVES",
        [*DYNAMIC, CLOSED, leave(D, 1050)],
        [*DYNAMIC, CLOSED, leave(D, 1050, "m9")],
        "somebody else",
    ),
    ("CLIENT-CLOSE-IN-TIME", [*STABLE, CLOSED], [*STABLE, LATE], "late"),
    ("CLIENT-CLOSE-AGAIN", [*STABLE, TWICE], [*STABLE, HANGS], "late"),
    ("CLIENT-CLOSE-AGAIN", [*STABLE, TWICE], [*STABLE, RAISES], "RuntimeError from a second"),
    ("CLIENT-CLOSE-BROKER-GONE", [*STABLE, CLOSED], [*STABLE, LATE], "late"),
    ("CLIENT-CLOSE-FENCED", [*STABLE, FENCED, CLOSED], [*STABLE, FENCED, LATE], "late"),
    (
        "CLIENT-CLOSE-FENCED",
        [*STABLE, FENCED, CLOSED, leave(A, 1050, "m1", instance="i-1")],
        [*STABLE, FENCED, CLOSED, leave(A, 1050, "", instance="i-1")],
        "has its place",
    ),
]


@pytest.mark.parametrize(("name", "right", "wrong", "observed"), BY_OBLIGATION)
def test_what_is_right_holds_and_what_is_wrong_is_seen(
    name: str, right: list[Piece], wrong: list[Piece], observed: str
) -> None:
    assert_told_apart(name, evidence(right), evidence(wrong), observed)


def test_a_close_in_a_rebalance() -> None:
    name = "CLIENT-CLOSE-REBALANCING"
    parked = join(A, 900, lost="never answered")
    assert judge(name, evidence(A, parked, CLOSED)).outcome is Outcome.PASS
    assert judge(name, evidence(A, parked, LATE)).outcome is Outcome.FAIL
    left = evidence(A, parked, CLOSED, leave(A, 1050))
    assert "LeaveGroup" in judge(name, left).observed
    assert judge(name, evidence(STABLE, CLOSED)).outcome is Outcome.UNKNOWN


def test_what_was_late_while_the_machine_was_slow_is_unknown() -> None:
    slow = evidence(STABLE, LATE, stalls=((1500.0, 2300.0),))
    verdict = judge("CLIENT-CLOSE-IN-TIME", slow)
    assert verdict.outcome is Outcome.UNKNOWN
    assert "2300 ms" in verdict.sentence
    before = evidence(STABLE, LATE, stalls=((10.0, 800.0),))
    assert judge("CLIENT-CLOSE-IN-TIME", before).outcome is Outcome.FAIL


def test_a_close_that_hangs_for_longer_than_the_machine_was_slow_is_late() -> None:
    """It hung for 4.5 s beyond its time, and the machine was slow for 2.2 s of that, at most."""
    stalls = ((1500.0, 800.0), (4000.0, 700.0), (6000.0, 700.0))
    hung = evidence(STABLE, LATE, stalls=stalls)
    assert judge("CLIENT-CLOSE-IN-TIME", hung).outcome is Outcome.FAIL
    longer = evidence(STABLE, LATE, stalls=(*stalls, (8000.0, 60.0)))
    assert judge("CLIENT-CLOSE-IN-TIME", longer).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("name", sorted({name for name, *_ in BY_OBLIGATION}))
def test_nothing_is_said_where_nobody_closed(name: str) -> None:
    assert judge(name, evidence(OPEN)).outcome is Outcome.UNKNOWN


def test_what_a_member_had_to_give_back_before_it_closed_has_a_reader() -> None:
    name = "CLIENT-CLOSE-REVOKED"
    fields: dict[str, Any] = {"assignor": "cooperative-sticky"}
    a = run(ended=500, how="closed", **fields)
    b, again = run("b", instance="i-2", **fields), run(number=2, began=600, **fields)
    generations = [sync(a, 20, gets=[0, 1]), join(a, 30, "m1"), sync(a, 40, gets=[0])]
    closed = action("close", a, 500)
    begun = [a, b, again, join(a, 10), *generations, closed]
    back = assigned(again, 700, 0)
    assert_told_apart(
        name, evidence(begun, back, assigned(b, 800, 1)), evidence(begun, back), "no reader"
    )
    answered = evidence(begun, back, join(a, 420, "m1"))
    assert judge(name, answered).outcome is Outcome.UNKNOWN
    left = evidence(begun, leave(a, 510, instance="i-1"))
    assert judge("CLIENT-CLOSE-STATIC-STAYS", left).outcome is not Outcome.FAIL
    early = evidence(begun, join(a, 420, "m1"), leave(a, 510, instance="i-1"))
    assert judge("CLIENT-CLOSE-STATIC-STAYS", early).outcome is Outcome.FAIL
    busy = evidence(a, again, settled(a, 10, 0), action("stop-polling", a, 100), closed)
    assert judge(name, busy).outcome is Outcome.UNSUPPORTED
