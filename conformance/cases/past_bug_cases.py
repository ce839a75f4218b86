"""Bugs that real coordinators had, each as a case that would have found it."""

from __future__ import annotations

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.script import NOBODY, Script
from fencepost.model.plans.steps import GenerationOf, IdOf, Ms
from fencepost.model.table.table import Level

CASES = Registry()
case = CASES.case


@case("JOIN-STATIC-EMPTY-PREPARING", "JOIN-PHASE-WAIT")
def duplicate_while_the_first_waits(s: Script) -> None:
    """A second process joins while the first is parked: the first is fenced (KAFKA-8500)."""
    s.stable("x")
    s.join("A1", settle=True)
    s.join("A2")
    s.wait("A1")
    s.join("x", wait=("A2", "x"))
    s.synced("A2", "x")
    s.beat("A1", "A2")


@case("JOIN-STATIC-EMPTY-STABLE", "HEARTBEAT-INSTANCE-FENCED", "HEARTBEAT-STABLE")
def two_restarts_without_a_change_of_state(s: Script) -> None:
    """A member restarts twice in a stable group: each restart gets a new id (KAFKA-8715)."""
    s.stable("A1", "B1")
    s.join("B2", "B3", wait=True)
    s.beat("B1", "B2", "B3")
    s.join("B2", wait=True)


@case("COMMIT-UNKNOWN-MEMBER", "COMMIT-ILLEGAL-GENERATION", "COMMIT-COMPLETING")
def commit_errors_hidden_by_a_rebalance(s: Script) -> None:
    """A wrong commit comes in the sync phase: its own error is answered (KAFKA-8487)."""
    s.completing("A1", "b")
    s.commit("A1", member_id=NOBODY, instance=None)
    s.commit("b", generation=GenerationOf("b", plus=-1))
    s.commit("b")


@case("SESSION-EXPIRED", "HEARTBEAT-PREPARING", "HEARTBEAT-INSTANCE-UNMAPPED")
def silent_at_once(s: Script) -> None:
    """A new member is silent from the start: its session expires (KAFKA-9752)."""
    s.says("N1", session=Ms("short session"))
    s.stable("a")
    s.join("N1", settle=True)
    s.join("a", wait=("a", "N1"))
    s.outlast("short session", beating=("a",))
    s.beat("a", "N1")


@case("JOIN-STATIC-EMPTY-COMPLETING", "SYNC-PREPARING", "SYNC-COMPLETING-FOLLOWER")
def restart_before_the_leader_assigns(s: Script) -> None:
    """A member restarts in the sync phase: it gets its assignment under its new id (KAFKA-9801)."""
    s.completing("a", "B1")
    s.join("B2")
    s.pause()
    s.sync("a", assign=("a", "B1"), wait=True)
    s.join("a", wait=("a", "B2"))
    s.sync("B2")
    s.pause()
    s.sync("a", assign=("a", "B2"), wait=("a", "B2"))


@case("FAILOVER-STABLE", "HEARTBEAT-INSTANCE-FENCED", "HEARTBEAT-STABLE", features=("restart",))
def restart_that_was_not_stored(s: Script) -> None:
    """A member restarts before a failover: the new process stays the holder (KAFKA-10284)."""
    s.stable("A1", "B1")
    s.join("A2", wait=True)
    s.restart()
    s.beat("A2", "A1")
    s.commit("A1", offset=3)
    s.commit("A2", offset=4)
    s.fetch("A2")


@case("SYNC-PHASE-EXPIRED", "JOIN-PHASE-ALL-JOINED")
def leader_that_heartbeats_for_ever(s: Script) -> None:
    """A leader sends heartbeats and never syncs: the group doesn't wait for ever (KAFKA-12890)."""
    s.says("A1", "b", rebalance=Ms("short rebalance"))
    s.completing("A1", "b")
    s.sync("b")
    s.beat("A1")
    s.wait("b")
    s.beat("A1")
    s.join("b", wait=True)
    s.synced("b")


@case(
    "HEARTBEAT-INSTANCE-UNMAPPED",
    "SYNC-INSTANCE-UNMAPPED",
    "LEAVE-MEMBER-INSTANCE-UNMAPPED",
    "HEARTBEAT-STABLE",
    apis=(("LeaveGroup", 3),),
)
def known_member_with_an_unmapped_instance(s: Script) -> None:
    """A member sends an unmapped instance with its own id: it is unknown (PR 9958)."""
    s.stable("a")
    s.beat("a", instance="X")
    s.sync("a", instance="X", wait=True)
    s.leave("a", (IdOf("a"), "X"))
    s.beat("a")


