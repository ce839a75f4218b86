"""Rebalance timeouts and the initial delay: the length of a wait, and the members after it."""

from __future__ import annotations

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.script import Script
from fencepost.model.plans.steps import Ms, Pause

CASES = Registry()
case = CASES.case

SHORT = Ms("short rebalance")


@case("JOIN-PHASE-EXPIRED", "JOIN-UNKNOWN-MEMBER")
def absent_member(s: Script) -> None:
    """A dynamic member doesn't rejoin within the rebalance timeout: it is removed."""
    s.says("a", "b", "n", rebalance=SHORT)
    s.preparing("a", "b")
    s.join("a", wait=("a", "n"))
    s.beat("b")
    s.join("b", wait=True)


@case("JOIN-PHASE-EXPIRED", "HEARTBEAT-ILLEGAL-GENERATION", "JOIN-MEMBER-COMPLETING-SAME")
def absent_static_member(s: Script) -> None:
    """A static member doesn't rejoin within the rebalance timeout: it stays, with its protocols."""
    s.says("a", "B1", "n", rebalance=SHORT)
    s.preparing("a", "B1")
    s.join("a", wait=("a", "n"))
    s.beat("B1")
    s.join("B1", wait=True)
    s.synced("a", "B1", "n")


@case("JOIN-PHASE-EXPIRED", "SESSION-EXPIRED")
def absent_static_member_until_its_session_ends(s: Script) -> None:
    """A static member was absent from a rebalance: it is removed when its session expires."""
    s.says("a", "B1", "n", rebalance=SHORT)
    s.says("B1", session=Ms("short session"), rebalance=SHORT)
    s.preparing("a", "B1")
    s.beat("B1")
    s.join("a", wait=("a", "n"))
    s.synced("a", "n")
    s.outlast("short session", beating=("a",))
    s.beat("a")


@case("JOIN-PHASE-EXPIRED", "JOIN-STATIC-EMPTY-COMPLETING")
def absent_static_member_restarts(s: Script) -> None:
    """A static member was absent from a rebalance: its restart replaces it as usual."""
    s.says("a", "B1", "B2", "n", rebalance=SHORT)
    s.preparing("a", "B1")
    s.join("a", wait=("a", "n"))
    s.join("B2", settle=True)
    s.beat("B1")
    s.join("a", "n", wait=("a", "B2", "n"))


@case("JOIN-PHASE-EXPIRED", "SYNC-COMPLETING-LEADER")
def absent_leader(s: Script) -> None:
    """A static leader doesn't rejoin: it stays a member, and a member that rejoined leads."""
    s.says("A1", "b", "n", rebalance=SHORT)
    s.preparing("A1", "b")
    s.join("b", wait=("b", "n"))
    s.synced("b", "n")
    s.join("A1", wait=True)
    s.sync("A1", wait=True)


@case("JOIN-PHASE-POSTPONED", "JOIN-PHASE-ALL-JOINED")
def only_absent_static_members(s: Script) -> None:
    """Only absent static members are left: the wait goes on in the same generation."""
    s.says("A1", "B1", "c", rebalance=SHORT)
    s.stable("A1", "B1", "c")
    s.leave("c")
    s.pause("short rebalance")
    s.beat("A1")
    s.join("A1", "B1", wait=("A1", "B1"))


@case("JOIN-PHASE-POSTPONED", "JOIN-PHASE-EXPIRED")
def postponed_rebalance_is_not_forgotten(s: Script) -> None:
    """The wait is postponed: it ends one rebalance timeout later with the members that joined."""
    s.says("A1", "B1", "c", rebalance=SHORT)
    s.stable("A1", "B1", "c")
    s.leave("c")
    s.pause("short rebalance")
    s.join("B1", wait=True)
    s.synced("B1")
    s.beat("A1")


@case("JOIN-PHASE-POSTPONED", "JOIN-UNKNOWN-MEMBER")
def postponed_rebalance_keeps_no_dynamic_member(s: Script) -> None:
    """The wait is postponed: absent dynamic members are removed."""
    s.says("A1", "b", "c", rebalance=SHORT)
    s.stable("A1", "b", "c")
    s.leave("c")
    s.pause("short rebalance")
    s.beat("A1", "b")
    s.join("b", "A1", wait=True)


