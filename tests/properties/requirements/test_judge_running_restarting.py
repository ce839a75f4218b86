from __future__ import annotations

from typing import Any

import pytest
from support.client_story import (
    Piece,
    assigned,
    evidence,
    heartbeat,
    join,
    revoked,
    run,
    settled,
    sync,
)

from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.evidence import ConsumerRun
from fencepost.properties.requirements.requirements import judge

LEADER = [leader := run("l", instance="i-0"), *settled(leader, 1, 0, member="l1", leader="l1")]


def pair(consumer: str, instance: str, **fields: Any) -> tuple[ConsumerRun, ConsumerRun]:
    old = run(consumer, instance=instance, ended=1000, how="closed", **fields)
    return old, run(consumer, 2, instance=instance, began=1200, **fields)


def restart(
    old: ConsumerRun,
    new: ConsumerRun,
    *numbers: int,
    member: str = "m1",
    generation: int = 1,
) -> list[Piece]:
    """A member has partition 1; it comes back with these."""
    return [
        old,
        *settled(old, 10, 1, member=member, leader="l1"),
        heartbeat(old, 900, member),
        new,
        *settled(new, 1300, *numbers, member=f"{member}'", leader="l1", generation=generation),
    ]


B = pair("b", "i-1")
C = pair("c", "i-2")
CRASHED = (run("b", ended=1000, how="crashed"), run("b", 2, began=1200))
COOPERATIVE = pair("b", "i-1", assignor="cooperative-sticky")

FOLLOWER = [*LEADER, *restart(*B, 1)]
FOLLOWERS = ["CLIENT-RESTART-FOLLOWER", "CLIENT-RESTART-CRASHED", "CLIENT-RESTART-COOPERATIVE"]
WHO = {
    "CLIENT-RESTART-FOLLOWER": B,
    "CLIENT-RESTART-CRASHED": CRASHED,
    "CLIENT-RESTART-COOPERATIVE": COOPERATIVE,
}


@pytest.mark.parametrize("name", FOLLOWERS)
def test_a_follower_comes_back_and_nothing_moves(name: str) -> None:
    who = WHO[name]
    assert judge(name, evidence(LEADER, restart(*who, 1))).outcome is Outcome.PASS
    wrongs = {
        "a rebalance": restart(*who, 1, generation=2),
        "other partitions": restart(*who, 0),
        "no partitions": restart(*who),
        "another member is disturbed": [*restart(*who, 1), join(leader, 1250, "l1")],
    }
    for observed, wrong in wrongs.items():
        verdict = judge(name, evidence(LEADER, wrong))
        assert verdict.outcome is Outcome.FAIL, observed
        assert observed in verdict.observed
    assert judge(name, evidence(LEADER)).outcome is Outcome.UNKNOWN


def test_who_is_told_of_other_partitions_is_disturbed() -> None:
    moved = [revoked(leader, 1250, 0), assigned(leader, 1260, 0)]
    verdict = judge("CLIENT-RESTART-FOLLOWER", evidence(FOLLOWER, moved))
    assert verdict.observed == "another member is disturbed by a restart"


def test_what_moved_on_a_slow_machine_is_unknown() -> None:
    found = evidence(LEADER, restart(*B, 1, generation=2), stalls=((500.0, 900.0),))
    assert judge("CLIENT-RESTART-FOLLOWER", found).outcome is Outcome.UNKNOWN


def test_who_was_away_for_longer_than_its_session_is_not_judged() -> None:
    old, new = run("b", ended=1000), run("b", 2, began=8000)
    found = [old, *settled(old, 10, 1), new, *settled(new, 8100, 1, generation=2)]
    assert judge("CLIENT-RESTART-FOLLOWER", evidence(LEADER, found)).outcome is Outcome.UNKNOWN


def led(
    *, generation: int = 1, skip: bool = False, assigns: bool = False, version: int = 9
) -> list[Piece]:
    """The leader comes back."""
    old, new = pair("l", "i-0")
    leads = "l1" if version < 9 else "l2"
    gives = [("l2", [0])] if assigns else []
    return [
        old,
        *settled(old, 10, 0, member="l1", leader="l1", version=version),
        heartbeat(old, 900, "l1"),
        new,
        join(
            new, 1300, gives="l2", leader=leads, generation=generation, skip=skip, version=version
        ),
        sync(new, 1310, "l2", generation=generation, gives=gives),
        assigned(new, 1320, 0),
    ]


def test_a_leader_comes_back() -> None:
    name = "CLIENT-RESTART-LEADER"
    assert judge(name, evidence(led())).outcome is Outcome.PASS
    assert "a rebalance" in judge(name, evidence(led(generation=2))).observed
    assert judge(name, evidence(FOLLOWER)).outcome is Outcome.UNKNOWN


def test_a_leader_that_skips_the_assignment() -> None:
    name = "CLIENT-RESTART-SKIPPED"
    assert judge(name, evidence(led(skip=True))).outcome is Outcome.PASS
    assert "assigns" in judge(name, evidence(led(skip=True, assigns=True))).observed
    assert judge(name, evidence(led())).outcome is Outcome.UNKNOWN
    assert judge(name, evidence(led(version=7))).outcome is Outcome.UNSUPPORTED
    assert judge(name, evidence(led(generation=2))).outcome is Outcome.UNSUPPORTED


def test_a_leader_below_join_9() -> None:
    name = "CLIENT-RESTART-LEADER-OLD"
    assert judge(name, evidence(led(version=8))).outcome is Outcome.PASS
    assert "assigns" in judge(name, evidence(led(version=8, assigns=True))).observed
    assert "a rebalance" in judge(name, evidence(led(version=8, generation=2))).observed
    assert judge(name, evidence(led())).outcome is Outcome.UNKNOWN


def test_all_members_one_after_the_other() -> None:
    name = "CLIENT-RESTART-ALL"
    others = [pair(consumer, f"i-{consumer}") for consumer in ("b", "c", "d")]
    right = [restart(*who, 1, member=who[0].consumer) for who in others]
    assert judge(name, evidence(LEADER, *right)).outcome is Outcome.PASS
    wrong = [*right[:2], restart(*others[2], 0, member="d")]
    assert "other partitions" in judge(name, evidence(LEADER, *wrong)).observed
    assert judge(name, evidence(LEADER, *right[:2])).outcome is Outcome.UNKNOWN


def test_a_member_that_is_restarted_again_had_its_partitions_until_then() -> None:
    second = run("b", 2, instance="i-1", began=1200, ended=2000, how="closed")
    third = run("b", 3, instance="i-1", began=2200)
    story = [
        *LEADER,
        *restart(B[0], second, 1),
        heartbeat(second, 1900, "m1'"),
        revoked(second, 2005, 1),
        third,
        *settled(third, 2300, 1, member="m1''", leader="l1"),
    ]
    assert judge("CLIENT-RESTART-FOLLOWER", evidence(story)).outcome is Outcome.PASS
