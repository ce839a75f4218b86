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
    """KAFKA-8500: a duplicate during a rebalance replaced nobody, and both processes lived."""
    s.stable("x")
    s.join("A1", settle=True)
    s.join("A2")
    s.wait("A1")
    s.join("x", wait=("A2", "x"))
    s.synced("A2", "x")
    s.beat("A1", "A2")


@case("JOIN-STATIC-EMPTY-STABLE", "HEARTBEAT-INSTANCE-FENCED", "HEARTBEAT-STABLE")
def two_restarts_without_a_change_of_state(s: Script) -> None:
    """KAFKA-8715: two restarts within one stable phase got the same id, so nobody was fenced."""
    s.stable("A1", "B1")
    s.join("B2", "B3", wait=True)
    s.beat("B1", "B2", "B3")
    s.join("B2", wait=True)


@case("COMMIT-UNKNOWN-MEMBER", "COMMIT-ILLEGAL-GENERATION", "COMMIT-COMPLETING")
def commit_errors_hidden_by_a_rebalance(s: Script) -> None:
    """KAFKA-8487: between join and sync REBALANCE_IN_PROGRESS hid a commit's own error."""
    s.completing("A1", "b")
    s.commit("A1", member_id=NOBODY, instance=None)
    s.commit("b", generation=GenerationOf("b", plus=-1))
    s.commit("b")


@case("SESSION-EXPIRED", "HEARTBEAT-PREPARING", "HEARTBEAT-INSTANCE-UNMAPPED")
def silent_at_once(s: Script) -> None:
    """KAFKA-9752: the first session timer was lost; who fell silent at once stayed for ever."""
    s.says("N1", session=Ms("short session"))
    s.stable("a")
    s.join("N1", settle=True)
    s.join("a", wait=("a", "N1"))
    s.outlast("short session", beating=("a",))
    s.beat("a", "N1")


@case("JOIN-STATIC-EMPTY-COMPLETING", "SYNC-PREPARING", "SYNC-COMPLETING-FOLLOWER")
def restart_before_the_leader_assigns(s: Script) -> None:
    """KAFKA-9801: a restart between join and sync got an empty assignment, made for its old id."""
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
    """KAFKA-10284: a restart was not stored; after a failover the old process was the valid one."""
    s.stable("A1", "B1")
    s.join("A2", wait=True)
    s.restart()
    s.beat("A2", "A1")
    s.commit("A1", offset=3)
    s.commit("A2", offset=4)
    s.fetch("A2")


@case("SYNC-PHASE-EXPIRED", "JOIN-PHASE-ALL-JOINED")
def leader_that_heartbeats_for_ever(s: Script) -> None:
    """KAFKA-12890: a leader that heartbeats and never assigns kept its group waiting for ever."""
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
    """Kafka's PR 9958: a known id with an instance that nobody holds was accepted."""
    s.stable("a")
    s.beat("a", instance="X")
    s.sync("a", instance="X", wait=True)
    s.leave("a", (IdOf("a"), "X"))
    s.beat("a")


@case("JOIN-STATIC-EMPTY-STABLE", "SYNC-STABLE", apis=(("JoinGroup", 9),))
def restarted_leader_knows_that_it_leads(s: Script) -> None:
    """KAFKA-13435: a leader that restarted was told of a leader that was gone; nobody led."""
    s.stable("A1", "b")
    s.join("A2", version=9, wait=True)
    s.sync("A2", wait=True)
    s.join("A2", version=9, settle=True)
    s.join("b", wait=("A2", "b"))


@case("LEAVE-MEMBER", "JOIN-PHASE-ALL-JOINED", "SYNC-COMPLETING-LEADER", apis=(("LeaveGroup", 3),))
def exactly_one_survivor_leads(s: Script) -> None:
    """In kfake, 2026, after the leader left every survivor was told that it leads."""
    s.stable("a", "b", "c", "D1")
    s.leave("a")
    s.join("b", "c", "D1", wait=("b", "c", "D1"))
    s.synced("b", "c", "D1")
    s.sync("b", "c", wait=True)


@case("LEAVE-MEMBER-INSTANCE-FENCED", "HEARTBEAT-STABLE", apis=(("LeaveGroup", 3),))
def wrong_id_removed_the_holder(s: Script) -> None:
    """In kfake, 2026, a leave with somebody else's id and a held instance evicted its holder."""
    s.stable("a", "B1")
    s.leave("a", (IdOf("a"), "B"))
    s.beat("B1", "a")


@case("JOIN-STATIC-EMPTY-NEW", "JOIN-STATIC-EMPTY-STABLE", "HEARTBEAT-INSTANCE-FENCED")
def two_members_of_one_instance(s: Script) -> None:
    """In the mock of librdkafka, 2026, two processes of one instance were two members."""
    s.stable("A1")
    s.join("A2", wait=True)
    s.beat("A1", "A2")
    s.join("A2", wait=True)


@case("JOIN-STATIC-EMPTY-STABLE", "JOIN-INSTANCE-FENCED", "SYNC-INSTANCE-FENCED")
def instance_keeps_its_id(s: Script) -> None:
    """In tansu and nisshi, 2026, every process of an instance got the same id."""
    s.stable("A1")
    s.join("A2", "A1", wait=True)
    s.sync("A1", wait=True)
    s.beat("A2")


@case("SESSION-EXPIRED", "HEARTBEAT-INSTANCE-UNMAPPED", "HEARTBEAT-PREPARING")
def static_member_that_never_expires(s: Script) -> None:
    """In crabka, 2026, a static member stayed for ever, even when its session had ended."""
    s.says("B1", session=Ms("short session"))
    s.stable("a", "B1")
    s.outlast("short session", beating=("a",))
    s.beat("B1", "a")


@case("LEAVE-MEMBER-BY-INSTANCE", "JOIN-STATIC-EMPTY-NEW", apis=(("LeaveGroup", 3),))
def evicted_instance_is_forgotten(s: Script) -> None:
    """In seaweedfs, 2026, the map kept an evicted member, so its instance could not come back."""
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
    """In Redpanda, 2024, a restart took over the new protocols, but not the new timeouts."""
    s.stable("A1", "B1")
    s.join("B2", session=Ms("short session"), wait=True)
    s.outlast("short session", beating=("A1",))
    s.beat("A1", "B2")


@case("JOIN-LEADER-STABLE", "JOIN-PHASE-ALL-JOINED")
def leader_that_knows_no_instances(s: Script) -> None:
    """KAFKA-14422: a leader below version 5 got no answer once the group had a static member."""
    s.says("a", at_most=3)
    s.stable("a", "B1")
    s.join("a", settle=True)
    s.join("B1", wait=("a", "B1"))