@case("JOIN-STATIC-EMPTY-STABLE", "SYNC-STABLE", apis=(("JoinGroup", 9),))
def restarted_leader_knows_that_it_leads(s: Script) -> None:
    """A leader restarts in a stable group: it knows that it leads (KAFKA-13435)."""
    s.stable("A1", "b")
    s.join("A2", version=9, wait=True)
    s.sync("A2", wait=True)
    s.join("A2", version=9, settle=True)
    s.join("b", wait=("A2", "b"))


@case("LEAVE-MEMBER", "JOIN-PHASE-ALL-JOINED", "SYNC-COMPLETING-LEADER", apis=(("LeaveGroup", 3),))
def exactly_one_survivor_leads(s: Script) -> None:
    """The leader leaves: exactly one of the others leads (kfake, 2026)."""
    s.stable("a", "b", "c", "D1")
    s.leave("a")
    s.join("b", "c", "D1", wait=("b", "c", "D1"))
    s.synced("b", "c", "D1")
    s.sync("b", "c", wait=True)


@case("LEAVE-MEMBER-INSTANCE-FENCED", "HEARTBEAT-STABLE", apis=(("LeaveGroup", 3),))
def wrong_id_removed_the_holder(s: Script) -> None:
    """A leave names a mapped instance and another's id: its holder stays (kfake, 2026)."""
    s.stable("a", "B1")
    s.leave("a", (IdOf("a"), "B"))
    s.beat("B1", "a")


@case("JOIN-STATIC-EMPTY-NEW", "JOIN-STATIC-EMPTY-STABLE", "HEARTBEAT-INSTANCE-FENCED")
def two_members_of_one_instance(s: Script) -> None:
    """Two processes of one instance join: there is one member (librdkafka's mock, 2026)."""
    s.stable("A1")
    s.join("A2", wait=True)
    s.beat("A1", "A2")
    s.join("A2", wait=True)


@case("JOIN-STATIC-EMPTY-STABLE", "JOIN-INSTANCE-FENCED", "SYNC-INSTANCE-FENCED")
def instance_keeps_its_id(s: Script) -> None:
    """A member restarts: the new process gets a new id (tansu and nisshi, 2026)."""
    s.stable("A1")
    s.join("A2", "A1", wait=True)
    s.sync("A1", wait=True)
    s.beat("A2")


@case("SESSION-EXPIRED", "HEARTBEAT-INSTANCE-UNMAPPED", "HEARTBEAT-PREPARING")
def static_member_that_never_expires(s: Script) -> None:
    """The session of a static member expires: the member is removed (crabka, 2026)."""
    s.says("B1", session=Ms("short session"))
    s.stable("a", "B1")
    s.outlast("short session", beating=("a",))
    s.beat("B1", "a")


@case("LEAVE-MEMBER-BY-INSTANCE", "JOIN-STATIC-EMPTY-NEW", apis=(("LeaveGroup", 3),))
def evicted_instance_is_forgotten(s: Script) -> None:
    """A removed instance joins again: it becomes a member (seaweedfs, 2026)."""
    s.stable("a", "B1")
    s.leave("admin", ("", "B"))
    s.leave("admin", ("", "B"))
    s.join("a", wait=True)
    s.synced("a")
    s.join("B2", settle=True)
    s.join("a", wait=("a", "B2"))
    s.synced("a", "B2")
    s.beat("B2")


@case("JOIN-STATIC-EMPTY-STABLE", "SESSION-EXPIRED", level=Level.SHOULD)
def timeouts_of_a_restart(s: Script) -> None:
    """A restart has other timeouts: the new timeouts count (Redpanda, 2024)."""
    s.stable("A1", "B1")
    s.join("B2", session=Ms("short session"), wait=True)
    s.outlast("short session", beating=("A1",))
    s.beat("A1", "B2")


@case("JOIN-LEADER-STABLE", "JOIN-PHASE-ALL-JOINED")
def leader_that_knows_no_instances(s: Script) -> None:
    """A leader below version 5 rejoins with a static member: it is answered (KAFKA-14422)."""
    s.says("a", at_most=3)
    s.stable("a", "B1")
    s.join("a", settle=True)
    s.join("B1", wait=("a", "B1"))
