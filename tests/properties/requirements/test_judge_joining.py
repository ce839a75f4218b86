from __future__ import annotations

import pytest
from support.client_story import (
    Piece,
    assert_told_apart,
    assigned,
    call,
    ended,
    evidence,
    find,
    heartbeat,
    join,
    leave,
    run,
    settled,
    sync,
    told,
)

from fencepost.model.messages.errors import Error as Code
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.requirements import judge

A = run()
D = run(instance=None)
REQUIRED = join(D, 10, error=Code.MEMBER_ID_REQUIRED, gives="d1")
STABLE: list[Piece] = [A, *settled(A, 10, 0, 1)]
UNKNOWN, GENERATION, REBALANCE = (
    heartbeat(A, 100, error=code)
    for code in (Code.UNKNOWN_MEMBER_ID, Code.ILLEGAL_GENERATION, Code.REBALANCE_IN_PROGRESS)
)
MOVED = heartbeat(A, 100, error=Code.NOT_COORDINATOR)
LOADING = heartbeat(A, 100, error=Code.COORDINATOR_LOAD_IN_PROGRESS)
BACK: list[Piece] = [sync(A, 210), assigned(A, 220, 0, 1), heartbeat(A, 300)]
HOT = [heartbeat(A, 100 + n * 5, error=Code.COORDINATOR_NOT_AVAILABLE) for n in range(60)]
SLOWLY = [heartbeat(A, 100 + n * 21, error=Code.COORDINATOR_NOT_AVAILABLE) for n in range(11)]
"""A machine with other work: few in a second, each within 20 ms of the answer before."""

BY_OBLIGATION: list[tuple[str, list[Piece], list[Piece], str]] = [
    ("CLIENT-JOIN-EMPTY-FIRST", STABLE, [A, join(A, 10, "m0")], "first"),
    (
        "CLIENT-JOIN-ID-REQUIRED",
        [D, REQUIRED, join(D, 20, "d1")],
        [D, REQUIRED, join(D, 20)],
        "another member id",
    ),
    ("CLIENT-JOIN-ID-REQUIRED", [D, REQUIRED, join(D, 20, "d1")], [D, REQUIRED], "no JoinGroup"),
    (
        "CLIENT-JOIN-LOST-ANSWER",
        [A, join(A, 10, lost="lose"), *settled(A, 20, 0)],
        [A, join(A, 10, lost="lose"), *settled(A, 20, 0, instance="x")],
        "somebody else",
    ),
    (
        "CLIENT-JOIN-LOST-ANSWER",
        [A, join(A, 10, lost="lose"), *settled(A, 20, 0)],
        [A, join(A, 10, lost="lose"), join(A, 20, lost="lose")],
        "no JoinGroup",
    ),
    (
        "CLIENT-JOIN-CUT",
        [A, join(A, 10, lost="cut"), *settled(A, 20, 0)],
        [A, join(A, 10, lost="cut"), join(A, 20, error=Code.FENCED_INSTANCE_ID)],
        "no partitions",
    ),
    (
        "CLIENT-JOIN-UNKNOWN-MEMBER",
        [*STABLE, UNKNOWN, join(A, 200), *BACK],
        [*STABLE, UNKNOWN, join(A, 200, instance=None), *BACK],
        "somebody else after UNKNOWN_MEMBER_ID",
    ),
    (
        "CLIENT-JOIN-UNKNOWN-EMPTY",
        [*STABLE, UNKNOWN, join(A, 200), *BACK],
        [*STABLE, UNKNOWN, join(A, 200, "m1"), *BACK],
        "somebody else after UNKNOWN_MEMBER_ID",
    ),
    (
        "CLIENT-JOIN-SILENT",
        [A, join(A, 10, lost="lose"), *settled(A, 20, 0)],
        [A, join(A, 10, lost="lose"), told(A, 15, "EOF")],
        "fatal after a lost answer",
    ),
    (
        "CLIENT-JOIN-UNKNOWN-MEMBER",
        [*STABLE, UNKNOWN, join(A, 200), *BACK],
        [*STABLE, UNKNOWN],
        "no JoinGroup after UNKNOWN_MEMBER_ID",
    ),
    (
        "CLIENT-JOIN-ILLEGAL-GENERATION",
        [*STABLE, GENERATION, join(A, 200, "m1"), *BACK],
        [*STABLE, GENERATION, join(A, 200, instance=None), *BACK],
        "somebody else after ILLEGAL_GENERATION",
    ),
    (
        "CLIENT-JOIN-REBALANCE",
        [*STABLE, REBALANCE, join(A, 200, "m1"), *BACK],
        [*STABLE, REBALANCE, join(A, 200), *BACK],
        "somebody else after REBALANCE_IN_PROGRESS",
    ),
    (
        "CLIENT-JOIN-COORDINATOR",
        [*STABLE, MOVED, find(A, 150), heartbeat(A, 200)],
        [*STABLE, MOVED, heartbeat(A, 200)],
        "no FindCoordinator",
    ),
    (
        "CLIENT-JOIN-COORDINATOR",
        [*STABLE, MOVED, find(A, 150), heartbeat(A, 200)],
        [*STABLE, MOVED, find(A, 150), join(A, 200, gives="m2")],
        "is somebody else",
    ),
    (
        "CLIENT-JOIN-LOADING",
        [*STABLE, LOADING, heartbeat(A, 200)],
        [*STABLE, LOADING],
        "does not go on",
    ),
    (
        "CLIENT-JOIN-BACKOFF",
        [*STABLE, *HOT[::10]],
        [*STABLE, *HOT],
        "hot loop of Heartbeat",
    ),
    (
        "CLIENT-JOIN-BACKOFF",
        [*STABLE, MOVED],
        [*STABLE, *(find(A, 100 + n, 15) for n in range(60))],
        "hot loop of FindCoordinator",
    ),
    (
        "CLIENT-JOIN-BACKOFF",
        [*STABLE, *SLOWLY[:10]],
        [*STABLE, *SLOWLY],
        "hot loop of Heartbeat",
    ),
    *(
        (
            "CLIENT-JOIN-BACKOFF",
            [*STABLE, *(call(A, api, 100 + n * 50, None, None, 8, code=6) for n in range(30))],
            [*STABLE, *(call(A, api, 100 + n, None, None, 8, code=6) for n in range(60))],
            f"hot loop of {api}",
        )
        for api in ("OffsetFetch", "ListOffsets", "Fetch")
    ),
    (
        "CLIENT-JOIN-SILENT",
        [*STABLE, MOVED, told(A, 150, "RETRIABLE", fatal=False)],
        [*STABLE, MOVED, told(A, 150, "NOT_COORDINATOR")],
        "fatal",
    ),
    ("CLIENT-JOIN-SILENT", [*STABLE, MOVED], [*STABLE, MOVED, ended(A, 150)], "ends"),
]


