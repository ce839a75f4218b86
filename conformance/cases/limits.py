"""Limits of a broker: full groups, and the removal of unused groups.

KIP-345 says nothing of a group's size, so a restart without a free place is a SHOULD.
"""

from __future__ import annotations

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.script import RENEWED, ROUNDROBIN, Script
from fencepost.model.plans.steps import Ms
from fencepost.model.table.table import Level

CASES = Registry()
case = CASES.case

_TWO = {"group.max.size": 2}
CLEANED = {"offsets.retention.check.interval.ms": 50}
"""The cleaner passes by several times while a case waits."""


@case("JOIN-GROUP-FULL", "HEARTBEAT-STABLE", config=_TWO)
def full_stable_group(s: Script) -> None:
    """New processes join a full stable group: they are refused, static or dynamic."""
    s.stable("A1", "b")
    s.join("C1", wait=True)
    s.join("d", member_id="", wait=True)
    s.beat("A1", "b")


@case("JOIN-GROUP-FULL", "HEARTBEAT-COMPLETING", config=_TWO)
def full_group_between_join_and_sync(s: Script) -> None:
    """New processes join a full group in the sync phase: they are refused."""
    s.completing("A1", "b")
    s.join("C1", wait=True)
    s.beat("A1")
    s.synced("A1", "b")


@case("JOIN-STATIC-EMPTY-STABLE", "JOIN-GROUP-FULL", config=_TWO, level=Level.SHOULD)
def restart_in_a_full_group(s: Script) -> None:
    """A static member of a full group restarts: it replaces its holder."""
    s.stable("A1", "B1")
    s.join("B2", "C1", wait=True)
    s.beat("B2")


@case("JOIN-STATIC-EMPTY-COMPLETING", config=_TWO, level=Level.SHOULD)
def restart_in_a_full_group_between_join_and_sync(s: Script) -> None:
    """A static member of a full group restarts in the sync phase: it replaces its holder."""
    s.completing("A1", "B1")
    s.join("B2", settle=True)
    s.join("A1", wait=("A1", "B2"))


@case("JOIN-STATIC-EMPTY-PREPARING", config=_TWO, level=Level.SHOULD)
def restart_in_a_full_group_that_rebalances(s: Script) -> None:
    """A static member of a full group restarts in the join phase: it replaces its parked holder."""
    s.stable("A1")
    s.join("B1", settle=True)
    s.join("B2")
    s.wait("B1")
    s.join("A1", wait=("A1", "B2"))


@case("JOIN-LEADER-STABLE", "JOIN-FOLLOWER-STABLE-CHANGED", config=_TWO)
def members_of_a_full_group_rejoin(s: Script) -> None:
    """Members of a full group rejoin: they are accepted."""
    s.stable("a", "b")
    s.join("a", settle=True)
    s.join("b", wait=("a", "b"))
    s.synced("a", "b")
    s.join("b", protocols=RENEWED)
    s.pause()
    s.join("a", wait=("a", "b"))


@case("JOIN-GROUP-FULL", "JOIN-PHASE-ALL-JOINED", config=_TWO)
def places_are_taken_while_rebalancing(s: Script) -> None:
    """A full group rebalances: the first to join get the places, and a late member is removed."""
    s.stable("A1")
    s.join("B1", settle=True)
    s.join("C1", settle=True)
    s.join("A1", wait=True)
    s.wait("B1", "C1")
    s.beat("A1")


@case("JOIN-GROUP-FULL", config={"group.max.size": 1})
def id_from_before_the_group_was_full(s: Script) -> None:
    """A pending id joins after the group became full: it is refused (KAFKA-9844)."""
    s.join("m", member_id="", wait=True)
    s.stable("A1")
    s.join("B1", wait=True)
    s.join("m", settle=True)
    s.beat("A1")


@case("JOIN-GROUP-FULL-PENDING", "JOIN-PHASE-ALL-JOINED", config=_TWO)
def refused_id_is_waited_for_no_more(s: Script) -> None:
    """A full group refuses the last pending id that it waits for: the rebalance ends."""
    s.stable("A1")
    s.join("m", member_id="", wait=True)
    s.join("B1", settle=True)
    s.join("A1", settle=True)
    s.join("m", wait=True)
    s.wait("A1", "B1")


