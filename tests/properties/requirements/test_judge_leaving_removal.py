from __future__ import annotations

import pytest
from support.client_story import (
    Piece,
    action,
    assert_told_apart,
    assigned,
    commit,
    evidence,
    heartbeat,
    join,
    lost,
    run,
    settled,
    sync,
)

from fencepost.model.messages.errors import Error as Code
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.requirements import judge

A = run()
STABLE: list[Piece] = [A, *settled(A, 10, 0, 1)]
BACK: list[Piece] = [
    heartbeat(A, 300, error=Code.UNKNOWN_MEMBER_ID),
    lost(A, 310, 0, 1),
    join(A, 320, gives="m2"),
    sync(A, 330, "m2"),
    assigned(A, 340, 0, 1),
]
AS_ANOTHER: list[Piece] = [lost(A, 310, 0, 1), join(A, 320, instance=None), assigned(A, 340, 0, 1)]
UNTOLD: list[Piece] = [join(A, 320, gives="m2"), assigned(A, 340, 0, 1)]


def removed(name: str = "remove", outcome: str = "ok") -> Piece:
    return action(name, A, 200, outcome=outcome)


BY_OBLIGATION: list[tuple[str, list[Piece], list[Piece], str]] = [
    (
        "CLIENT-REMOVED-COMES-BACK",
        [*STABLE, removed(), *BACK],
        [*STABLE, removed()],
        "does not come back after it was removed",
    ),
    (
        "CLIENT-REMOVED-COMES-BACK",
        [*STABLE, removed(), *BACK],
        [*STABLE, removed(), *AS_ANOTHER],
        "somebody else",
    ),
    (
        "CLIENT-REMOVED-COMES-BACK",
        [*STABLE, removed(), *BACK],
        [*STABLE, removed(), lost(A, 310, 0, 1), join(A, 320, gives="m2")],
        "no partitions",
    ),
    (
        "CLIENT-REMOVED-EXPIRED",
        [*STABLE, removed("expire"), *BACK],
        [*STABLE, removed("expire")],
        "after its session ended",
    ),
    (
        "CLIENT-REMOVED-NO-COMMITS",
        [*STABLE, removed(), commit(A, 250, error=Code.UNKNOWN_MEMBER_ID), *BACK],
        [*STABLE, removed(), commit(A, 250, "", generation=-1, instance=None), *BACK],
        "nobody's member",
    ),
    (
        "CLIENT-REMOVED-TOLD",
        [*STABLE, removed(), *BACK],
        [*STABLE, removed(), *UNTOLD],
        "not told",
    ),
]


@pytest.mark.parametrize(("name", "right", "wrong", "observed"), BY_OBLIGATION)
def test_what_is_right_holds_and_what_is_wrong_is_seen(
    name: str, right: list[Piece], wrong: list[Piece], observed: str
) -> None:
    assert_told_apart(name, evidence(right), evidence(wrong), observed)


def test_a_commit_that_names_a_generation_is_refused_so_it_is_not_nobodys() -> None:
    """librdkafka 2.12 forgets its member id first, and keeps the generation for a moment."""
    late = commit(A, 250, "", instance=None, error=Code.UNKNOWN_MEMBER_ID)
    found = evidence(STABLE, removed(), late, BACK)
    assert judge("CLIENT-REMOVED-NO-COMMITS", found).outcome is Outcome.PASS


@pytest.mark.parametrize("name", sorted({name for name, *_ in BY_OBLIGATION}))
def test_nothing_is_said_where_nobody_was_removed(name: str) -> None:
    refused = removed(outcome="UNKNOWN_MEMBER_ID")
    assert judge(name, evidence(STABLE, refused)).outcome is Outcome.UNKNOWN


def test_who_had_nothing_when_it_was_removed_loses_nothing() -> None:
    found = evidence(A, settled(A, 10)[:2], removed(), *UNTOLD)
    assert judge("CLIENT-REMOVED-TOLD", found).outcome is Outcome.UNKNOWN


def test_a_dynamic_member_comes_back_as_a_new_one() -> None:
    d = run(instance=None)
    gone = [d, *settled(d, 10, 0, 1), action("remove", d, 200)]
    back = [join(d, 320, gives="m2"), sync(d, 330, "m2"), assigned(d, 340, 0, 1)]
    name = "CLIENT-REMOVED-COMES-BACK"
    assert_told_apart(name, evidence(gone, back), evidence(gone), "does not come back")
    assert "not told" in judge("CLIENT-REMOVED-TOLD", evidence(gone, back)).observed


@pytest.mark.parametrize("name", sorted({name for name, *_ in BY_OBLIGATION}))
def test_nothing_is_said_where_a_failover_undid_the_removal(name: str) -> None:
    kept = heartbeat(A, 300), join(A, 400, "m1"), sync(A, 410, gets=(0, 1)), assigned(A, 420, 0, 1)
    gone = removed("expire" if name == "CLIENT-REMOVED-EXPIRED" else "remove")
    assert judge(name, evidence(STABLE, gone, kept)).outcome is Outcome.UNKNOWN


def test_who_reports_no_partitions_reports_no_loss() -> None:
    unseen = evidence(A, join(A, 10), sync(A, 20, gets=[0]), removed(), join(A, 320, gives="m2"))
    assert judge("CLIENT-REMOVED-TOLD", unseen).outcome is Outcome.UNSUPPORTED
