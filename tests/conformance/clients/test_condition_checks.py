from __future__ import annotations

import pytest
from support.client_story import (
    TOPIC,
    action,
    assigned,
    call,
    evidence,
    heartbeat,
    join,
    read,
    run,
    settled,
    sync,
    told,
)

from fencepost.conformance.cases.clients.scenario import (
    Answered,
    AnyCondition,
    Assigned,
    Calls,
    CaughtUp,
    ErrorReported,
    Parked,
    Passed,
    Read,
    Settled,
    missing,
)
from fencepost.conformance.clients.condition_checks import is_met, patience_ms
from fencepost.model.messages.errors import Error as Code

A = run()
B = run("b", instance="i-2")
STABLE = [A, *settled(A, 10, 0, 1)]
ASSIGNED = [A, join(A, 10), sync(A, 20, gets=(0,)), action("produce", at=50, count=1, partitions=1)]
FENCED = heartbeat(A, 300, error=Code.FENCED_INSTANCE_ID)


@pytest.mark.parametrize(
    ("condition", "met", "unmet"),
    [
        (Settled(("a",)), evidence(STABLE), evidence(STABLE, join(A, 50, "m1"))),
        (Settled(("a",)), evidence(STABLE), evidence(A, settled(A, 10, 0))),
        (Assigned("a"), evidence(STABLE), evidence(STABLE, assigned(A, 90))),
        (Calls("a", "Heartbeat"), evidence(STABLE), evidence(A)),
        (
            Answered("a", "Heartbeat", "FENCED_INSTANCE_ID"),
            evidence(STABLE, FENCED),
            evidence(STABLE),
        ),
        (Parked("a", "JoinGroup"), evidence(A, join(A, 10, lost="parked")), evidence(STABLE)),
        (
            ErrorReported("a", "FENCED"),
            evidence(STABLE, told(A, 50)),
            evidence(STABLE, told(A, 5, "X")),
        ),
        (Read("a"), evidence(STABLE, read(A, 50)), evidence(STABLE)),
        (
            CaughtUp(("a",)),
            evidence(ASSIGNED, read(A, 90)),
            evidence(ASSIGNED),
        ),
        (Passed(500), evidence(end=600), evidence(end=400)),
    ],
)
def test_a_condition_is_met_or_not(condition: AnyCondition, met: object, unmet: object) -> None:
    assert is_met(condition, met, 0.0, 0.0)  # type: ignore[arg-type]
    assert not is_met(condition, unmet, 0.0, 0.0)  # type: ignore[arg-type]


def test_all_partitions_are_held_once_in_one_generation() -> None:
    both = [A, B, *settled(A, 10, 0), *settled(B, 20, 1, member="m2")]
    wanted = Settled(("a", "b"))
    assert is_met(wanted, evidence(both), 0, 0)
    idle = [A, B, *settled(A, 10, 0, 1), *settled(B, 20, member="m2")]
    assert not is_met(wanted, evidence(idle), 0, 0)
    twice = [A, B, *settled(A, 10, 0), *settled(B, 20, 0, member="m2")]
    assert not is_met(wanted, evidence(twice), 0, 0)
    apart = [A, B, *settled(A, 10, 0), *settled(B, 20, 1, member="m2", generation=2)]
    assert not is_met(wanted, evidence(apart), 0, 0)
    assert not is_met(wanted, evidence(both, partitions={TOPIC: 3}), 0, 0)


def test_what_was_settled_before_the_wait_is_not_settled_now() -> None:
    assert not is_met(Settled(("a",)), evidence(STABLE), 0, 100)
    assert is_met(Settled(("a",)), evidence(STABLE, heartbeat(A, 150)), 0, 100)


def test_calls_and_records_count_from_the_act_before_on() -> None:
    assert not is_met(Calls("a", "JoinGroup"), evidence(STABLE), 50, 50)
    assert not is_met(Read("a"), evidence(STABLE, read(A, 40)), 50, 50)


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (Settled(("a",)), "a did not have all partitions in one generation"),
        (Settled(("a", "b", "c")), "a, b and c did not share all partitions in one generation"),
        (Assigned("a"), "the user of a had no partitions"),
        (Calls("a", "JoinGroup"), "a sent no JoinGroup"),
        (Calls("a", "Heartbeat", 2), "a sent fewer than 2 requests Heartbeat"),
        (Answered("a", "SyncGroup", "X"), "a was not answered X in SyncGroup"),
        (Parked("a", "JoinGroup"), "no JoinGroup of a waited for its answer"),
        (ErrorReported("a"), "the user of a got no error"),
        (ErrorReported("a", "FENCED"), "the user of a got no error with FENCED in it"),
        (Read("a"), "the user of a read no records"),
        (Passed(1500), "1,500 ms had not passed"),
    ],
)
def test_a_wait_in_vain_is_a_sentence(condition: AnyCondition, words: str) -> None:
    assert missing(condition) == words


CONDITIONS = [Settled(("a",)), Assigned("a"), Calls("a", "JoinGroup"), Read("a"), Parked("a", "X")]


@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
def test_nobody_waits_for_a_consumer_whose_start_failed(condition: AnyCondition) -> None:
    refused = evidence(A, action("start", A, 10, outcome="COORDINATOR_NOT_AVAILABLE"))
    assert patience_ms(condition, refused, 15_000) == 0
    assert patience_ms(condition, evidence(A, action("start", A, 10)), 15_000) == 15_000
    assert patience_ms(Passed(500), refused, 1500) == 1500


def test_the_others_are_waited_for_where_one_start_failed() -> None:
    failed = action("start", B, 10, outcome="COORDINATOR_NOT_AVAILABLE")
    reads = evidence(B, failed, ASSIGNED, read(A, 90))
    assert is_met(CaughtUp(("a", "b")), reads, 0, 0)
    assert not is_met(CaughtUp(("a", "b")), evidence(B, failed, ASSIGNED), 0, 0)
    assert patience_ms(CaughtUp(("a", "b")), reads, 12_000) == 12_000
    assert patience_ms(Settled(("a", "b")), reads, 12_000) == 0


def test_who_asks_in_versions_that_are_gone_is_not_waited_for_long() -> None:
    versions = ((0.0, {"ListOffsets": (1, 11)}),)
    pieces = [A, call(A, "ListOffsets", 10, None, None, 0)]
    old = evidence(pieces, versions=versions)
    assert patience_ms(CaughtUp(("a",)), old, 12_000) == 1000
    assert patience_ms(Settled(("a",)), old, 15_000) == 1000
    assert patience_ms(Calls("a", "JoinGroup"), old, 15_000) == 15_000
    assert patience_ms(CaughtUp(("a",)), evidence(pieces), 12_000) == 12_000