@case(
    "JOIN-GROUP-FULL-PENDING",
    "LEAVE-MEMBER-UNKNOWN",
    "HEARTBEAT-STABLE",
    config={"group.max.size": 1},
)
def refused_id_is_forgotten(s: Script) -> None:
    """A full group refuses a pending id: the id is unknown, and can't leave."""
    s.join("m", member_id="", wait=True)
    s.stable("A1")
    s.join("m", wait=True)
    s.leave("m")
    s.beat("A1")


@case("JOIN-GROUP-FULL-PENDING", "JOIN-DYNAMIC-EMPTY", config={"group.max.size": 1})
def refused_id_of_a_dynamic_group(s: Script) -> None:
    """A group of dynamic members is full: a pending id is refused."""
    s.join("m", member_id="", wait=True, at_most=4)
    s.stable("a")
    s.join("m", wait=True, at_most=4)
    s.beat("a")


@case("JOIN-GROUP-FULL-PENDING", "JOIN-PHASE-EXPIRED", "LEAVE-MEMBER-UNKNOWN", config=_TWO)
def refused_ids_in_every_state(s: Script) -> None:
    """A pending id joins a full group: it is refused in each state, version and protocol."""
    s.says("A1", "B1", rebalance=Ms("short rebalance"))
    s.stable("A1")
    ids = "cdefhijk"
    s.join(*ids, member_id="", wait=True)
    s.join("B1", settle=True)
    s.join("A1", settle=True)
    s.join("c", instance="X", wait=True)
    s.join("d", instance="A", wait=True)
    s.wait("A1", "B1")  # the other ids hold up the rebalance until its timeout
    s.join("e", wait=True)
    s.join("f", instance="X", wait=True)
    s.join("h", instance="A", wait=True)
    s.synced("A1", "B1")
    s.join("i", instance="X", wait=True)
    s.join("j", instance="A", protocols=ROUNDROBIN, wait=True)
    s.join("k", version=3, wait=True)
    for refused in ids:
        s.leave(refused)
    s.beat("A1", "B1")


@case("JOIN-DYNAMIC-EMPTY", "JOIN-PENDING", "LEAVE-MEMBER-PENDING", config=_TWO)
def pending_ids_take_no_place(s: Script) -> None:
    """A group has pending ids: they don't count for its size."""
    s.stable("A1")
    s.join("m", "n", member_id="", wait=True)
    s.join("n", "A1", settle=True)
    s.leave("m")
    s.wait("A1", "n")


@case("JOIN-GROUP-FULL", "JOIN-PHASE-DELAY-OVER", config=_TWO, delayed=True)
def first_generation_is_limited(s: Script) -> None:
    """More processes join during the initial delay than the group has places: they are refused."""
    s.join("A1", settle=True)
    s.join("B1", settle=True)
    s.join("C1", wait=True)
    s.wait("A1", "B1")


@case("JOIN-GROUP-FULL", "JOIN-STATIC-EMPTY-NEW", config={"group.max.size": 1})
def place_becomes_free(s: Script) -> None:
    """A member leaves a full group: a new process gets its place."""
    s.stable("A1")
    s.join("B1", wait=True)
    s.leave("A1")
    s.join("B1", wait=True)


@case("CLEANUP-UNUSED", "JOIN-GROUP-ABSENT", "DESCRIBE-ABSENT-LEGACY", config=CLEANED)
def unused_group_is_removed(s: Script) -> None:
    """An Empty group is unused: it is removed, with its pending ids and its generation."""
    s.stable("A1")
    s.leave("A1")
    s.join("m", member_id="", wait=True)
    s.pause("short rebalance")
    s.describe(at_most=5)
    s.join("m", wait=True)
    s.stable("B1")


@case("CLEANUP-UNUSED", "DESCRIBE-ABSENT-LEGACY", config=CLEANED)
def unused_dynamic_group_is_removed(s: Script) -> None:
    """An Empty group of dynamic members is unused: it is removed, with its generation."""
    s.stable("a")
    s.leave_legacy("a")
    s.pause("short rebalance")
    s.describe(at_most=3)
    s.stable("b")


@case("DESCRIBE-UNSTABLE", "FETCH-ANYBODY", "HEARTBEAT-STABLE", config=CLEANED)
def groups_in_use_are_kept(s: Script) -> None:
    """A group has members, or is Empty with offsets: it isn't removed."""
    s.stable("A1")
    s.pause("short rebalance")
    s.beat("A1")
    s.commit("A1", offset=3)
    s.leave("A1")
    s.pause("short rebalance")
    s.describe()
    s.fetch("A1")