@pytest.mark.parametrize(("name", "right", "wrong", "observed"), BY_OBLIGATION)
def test_what_is_right_holds_and_what_is_wrong_is_seen(
    name: str, right: list[Piece], wrong: list[Piece], observed: str
) -> None:
    assert_told_apart(name, evidence(right), evidence(wrong), observed)


def test_what_follows_from_being_fenced_is_not_held_against_trouble_before() -> None:
    fenced = heartbeat(A, 300, error=Code.FENCED_INSTANCE_ID)
    found = evidence(STABLE, MOVED, fenced, told(A, 310), ended(A, 320))
    assert judge("CLIENT-JOIN-SILENT", found).outcome is Outcome.PASS


def test_an_error_of_readers_has_its_name_in_the_sentence() -> None:
    refused = [call(A, "Fetch", 100 + n, None, None, 8, code=6) for n in range(60)]
    verdict = judge("CLIENT-JOIN-BACKOFF", evidence(STABLE, refused))
    assert verdict.sentence.endswith("while it was answered NOT_LEADER_OR_FOLLOWER")


@pytest.mark.parametrize("name", sorted({name for name, *_ in BY_OBLIGATION}))
def test_nothing_is_said_where_nothing_happened(name: str) -> None:
    assert judge(name, evidence(A)).outcome is Outcome.UNKNOWN


def test_a_refusal_at_the_end_of_a_life_asks_for_nothing() -> None:
    over = run(ended=90, how="closed")
    found = evidence(
        over, *settled(over, 10, 0), heartbeat(over, 100, error=Code.UNKNOWN_MEMBER_ID)
    )
    assert judge("CLIENT-JOIN-UNKNOWN-MEMBER", found).outcome is Outcome.UNKNOWN


def test_old_versions_of_join_require_no_member_id() -> None:
    verdict = judge("CLIENT-JOIN-ID-REQUIRED", evidence(D, join(D, 10, version=2, instance=None)))
    assert verdict.outcome is Outcome.UNSUPPORTED


def test_a_join_on_its_way_is_the_reaction() -> None:
    late = heartbeat(A, 100, error=Code.REBALANCE_IN_PROGRESS)
    found = evidence(STABLE, late, join(A, 100.5, "m1"), BACK)
    assert judge("CLIENT-JOIN-REBALANCE", found).outcome is Outcome.UNKNOWN


HELD: list[Piece] = [D, *settled(D, 10, 0, 1, instance=None)]
REFUSED = heartbeat(D, 100, error=Code.UNKNOWN_MEMBER_ID)


@pytest.mark.parametrize(
    ("name", "trouble"),
    [
        ("CLIENT-JOIN-UNKNOWN-MEMBER", [REFUSED]),
        ("CLIENT-JOIN-ILLEGAL-GENERATION", [heartbeat(D, 100, error=Code.ILLEGAL_GENERATION)]),
        ("CLIENT-JOIN-LOST-ANSWER", [join(D, 100, "m1", lost="lose")]),
        ("CLIENT-JOIN-CUT", [join(D, 100, "m1", lost="cut")]),
    ],
)
def test_a_dynamic_member_has_to_join_again(name: str, trouble: list[Piece]) -> None:
    back: list[Piece] = [join(D, 200), sync(D, 210), assigned(D, 220, 0, 1)]
    assert_told_apart(name, evidence(HELD, trouble, back), evidence(HELD, trouble), "no JoinGroup")


def test_who_has_left_need_not_join_again() -> None:
    found = evidence(HELD, leave(D, 90), REFUSED)
    assert judge("CLIENT-JOIN-UNKNOWN-MEMBER", found).outcome is Outcome.UNKNOWN
    back = evidence(HELD, leave(D, 50), join(D, 60), REFUSED)
    assert "no JoinGroup" in judge("CLIENT-JOIN-UNKNOWN-MEMBER", back).observed
