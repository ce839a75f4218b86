from __future__ import annotations

import pytest
from support.client_story import (
    NEWEST,
    OLD,
    SAME,
    Piece,
    action,
    assert_told_apart,
    call,
    evidence,
    run,
    settled,
    told,
    transact,
)

from fencepost.model.messages.errors import Error as Code
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.evidence import Call, ConsumerRun
from fencepost.properties.requirements.requirements import judge

A = run()
D = run(instance=None)
STABLE: list[Piece] = [A, *settled(A, 10, 0, 1)]
FENCED, UNKNOWN, GENERATION, LOADS = (
    Code.FENCED_INSTANCE_ID,
    Code.UNKNOWN_MEMBER_ID,
    Code.ILLEGAL_GENERATION,
    Code.COORDINATOR_LOAD_IN_PROGRESS,
)
ADVERTISED = {**NEWEST, "TxnOffsetCommit": (0, 5)}


def ends(at: float, *, commits: bool, of: ConsumerRun = A) -> Call:
    return call(of, "EndTxn", at, None, None, 3, code=0, commits=commits)


def user(outcome: str = "ok", message: str = "", at: float = 95, until: float = 130) -> Piece:
    return action("commit-in-transaction", A, at, until, outcome=outcome, message=message)


COMMITTED: list[Piece] = [*STABLE, user(), transact(A, 100), ends(110, commits=True)]
ABORTED = ends(110, commits=False)


def refused(error: Code, *more: Piece) -> list[Piece]:
    return [*STABLE, transact(A, 100, error=error), *more]


BY_OBLIGATION: list[tuple[str, list[Piece], list[Piece], str]] = [
    (
        "CLIENT-TRANSACTION-MEMBER",
        COMMITTED,
        [*STABLE, user(), transact(A, 100, "", generation=-1, instance=None)],
        "TxnOffsetCommit names no member",
    ),
    (
        "CLIENT-TRANSACTION-MEMBER",
        COMMITTED,
        [*STABLE, user(), transact(A, 100, generation=-1)],
        "TxnOffsetCommit names no member",
    ),
    (
        "CLIENT-TRANSACTION-MEMBER",
        [D, *settled(D, 10, 0), transact(D, 100)],
        [*STABLE, user(), transact(A, 100, instance=None)],
        "TxnOffsetCommit without the instance id",
    ),
    (
        "CLIENT-TRANSACTION-NEWEST",
        COMMITTED,
        [*STABLE, user(), transact(A, 100, version=2)],
        "TxnOffsetCommit of a version without members",
    ),
    (
        "CLIENT-TRANSACTION-FENCED",
        refused(FENCED, user(FENCED.name), ABORTED),
        refused(FENCED, user()),
        "FENCED_INSTANCE_ID in TxnOffsetCommit is not told",
    ),
    (
        "CLIENT-TRANSACTION-FENCED",
        refused(FENCED, user("X", "Fenced_Instance_Id"), ABORTED),
        refused(FENCED, user("X")),
        "FENCED_INSTANCE_ID in TxnOffsetCommit is not told",
    ),
    (
        "CLIENT-TRANSACTION-FENCED",
        refused(FENCED, user("X"), told(A, 120), ABORTED),
        refused(FENCED, user(FENCED.name), ends(110, commits=True)),
        "the transaction is committed after FENCED_INSTANCE_ID",
    ),
    (
        "CLIENT-TRANSACTION-REFUSED",
        refused(UNKNOWN, user("CommitFailedException"), ABORTED),
        refused(UNKNOWN, user()),
        "UNKNOWN_MEMBER_ID in TxnOffsetCommit is not told",
    ),
    (
        "CLIENT-TRANSACTION-REFUSED",
        refused(GENERATION, user("X"), ABORTED),
        refused(GENERATION, user("X"), ends(110, commits=True)),
        "the transaction is committed after ILLEGAL_GENERATION",
    ),
]


@pytest.mark.parametrize(("name", "right", "wrong", "observed"), BY_OBLIGATION)
def test_right_and_wrong_are_told_apart(
    name: str, right: list[Piece], wrong: list[Piece], observed: str
) -> None:
    versions = ((0.0, ADVERTISED),)
    right_, wrong_ = evidence(right, versions=versions), evidence(wrong, versions=versions)
    assert_told_apart(name, right_, wrong_, observed)


@pytest.mark.parametrize(
    "name", [row for row, *_ in BY_OBLIGATION if row != "CLIENT-TRANSACTION-NEWEST"]
)
def test_a_version_without_members_is_no_lie_about_them(name: str) -> None:
    story = evidence([*STABLE, user(), transact(A, 100, version=2)])
    assert judge(name, story).outcome is Outcome.UNSUPPORTED


@pytest.mark.parametrize("name", dict.fromkeys(row for row, *_ in BY_OBLIGATION))
def test_without_a_transaction_nothing_is_shown(name: str) -> None:
    assert judge(name, evidence(STABLE)).outcome is Outcome.UNKNOWN


def test_an_old_broker_leaves_no_choice() -> None:
    story = evidence(
        [*STABLE, transact(A, 100, version=2)],
        versions=((0.0, {**OLD, "TxnOffsetCommit": (0, 2)}),),
    )
    assert judge("CLIENT-TRANSACTION-NEWEST", story).outcome is Outcome.UNKNOWN


def test_offsets_that_are_accepted_in_the_end_were_not_refused() -> None:
    story = refused(GENERATION, transact(A, 105, instance=SAME), user(), ends(110, commits=True))
    assert judge("CLIENT-TRANSACTION-REFUSED", evidence(story)).outcome is Outcome.UNKNOWN
    assert judge("CLIENT-TRANSACTION-FENCED", evidence(COMMITTED)).outcome is Outcome.UNKNOWN
    unsupported = [*refused(FENCED), user("unsupported")]
    assert judge("CLIENT-TRANSACTION-FENCED", evidence(unsupported)).outcome is Outcome.UNKNOWN
