"""Two processes of one instance: the duplicate in every group state, the restart, the zombie."""

from __future__ import annotations

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.script import BOTH, ROUNDROBIN, Script
from fencepost.model.plans.plan import GenerationOf, IdOf

CASES = Registry()
case = CASES.case


@case("JOIN-STATIC-EMPTY-NEW", "JOIN-PHASE-DELAY-OVER")
def first_member(s: Script) -> None:
    """A static member alone makes the first generation, without being asked for an id."""
    s.join("A1", wait=True)
    s.synced("A1")
    s.beat("A1")


@case("JOIN-STATIC-EMPTY-PREPARING")
def second_process_while_first_waits(s: Script) -> None:
    """Two processes of one instance join while a rebalance is prepared: the first is fenced."""
    s.stable("A1", "B1")
    s.enter("n", settle=True)
    s.beat("A1")
    s.join("B1", settle=True)
    s.join("B2")
    s.wait("B1")
    s.join("A1", wait=("A1", "B2", "n"))


@case("JOIN-STATIC-EMPTY-PREPARING")
def second_process_before_first_generation(s: Script) -> None:
    """The second process comes before there is any generation."""
    s.stable("x")
    s.join("A1", settle=True)
    s.join("A2")
    s.wait("A1")
    s.join("x", wait=("A2", "x"))


@case("JOIN-STATIC-EMPTY-COMPLETING")
def second_process_while_assignment_is_awaited(s: Script) -> None:
    """The second process comes between the leader's join and its sync: a rebalance starts."""
    s.completing("A1", "B1")
    s.sync("B1", settle=True)
    s.join("B2")
    s.wait("B1")
    s.join("A1", wait=("A1", "B2"))
    s.synced("A1", "B2")


@case("JOIN-STATIC-EMPTY-STABLE", "SYNC-STABLE")
def restart_of_a_follower(s: Script) -> None:
    """A follower restarts in a stable group: new id, same generation, same assignment."""
    s.stable("A1", "B1")
    s.join("B2", wait=True)
    s.sync("B2", wait=True)
    s.beat("A1", "B2")


@case("JOIN-STATIC-EMPTY-STABLE", apis=(("JoinGroup", 9),))
def restart_of_the_leader(s: Script) -> None:
    """The leader restarts in a stable group: it leads on and skips the assignment (v9)."""
    s.stable("A1", "B1")
    s.join("A2", version=9, wait=True)
    s.sync("A2", wait=True)
    s.beat("B1")


@case("JOIN-STATIC-EMPTY-STABLE")
def restart_of_the_leader_below_9(s: Script) -> None:
    """Below version 9 a restarted leader is told the old leader's id, so that it doesn't assign."""
    s.stable("A1", "B1")
    s.join("A2", at_most=8, wait=True)
    s.sync("A2", wait=True)


@case("JOIN-STATIC-EMPTY-STABLE-SELECTION", isolated=True)
def restart_with_another_choice(s: Script) -> None:
    """A restart that changes which protocol all would select starts a rebalance."""
    s.stable("A1", "B1", protocols=BOTH)
    s.join("B2", protocols=ROUNDROBIN, settle=True)
    s.beat("A1")
    s.join("A1", protocols=BOTH, wait=("A1", "B2"))


@case("JOIN-INSTANCE-FENCED")
def zombie_joins(s: Script) -> None:
    """The replaced process joins with its old id: fenced, and the group is as before."""
    s.stable("A1", "B1")
    s.join("B2", "B1", wait=True)
    s.beat("B2")


@case("HEARTBEAT-INSTANCE-FENCED")
def zombie_beats(s: Script) -> None:
    """The replaced process goes on to heartbeat."""
    s.stable("A1", "B1")
    s.join("B2", wait=True)
    s.beat("B1")
    s.beat("B1", generation=GenerationOf("B1", plus=7))


@case("SYNC-INSTANCE-FENCED")
def zombie_syncs(s: Script) -> None:
    """The replaced process asks for its assignment."""
    s.stable("A1", "B1")
    s.join("B2", wait=True)
    s.sync("B1", wait=True)


@case("COMMIT-INSTANCE-FENCED")
def zombie_commits(s: Script) -> None:
    """The replaced process commits an offset, which must not be stored."""
    s.stable("A1", "B1")
    s.commit("B1", offset=5)
    s.join("B2", wait=True)
    s.commit("B1", offset=3)
    s.fetch("B2")


@case("LEAVE-MEMBER-INSTANCE-FENCED", apis=(("LeaveGroup", 3),))
def zombie_leaves(s: Script) -> None:
    """The replaced process leaves by both ids: it evicts nobody."""
    s.stable("A1", "B1")
    s.join("B2", wait=True)
    s.leave("B1", (IdOf("B1"), "B"))
    s.beat("B2")
