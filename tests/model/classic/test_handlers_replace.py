"""REPLACE: an instance that joins with an empty id takes its holder's place, in every state."""

from __future__ import annotations

import pytest
from support.world import PARKED, D, S, World, offers

from fencepost.model.classic.effects import Do
from fencepost.model.revision import Revision, SetRule, derive
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.revisions.revision_soundness import revision_faults

EVERYWHERE = pytest.mark.parametrize("state", ["preparing", "completing", "stable"])


@EVERYWHERE
def test_the_map_follows_and_the_old_id_is_fenced_everywhere(state: str) -> None:
    world = World()
    seats = getattr(world, state)("A", "B")
    old, gen = seats["B"].mid, world.group().generation_id
    world.join("B")
    new = world.group().holder("B")
    assert new is not None
    assert new != old
    assert world.group().member(old) is None
    assert world.beat("B", old, gen) == "FENCED_INSTANCE_ID"
    assert world.sync("B", old, gen).error == "FENCED_INSTANCE_ID"
    assert world.join("B", old).error == "FENCED_INSTANCE_ID"
    assert world.commit(old, gen, "B").partitions == ["FENCED_INSTANCE_ID"]
    assert world.leave((old, "B")).rows == ["FENCED_INSTANCE_ID"]
    assert world.beat("B", old, gen, inst=None) == "UNKNOWN_MEMBER_ID"


@EVERYWHERE
def test_the_leader_id_follows_the_leaders_instance(state: str) -> None:
    world = World()
    getattr(world, state)("A", "B")
    world.join("A")
    assert world.group().leader == world.group().holder("A")


@EVERYWHERE
def test_what_the_new_process_says_counts_and_its_session_starts_anew(state: str) -> None:
    world = World()
    seats = getattr(world, state)("A", "B")
    world.wait(500)
    world.join("B", s=S + 7, r=70_000, protocols=offers("range", metadata=b"new"))
    new = world.group().holder("B")
    assert new is not None
    member = world.group().member(new)
    assert member is not None
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (S + 7, 70_000)
    assert member.metadata("range") == b"new"
    assert world.timer("session", new) == S + 7
    assert world.timer("session", seats["B"].mid) is None


def replacing(*steps: Do) -> Revision:
    """Replace the holder of an instance by these steps."""
    restarts = [f"JOIN-STATIC-EMPTY-{state}" for state in ("PREPARING", "COMPLETING", "STABLE")]
    rules = [KAFKA_4.rule(rule_id) for rule_id in restarts]
    differences = (
        SetRule("JoinGroup", rule.but(effect=(*steps, *rule.effect[1:]), because="x"), "x")
        for rule in rules
    )
    return derive(KAFKA_4, "replacing", "replacing", tuple(differences))


@EVERYWHERE
def test_an_id_may_be_replaced_alone_and_what_the_old_process_said_counts(state: str) -> None:
    alone, both = replacing(Do.REPLACE_ID), replacing(Do.REPLACE_ID, Do.UPDATE_MEMBER)
    assert revision_faults(alone) == revision_faults(both) == []
    for revision, session_ms in ((alone, S), (both, S + 7)):
        world = World(revision)
        seats = getattr(world, state)("A", "B")
        world.join("B", s=S + 7, r=70_000, protocols=offers("range", metadata=b"new"))
        group = world.group()
        member = group.member(group.holder("B") or "")
        assert member is not None
        assert member.member_id != seats["B"].mid
        assert member.session_timeout_ms == session_ms
        assert (member.metadata("range") == b"new") is (revision is both)
        assert world.timer("session", seats["B"].mid) is None


def test_a_parked_join_is_fenced_with_the_old_id_even_when_it_was_sent_without_one() -> None:
    world = World()
    world.stable("A")
    first = world.join("B")
    old = world.group().holder("B")
    second = world.join("B")
    assert (first.error, first.mid, first.gen) == ("FENCED_INSTANCE_ID", old, -1)
    assert second.error == PARKED


def test_a_parked_rejoin_is_fenced_too() -> None:
    world = World()
    seats = world.preparing("A", "B")
    first = world.join("B", seats["B"].mid)
    world.join("B")
    assert (first.error, first.mid) == ("FENCED_INSTANCE_ID", seats["B"].mid)


def test_in_preparing_a_replacement_may_complete_the_join() -> None:
    world = World()
    seats = world.preparing("A", "B")
    world.join("A", seats["A"].mid)
    reply = world.join("B")
    assert (reply.error, reply.gen) == ("NONE", 2)