@case("JOIN-PHASE-NOBODY-JOINED", "HEARTBEAT-UNKNOWN-MEMBER")
def nobody_joined(s: Script) -> None:
    """No member rejoins, and none is static: the group becomes Empty in the next generation."""
    s.says("a", "b", rebalance=SHORT)
    s.stable("a", "b")
    s.leave("b")
    s.pause("short rebalance")
    s.beat("a")
    s.join("A1", wait=True)


@case("JOIN-PHASE-NOBODY-JOINED", "SESSION-EXPIRED", "HEARTBEAT-UNKNOWN-MEMBER")
def nobody_joined_after_a_session(s: Script) -> None:
    """A session expires, and no dynamic member rejoins: Empty in the next generation."""
    short = Ms("short rebalance")
    s.says("a", rebalance=short)
    s.says("b", rebalance=short, session=Ms("short session"))
    s.stable("a", "b")
    s.outlast("short session", beating=("a",))
    s.pause("short rebalance")
    s.beat("a")
    s.enter("c", wait=True)


@case("JOIN-PHASE-WAIT", "JOIN-PHASE-ALL-JOINED", "JOIN-STATIC-EMPTY-STABLE")
def rebalance_timeout_of_a_restart(s: Script) -> None:
    """A restart has another rebalance timeout: the new timeout counts (Redpanda, 2024)."""
    s.says("a", "B1", "n", rebalance=SHORT)
    s.stable("a", "B1")
    s.join("B2", wait=True)
    s.enter("n", settle=True)
    s.join("a")
    s.pause("short rebalance")
    s.join("B2", wait=("a", "B2", "n"))


@case("JOIN-PHASE-WAIT", "JOIN-PHASE-ALL-JOINED")
def longest_rebalance_timeout_counts(s: Script) -> None:
    """Members have different rebalance timeouts: the group waits for the longest."""
    s.says("a", "n", rebalance=SHORT)
    s.stable("a", "b")
    s.enter("n", settle=True)
    s.join("a")
    s.pause("short rebalance")
    s.join("b", wait=("a", "b", "n"))


@case("SYNC-PHASE-EXPIRED", "HEARTBEAT-COMPLETING")
def leader_never_syncs(s: Script) -> None:
    """The leader sends heartbeats and never syncs: it is removed (KAFKA-12890)."""
    s.says("a", "b", rebalance=SHORT)
    s.completing("a", "b")
    s.sync("b")
    s.beat("a")
    s.wait("b")
    s.beat("a")
    s.join("b", wait=True)
    s.synced("b")


@case("SYNC-PHASE-EXPIRED", "HEARTBEAT-PREPARING")
def follower_never_syncs(s: Script) -> None:
    """A follower sends heartbeats and never syncs: it is removed from the stable group."""
    s.says("a", "b", rebalance=SHORT)
    s.completing("a", "b")
    s.sync("a", assign=("a", "b"), wait=True)
    s.beat("b")
    s.pause("short rebalance")
    s.beat("a", "b")


@case("SYNC-PHASE-EXPIRED", "HEARTBEAT-INSTANCE-UNMAPPED")
def static_follower_never_syncs(s: Script) -> None:
    """A static follower gets the generation and never syncs: it is removed."""
    s.says("a", "B1", rebalance=SHORT)
    s.completing("a", "B1")
    s.sync("a", assign=("a", "B1"), wait=True)
    s.pause("short rebalance")
    s.beat("a", "B1")


@case("SYNC-PHASE-EXPIRED", "JOIN-PHASE-EXPIRED")
def nobody_syncs_after_an_expired_rebalance(s: Script) -> None:
    """No member syncs after a rebalance that timed out: they are removed."""
    s.says("a", "b", "n", rebalance=SHORT)
    s.preparing("a", "b")
    s.join("a", wait=("a", "n"))
    s.sync("n", wait=True)
    s.beat("a")


@case("SYNC-PHASE-EXPIRED", "JOIN-PHASE-DELAY-OVER")
def nobody_syncs_in_the_first_generation(s: Script) -> None:
    """No member syncs in the first generation: they are removed."""
    s.says("A1", rebalance=SHORT)
    s.join("A1", wait=True)
    s.pause("short rebalance")
    s.beat("A1")


