from __future__ import annotations

from collections.abc import Sequence

import pytest
from support.client_story import (
    Piece,
    assert_told_apart,
    assigned,
    evidence,
    join,
    revoked,
    run,
    settled,
    sync,
)

from fencepost.model.messages.errors import Error as Code
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.evidence import Call
from fencepost.properties.requirements.requirements import judge

A = run(assignor="cooperative-sticky")
B = run("b", instance="i-2", assignor="cooperative-sticky")
Given = Sequence[tuple[str, Sequence[int]]]


def led(
    given: Given, *, at: float = 10, generation: int = 1, protocol: str = "range"
) -> list[Piece]:
    """A leader of m1 and m2 assigns this; m1 owned both partitions before."""
    members = [("m1", [0, 1], generation - 1), ("m2", [], -1)]
    return [
        join(A, at, members=members, generation=generation, protocol=protocol),
        sync(A, at + 10, gives=given, generation=generation),
    ]


RIGHT = [("m1", [0]), ("m2", [1])]


@pytest.mark.parametrize(
    ("name", "given", "observed"),
    [
        ("CLIENT-LEADER-MEMBERS", [("m1", [0, 1])], "missing"),
        ("CLIENT-LEADER-MEMBERS", [*RIGHT, ("m3", [])], "no member"),
        ("CLIENT-LEADER-ONCE", [("m1", [0, 1]), ("m2", [1])], "twice"),
        ("CLIENT-LEADER-WHOLE", [("m1", [0]), ("m2", [])], "nobody"),
    ],
)
def test_what_a_leader_assigns(name: str, given: Given, observed: str) -> None:
    assert_told_apart(name, evidence(A, led(RIGHT)), evidence(A, led(given)), observed)
    assert judge(name, evidence(A)).outcome is Outcome.UNKNOWN


def test_an_assignment_that_another_follows_at_once_may_have_gaps() -> None:
    first = led([("m1", []), ("m2", [])])
    found = evidence(A, first, led(RIGHT, at=500, generation=2))
    assert judge("CLIENT-LEADER-WHOLE", found).outcome is Outcome.PASS
    later = led(RIGHT, at=2500, generation=2)
    assert judge("CLIENT-LEADER-WHOLE", evidence(A, first, later)).outcome is Outcome.FAIL
    slow = evidence(A, first, later, stalls=((300.0, 900.0),))
    assert judge("CLIENT-LEADER-WHOLE", slow).outcome is Outcome.PASS


def test_a_cooperative_partition_waits_until_it_was_revoked() -> None:
    name, protocol = "CLIENT-LEADER-COOPERATIVE", "cooperative-sticky"
    users = [assigned(A, 3, 0, 1), revoked(A, 25, 1), assigned(B, 400, 1)]
    right = led([("m1", [0]), ("m2", [])], generation=2, protocol=protocol)
    again = join(A, 205, "m1")
    found = evidence(A, B, settled(B, 5, member="m2"), right, users, again)
    assert judge(name, found).outcome is Outcome.PASS
    quiet = evidence(A, B, settled(B, 5, member="m2"), right, users)
    assert "does not join again" in judge(name, quiet).observed
    early = led(RIGHT, generation=2, protocol=protocol)
    assert "handed over" in judge(name, evidence(A, B, early, users)).observed
    both = [assigned(A, 30, 0, 1), assigned(B, 400, 1), revoked(A, 900, 1)]
    two = evidence(A, B, join(A, 1), join(B, 2, gives="m2"), right, both)
    assert "two users" in judge(name, two).observed
    slow = evidence(A, B, join(A, 1), join(B, 2, gives="m2"), right, both, stalls=((420.0, 600.0),))
    assert "two users" not in judge(name, slow).observed
    assert judge(name, evidence(A, B)).outcome is Outcome.UNKNOWN


def test_instances_keep_their_partitions_in_a_rebalance_after_a_restart() -> None:
    name = "CLIENT-LEADER-INSTANCES"
    a, old, new = (
        run(),
        run("b", instance="i-2", ended=500),
        run("b", 2, instance="i-2", began=600),
    )
    begun = [a, old, new, *settled(a, 10, 0), *settled(old, 20, 1, member="m2")]
    back = settled(new, 700, 1, member="m3")
    again = [join(a, 1000, "m1", members=[("m1", [0], 1), ("m3", [1], 1)], generation=2)]
    again.append(sync(a, 1010, generation=2, gives=[("m1", [0]), ("m3", [1])]))
    kept = [assigned(a, 1020, 0), assigned(new, 1020, 1)]
    moved = [assigned(a, 1020, 1), assigned(new, 1020, 0)]
    assert judge(name, evidence(begun, back, again, kept)).outcome is Outcome.PASS
    assert "other partitions" in judge(name, evidence(begun, back, again, moved)).observed
    slow = evidence(begun, back, again, moved, stalls=((1015.0, 800.0),))
    assert judge(name, slow).outcome is Outcome.UNKNOWN
    assert judge(name, evidence(begun, back)).outcome is Outcome.UNKNOWN


def missed(given: Given, claimed: Sequence[int] = (1,)) -> list[Piece]:
    """Return a story: B misses generation 2, and joins generation 3, where A leads and C is new."""
    cooperative = "cooperative-sticky"
    rows = [("m1", [0], 2), ("m2", claimed, 1), ("m3", [], -1)]
    return [
        *settled(A, 10, 0, generation=1, protocol=cooperative),
        *settled(B, 10, 1, member="m2", generation=1, protocol=cooperative),
        join(B, 100, "m2", gives="m2", generation=2, protocol=cooperative),
        sync(B, 110, "m2", generation=2, error=Code.REBALANCE_IN_PROGRESS),
        join(B, 120, "m2", gives="m2", generation=3, protocol=cooperative),
        join(A, 130, "m1", members=rows, generation=3, protocol=cooperative),
        sync(A, 140, "m1", gives=given, generation=3),
    ]


@pytest.mark.parametrize(
    ("claimed", "observed"),
    [((1,), "the claim of an older generation is passed over"), ((), "claims nothing")],
)
def test_who_missed_a_generation_keeps_what_it_has(claimed: Sequence[int], observed: str) -> None:
    right = missed([("m1", [0]), ("m2", [1]), ("m3", [])], claimed)
    wrong = missed([("m1", [0]), ("m2", []), ("m3", [1])], claimed)
    name = "CLIENT-LEADER-MISSED-GENERATION"
    assert_told_apart(name, evidence(A, B, right), evidence(A, B, wrong), observed)


def test_a_claim_that_a_newer_one_is_against_is_none() -> None:
    story = missed([("m1", [0, 1]), ("m2", []), ("m3", [])], (0, 1))
    leader = [p for p in story if isinstance(p, Call) and p.at_ms == 130]
    newer = join(
        A,
        130,
        "m1",
        members=[("m1", [0, 1], 2), ("m2", [1], 1), ("m3", [], -1)],
        generation=3,
        protocol="cooperative-sticky",
    )
    kept = [p for p in story if p not in leader]
    found = evidence(A, B, kept, newer)
    assert judge("CLIENT-LEADER-MISSED-GENERATION", found).outcome is Outcome.PASS


def test_a_partition_waits_for_dynamic_members_too() -> None:
    one, two = (
        run(name, instance=None, assignor="cooperative-sticky", process=name) for name in "ab"
    )
    begun = [one, two, join(one, 1), join(two, 2, gives="m2"), assigned(one, 30, 0, 1)]
    both = evidence(begun, assigned(two, 400, 1), revoked(one, 900, 1))
    assert "two users" in judge("CLIENT-LEADER-COOPERATIVE", both).observed