def test_in_completing_a_replacement_starts_a_rebalance_and_fences_its_own_parked_sync() -> None:
    world = World()
    seats = world.completing("A", "B", "C")
    own = world.sync("B", seats["B"].mid, 1)
    other = world.sync("C", seats["C"].mid, 1)
    assert world.join("B").error == PARKED
    assert own.error == "FENCED_INSTANCE_ID"
    assert other.error == "REBALANCE_IN_PROGRESS"
    assert world.state == "PreparingRebalance"


@pytest.mark.parametrize("version", [5, 8, 9])
def test_in_stable_a_follower_is_answered_at_once_without_a_rebalance(version: int) -> None:
    world = World()
    seats = world.stable("A", "B")
    reply = world.join("B", version=version)
    assert (reply.error, reply.gen, reply.members) == ("NONE", 1, [])
    assert reply.leader == seats["A"].mid
    assert reply.body.get("skipAssignment", False) is False
    assert world.state == "Stable"
    assert world.beat("A", seats["A"].mid, 1) == "NONE"
    synced = world.sync("B", reply.mid, 1)
    assert synced.body["assignment"] == "Qg=="  # "B": the assignment is kept


def test_below_version_9_a_leader_is_told_the_leaders_old_id_and_no_members() -> None:
    world = World()
    seats = world.stable("A", "B")
    reply = world.join("A", version=8)
    assert (reply.error, reply.gen) == ("NONE", 1)
    assert reply.leader == seats["A"].mid != reply.mid
    assert reply.members == []


def test_since_version_9_a_leader_leads_in_full_and_skips_the_assignment() -> None:
    world = World()
    seats = world.stable("A", "B")
    reply = world.join("A", version=9)
    assert reply.leader == reply.mid
    assert sorted(reply.members) == sorted([reply.mid, seats["B"].mid])
    assert reply.body["skipAssignment"] is True


def test_a_follower_of_a_replaced_leader_is_told_the_new_id_in_any_version() -> None:
    world = World()
    world.stable("A", "B")
    world.join("A")
    assert world.join("B", version=8).leader == world.group().holder("A")


def test_a_replacement_in_stable_is_stored() -> None:
    world = World()
    world.stable("A", "B")
    new = world.join("B").mid
    world.restart()
    assert world.group().holder("B") == new


def test_a_replacement_in_preparing_is_not_stored_until_the_rebalance_is_over() -> None:
    world = World()
    seats = world.preparing("A", "B")
    world.join("B")
    world.restart()
    assert world.group().holder("B") == seats["B"].mid


def test_other_metadata_of_the_same_protocols_in_stable_causes_no_rebalance() -> None:
    world = World()
    world.stable("A", "B")
    assert world.join("B", protocols=offers("range", metadata=b"?")).error == "NONE"


def test_a_replacement_that_would_select_another_protocol_starts_a_rebalance() -> None:
    world = World()
    world.stable("A", "B", protocols=offers("range", "sticky"))
    reply = world.join("B", protocols=offers("sticky"))
    assert reply.error == PARKED
    assert world.state == "PreparingRebalance"


def test_a_replacement_that_ties_the_vote_may_go_either_way() -> None:
    world = World()
    world.stable("A", "B", protocols=offers("range", "sticky"))
    world.join("B", protocols=offers("sticky", "range"))
    # One vote each: the selected protocol may stay or change.
    assert world.state in {"Stable", "PreparingRebalance"}


def test_a_replacement_with_an_unsupported_protocol_is_refused_and_fences_nobody() -> None:
    world = World()
    seats = world.stable("A", "B")
    assert world.join("B", protocols=offers("sticky")).error == "INCONSISTENT_GROUP_PROTOCOL"
    assert world.beat("B", seats["B"].mid, 1) == "NONE"


def test_an_owed_sync_is_no_cause_of_a_rebalance_once_its_member_was_replaced() -> None:
    world = World()
    seats = world.completing("A", "B", s=200_000)
    world.sync("A", seats["A"].mid, 1, {seats["A"].mid: b"a"})
    assert world.timer("sync") is not None
    new = world.join("B", s=200_000).mid
    world.wait(100_000)
    assert world.state == "Stable"
    assert world.beat("B", new, 1) == "NONE"


def test_a_new_member_that_is_replaced_during_the_initial_delay_does_not_extend_it() -> None:
    world = World()
    world.join("A")
    reply = world.join("A")
    world.wait(D)
    assert reply.error == "NONE"
