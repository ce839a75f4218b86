from __future__ import annotations

import pytest
from support.client_story import (
    Piece,
    action,
    assert_told_apart,
    assigned,
    beats,
    commit,
    evidence,
    heartbeat,
    join,
    lost,
    read,
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
AUTO = run(instance=None, auto_commit_ms=100)
STABLE: list[Piece] = [A, *settled(A, 10, 0, 1)]
GENERATION, UNKNOWN, REBALANCE, LOADS = (
    Code.ILLEGAL_GENERATION,
    Code.UNKNOWN_MEMBER_ID,
    Code.REBALANCE_IN_PROGRESS,
    Code.COORDINATOR_LOAD_IN_PROGRESS,
)


def user_commits(outcome: str = "ok", until: float = 120, at: float = 95) -> Piece:
    return action("commit", A, at, until, outcome=outcome)


AGAIN = join(A, 90, "m1", generation=2)
LATE: list[Piece] = [*STABLE, AGAIN, commit(A, 100, error=GENERATION)]
BACK: list[Piece] = [sync(A, 110, generation=2), assigned(A, 112, 0, 1)]
RESUBSCRIBED: list[Piece] = [
    *STABLE,
    action("unsubscribe", A, 100),
    action("subscribe", A, 110),
    join(A, 120),
    sync(A, 130),
    assigned(A, 140, 0, 1),
]
REPORT = told(A, 130, "ILLEGAL_GENERATION", fatal=False)
PRODUCED = action("produce", None, 200)
R = run(instance=None, commit_on_revoke=True)
REFUSED = commit(R, 100, error=GENERATION)
REVOKED: list[Piece] = [join(R, 200, "m1"), sync(R, 210), assigned(R, 220, 0)]
B = run("b", instance="i-2")
GONE = run(ended=4000, how="closed")
IDLE: list[Piece] = [
    A,
    B,
    join(A, 10),
    sync(A, 11, gets=(0,)),
    assigned(A, 12, 0),
    join(B, 12, gives="m2"),
    sync(B, 14, "m2"),
]

BY_OBLIGATION: list[tuple[str, list[Piece], list[Piece], str]] = [
    (
        "CLIENT-COMMIT-OF-MEMBER",
        [*STABLE, commit(A, 100)],
        [*STABLE, commit(A, 100, "", generation=-1)],
        "commits as nobody's member",
    ),
    (
        "CLIENT-COMMIT-OF-MEMBER",
        [*STABLE, commit(A, 100)],
        [*STABLE, commit(A, 100, "m1", generation=-1)],
        "commits as nobody's member",
    ),
    (
        "CLIENT-COMMIT-LATE",
        [*LATE, *BACK],
        [*LATE, lost(A, 105, 0, 1), *BACK],
        "loses its partitions by a late commit",
    ),
    (
        "CLIENT-COMMIT-LATE",
        [*LATE, *BACK],
        [*LATE, sync(A, 104, generation=-1, error=GENERATION), lost(A, 108, 0, 1), join(A, 110)],
        "loses its partitions by a late commit",
    ),
    (
        "CLIENT-COMMIT-LATE",
        [*LATE, *BACK],
        [*LATE, join(A, 110), *BACK],
        "joins as a new member after a late commit",
    ),
    (
        "CLIENT-COMMIT-REFUSED",
        [*STABLE, commit(A, 100, error=UNKNOWN), user_commits("UNKNOWN_MEMBER_ID")],
        [*STABLE, commit(A, 100, error=UNKNOWN), user_commits()],
        "commit returns in spite of UNKNOWN_MEMBER_ID",
    ),
    (
        "CLIENT-COMMIT-REFUSED",
        [*STABLE, commit(A, 100, error=LOADS), commit(A, 110), user_commits()],
        [*STABLE, commit(A, 100, error=LOADS), user_commits()],
        "commit returns in spite of COORDINATOR_LOAD_IN_PROGRESS",
    ),
    (
        "CLIENT-COMMIT-RETRIED",
        [*STABLE, commit(A, 100, error=LOADS), commit(A, 110), user_commits()],
        [*STABLE, commit(A, 100, error=LOADS), user_commits("COORDINATOR_LOAD_IN_PROGRESS")],
        "a commit fails after COORDINATOR_LOAD_IN_PROGRESS",
    ),
    (
        "CLIENT-COMMIT-RETRIED",
        [*STABLE, commit(A, 100, error=LOADS), commit(A, 110), user_commits()],
        [*STABLE, commit(A, 100, error=LOADS), user_commits("late")],
        "a commit fails after COORDINATOR_LOAD_IN_PROGRESS",
    ),
    (
        "CLIENT-COMMIT-COMES-BACK",
        [*STABLE, commit(A, 100, error=REBALANCE), join(A, 150, "m1")],
        [*STABLE, commit(A, 100, error=REBALANCE)],
        "does not join at once after REBALANCE_IN_PROGRESS",
    ),
    (
        "CLIENT-COMMIT-COMES-BACK",
        [*STABLE, commit(A, 100, error=GENERATION), join(A, 150, "m1")],
        [*STABLE, commit(A, 100, error=GENERATION), join(A, 6000, "m1")],
        "does not join at once after ILLEGAL_GENERATION",
    ),
    (
        "CLIENT-COMMIT-COMES-BACK",
        [*STABLE, commit(A, 100, error=UNKNOWN), join(A, 150)],
        [*STABLE, commit(A, 100, error=UNKNOWN), join(A, 150, instance=None)],
        "joins as somebody else after UNKNOWN_MEMBER_ID",
    ),
    (
        "CLIENT-SUBSCRIBE-AGAIN",
        [*RESUBSCRIBED, PRODUCED, read(A, 250)],
        [*RESUBSCRIBED, PRODUCED],
        "no records after it subscribed again",
    ),
    (
        "CLIENT-SUBSCRIBE-AGAIN",
        [*RESUBSCRIBED, PRODUCED, read(A, 250)],
        [*RESUBSCRIBED, lost(A, 300, 0, 1)],
        "no partitions after it subscribed again",
    ),
    (
        "CLIENT-COMMIT-ON-REVOKE",
        [R, *settled(R, 10, 0, 1), REFUSED, *REVOKED],
        [R, *settled(R, 10, 0, 1), REFUSED],
        "no JoinGroup after ILLEGAL_GENERATION in a commit of the revoke callback",
    ),
    (
        "CLIENT-COMMIT-ON-REVOKE",
        [R, *settled(R, 10, 0, 1), REFUSED, *REVOKED],
        [R, *settled(R, 10, 0, 1), REFUSED, *REVOKED, lost(R, 300, 0, 1)],
        "no partitions after ILLEGAL_GENERATION in a commit of the revoke callback",
    ),
    (
        "CLIENT-SUBSCRIBE-GROWS",
        [A, *settled(A, 10, 0), action("add-partitions", None, 100), assigned(A, 500, 0, 1)],
        [A, *settled(A, 10, 0), action("add-partitions", None, 100)],
        "a new partition is assigned to nobody",
    ),
    (
        "CLIENT-SUBSCRIBE-IDLE",
        [*IDLE, *beats(B, 40, 9000)],
        IDLE,
        "no heartbeats without partitions",
    ),
    (
        "CLIENT-SUBSCRIBE-IDLE",
        [*IDLE, *beats(B, 40, 9000)],
        [*IDLE, *beats(B, 40, 3000), join(B, 3000, "m2", gives="m2"), *beats(B, 3100, 9000)],
        "joins again without partitions",
    ),
    (
        "CLIENT-SUBSCRIBE-IDLE",
        [*IDLE, *beats(B, 40, 9000)],
        [*IDLE, *beats(B, 40, 9000), told(B, 1000)],
        "a fatal error without partitions",
    ),
    (
        "CLIENT-SUBSCRIBE-IDLE",
        [GONE, *IDLE[1:], *beats(B, 40, 9000), assigned(B, 5000, 0)],
        [GONE, *IDLE[1:], *beats(B, 40, 9000)],
        "no partitions after the others had gone",
    ),
    (
        "CLIENT-COMMIT-REFUSED",
        [*STABLE, commit(A, 100, error=GENERATION), user_commits(), REPORT],
        [*STABLE, commit(A, 100, error=REBALANCE), user_commits(), REPORT],
        "commit returns in spite of REBALANCE_IN_PROGRESS",
    ),
    (
        "CLIENT-SUBSCRIBE-NOT-FENCED",
        RESUBSCRIBED,
        [*RESUBSCRIBED, told(A, 160)],
        "is told that it is fenced, and nobody else has its place",
    ),
]


@pytest.mark.parametrize(("name", "right", "wrong", "observed"), BY_OBLIGATION)
def test_right_and_wrong_are_told_apart(
    name: str, right: list[Piece], wrong: list[Piece], observed: str
) -> None:
    assert_told_apart(name, evidence(right), evidence(wrong), observed)


def test_a_loss_that_another_answer_asked_for_is_not_the_commits() -> None:
    gone = heartbeat(A, 99.5, error=UNKNOWN)
    story = [*LATE, gone, lost(A, 105, 0, 1), *BACK]
    assert judge("CLIENT-COMMIT-LATE", evidence(story)).outcome is Outcome.PASS


def test_a_commit_of_the_present_generation_may_cost_the_partitions() -> None:
    story = [*STABLE, commit(A, 100, error=GENERATION), lost(A, 105, 0, 1), join(A, 110, "m1")]
    assert judge("CLIENT-COMMIT-LATE", evidence(story)).outcome is Outcome.UNKNOWN


def test_who_sends_no_commit_while_it_joins_loses_nothing_by_it() -> None:
    refused = [*STABLE, join(A, 90, "m1", generation=2), action("commit", A, 90.5, outcome="X")]
    assert judge("CLIENT-COMMIT-LATE", evidence(refused)).outcome is Outcome.PASS
    parked = join(AUTO, 90, "m1", generation=2)
    parked.answered_ms = 400
    story = [AUTO, *settled(AUTO, 10, 0, 1), parked]
    assert judge("CLIENT-COMMIT-LATE", evidence(story)).outcome is Outcome.PASS


def test_a_failed_subscription_shows_nothing() -> None:
    story = [*STABLE, action("unsubscribe", A, 100), action("subscribe", A, 110, outcome="X")]
    assert judge("CLIENT-SUBSCRIBE-AGAIN", evidence(story)).outcome is Outcome.UNKNOWN


def test_who_has_a_rival_may_be_fenced() -> None:
    rival = run("b")
    story = [*RESUBSCRIBED, rival, told(A, 160)]
    assert judge("CLIENT-SUBSCRIBE-NOT-FENCED", evidence(story)).outcome is Outcome.UNKNOWN


def test_a_refusal_that_is_told_much_later_is_not_told_of_that_commit() -> None:
    late = told(A, 5000, "ILLEGAL_GENERATION", fatal=False)
    story = [*STABLE, commit(A, 100, error=GENERATION), user_commits(), late]
    assert judge("CLIENT-COMMIT-REFUSED", evidence(story)).outcome is Outcome.FAIL


def test_a_leader_that_knows_no_partitions_yet_may_join_again() -> None:
    story = [A, join(A, 10), sync(A, 20), join(A, 100, "m1"), sync(A, 110, gets=(0,), generation=2)]
    assert judge("CLIENT-SUBSCRIBE-IDLE", evidence(story)).outcome is Outcome.UNKNOWN