@case("SYNC-STABLE", "HEARTBEAT-STABLE")
def everybody_synced(s: Script) -> None:
    """All members have synced: no member is removed for a missing sync."""
    s.says("a", "B1", rebalance=SHORT)
    s.completing("a", "B1")
    s.sync("a", assign=("a", "B1"), wait=True)
    s.sync("B1", wait=True)
    s.pause("short rebalance")
    s.beat("a", "B1")


@case("HEARTBEAT-STABLE", "JOIN-STATIC-EMPTY-STABLE", "SYNC-STABLE")
def restart_before_the_sync(s: Script) -> None:
    """A process is replaced before its sync: the group doesn't wait for that sync."""
    s.says("a", "B1", "B2", rebalance=SHORT)
    s.completing("a", "B1")
    s.sync("a", assign=("a", "B1"), wait=True)
    s.join("B2", wait=True)
    s.sync("B2", wait=True)
    s.pause("short rebalance")
    s.beat("a", "B2")


@case("JOIN-PHASE-DELAY-OVER", delayed=False)
def no_delay(s: Script) -> None:
    """There is no initial delay: the first member makes the first generation alone."""
    s.join("A1", wait=True)
    s.synced("A1")
    s.join("B1", settle=True)
    s.beat("A1")


@case("JOIN-PHASE-DELAY-EXTENDED", "JOIN-PHASE-DELAY-OVER", delayed=True)
def newcomer_extends_the_delay(s: Script) -> None:
    """A new member joins during the initial delay: the delay is extended, and both are in it."""
    s.join("A1", settle=True)
    s.join("b", member_id="", wait=True)
    s.join("b", wait=("A1", "b"))
    s.synced("A1", "b")


@case("JOIN-PHASE-DELAY-OVER", delayed=True)
def restart_does_not_extend_the_delay(s: Script) -> None:
    """A restart joins during the initial delay: it replaces the first, and extends nothing."""
    s.join("A1", settle=True)
    s.join("A2", wait=("A1", "A2"))
    s.synced("A2")


@case("JOIN-PHASE-DELAY-OVER", delayed=True)
def delay_ends_with_the_rebalance_timeout(s: Script) -> None:
    """New members extend the initial delay: it ends with the rebalance timeout at the latest."""
    s.says("A1", "B1", rebalance=SHORT)
    s.join("A1", settle=True)
    s.join("B1", wait=("A1", "B1"))


@case("JOIN-PHASE-DELAY-OVER", "JOIN-PHASE-DELAY-EXTENDED", delayed=True)
def delay_ends_though_others_come(s: Script) -> None:
    """New members join again and again: the initial delay ends with the rebalance timeout."""
    s.says("A1", "B1", "C1", rebalance=Ms("two ticks"))
    s.join("A1")
    s.steps.append(Pause((Ms("delay"),), margins=0, parts=2))
    s.join("B1", settle=True)
    s.pause("delay", margins=0)
    s.join("C1", wait=("A1", "B1", "C1"))


@case("JOIN-PHASE-DELAY-OVER", "JOIN-PHASE-ALL-LEFT", delayed=True)
def delay_of_a_group_that_was_empty(s: Script) -> None:
    """A group has become Empty: the next generation waits for an initial delay."""
    s.stable("a")
    s.leave("a")
    s.join("A1", wait=True)


@case("JOIN-PHASE-DELAY-EXTENDED", delayed=True)
def newcomer_to_a_group_that_was_empty(s: Script) -> None:
    """A new member joins during the delay of a group that was Empty: the delay is extended."""
    s.stable("a")
    s.leave("a")
    s.join("A1", settle=True)
    s.join("B1", wait=("A1", "B1"))


@case("JOIN-PHASE-DELAY-OVER", delayed=True)
def newcomer_of_long_ago(s: Script) -> None:
    """A member joined in an earlier delay: it doesn't extend the present one."""
    s.completing("a", "b", rebalance=Ms("delay"))  # then nothing is left to extend it by
    s.leave("a")
    s.leave("b")
    s.join("A1", wait=True)


@case("JOIN-PHASE-NOBODY-JOINED", delayed=True)
def everybody_leaves_during_the_delay(s: Script) -> None:
    """All members leave during the initial delay: the group becomes Empty when it is over."""
    s.join("a", member_id="", wait=True)
    s.join("a", settle=True)
    s.leave("a", connection="a again")
    s.wait("a")
    s.pause("delay")
    s.join("A1", wait=True)
