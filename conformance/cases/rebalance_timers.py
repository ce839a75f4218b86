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
    """A dynamic member that doesn't rejoin within the rebalance timeout is removed."""
    s.says("a", "b", "n", rebalance=SHORT)
    s.preparing("a", "b")
    s.join("a", wait=("a", "n"))
    s.beat("b")
    s.join("b", wait=True)


@case("JOIN-PHASE-EXPIRED", "HEARTBEAT-ILLEGAL-GENERATION", "JOIN-MEMBER-COMPLETING-SAME")
def absent_static_member(s: Script) -> None:
    """A static member that doesn't rejoin is kept, with what it offered: it may come back."""
    s.says("a", "B1", "n", rebalance=SHORT)
    s.preparing("a", "B1")
    s.join("a", wait=("a", "n"))
    s.beat("B1")
    s.join("B1", wait=True)
    s.synced("a", "B1", "n")


@case("JOIN-PHASE-EXPIRED", "SESSION-EXPIRED")
def absent_static_member_until_its_session_ends(s: Script) -> None:
    """A static member that is kept over a rebalance is removed when its session ends."""
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
    """An instance that was absent from a rebalance is replaced by its next process as ever."""
    s.says("a", "B1", "B2", "n", rebalance=SHORT)
    s.preparing("a", "B1")
    s.join("a", wait=("a", "n"))
    s.join("B2", settle=True)
    s.beat("B1")
    s.join("a", "n", wait=("a", "B2", "n"))


@case("JOIN-PHASE-EXPIRED", "SYNC-COMPLETING-LEADER")
def absent_leader(s: Script) -> None:
    """A static leader that is absent keeps its place; somebody who is there leads."""
    s.says("A1", "b", "n", rebalance=SHORT)
    s.preparing("A1", "b")
    s.join("b", wait=("b", "n"))
    s.synced("b", "n")
    s.join("A1", wait=True)
    s.sync("A1", wait=True)


@case("JOIN-PHASE-POSTPONED", "JOIN-PHASE-ALL-JOINED")
def only_absent_static_members(s: Script) -> None:
    """If nobody rejoined and static members remain the wait goes on, in the same generation."""
    s.says("A1", "B1", "c", rebalance=SHORT)
    s.stable("A1", "B1", "c")
    s.leave("c")
    s.pause("short rebalance")
    s.beat("A1")
    s.join("A1", "B1", wait=("A1", "B1"))


@case("JOIN-PHASE-POSTPONED", "JOIN-PHASE-EXPIRED")
def postponed_rebalance_is_not_forgotten(s: Script) -> None:
    """A postponed wait ends a rebalance timeout later with whoever is there by then."""
    s.says("A1", "B1", "c", rebalance=SHORT)
    s.stable("A1", "B1", "c")
    s.leave("c")
    s.pause("short rebalance")
    s.join("B1", wait=True)
    s.synced("B1")
    s.beat("A1")


@case("JOIN-PHASE-POSTPONED", "JOIN-UNKNOWN-MEMBER")
def postponed_rebalance_keeps_no_dynamic_member(s: Script) -> None:
    """When a wait is postponed absent dynamic members are removed all the same."""
    s.says("A1", "b", "c", rebalance=SHORT)
    s.stable("A1", "b", "c")
    s.leave("c")
    s.pause("short rebalance")
    s.beat("A1", "b")
    s.join("b", "A1", wait=True)


@case("JOIN-PHASE-NOBODY-JOINED", "HEARTBEAT-UNKNOWN-MEMBER")
def nobody_joined(s: Script) -> None:
    """If nobody rejoined and no static member remains the group is Empty, a generation on."""
    s.says("a", "b", rebalance=SHORT)
    s.stable("a", "b")
    s.leave("b")
    s.pause("short rebalance")
    s.beat("a")
    s.join("A1", wait=True)


@case("JOIN-PHASE-NOBODY-JOINED", "SESSION-EXPIRED", "HEARTBEAT-UNKNOWN-MEMBER")
def nobody_joined_after_a_session(s: Script) -> None:
    """If a session expires and no dynamic member rejoins the group is Empty, a generation on."""
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
    """The rebalance timeout that a restart brings is the one that counts (Redpanda, 2024)."""
    s.says("a", "B1", "n", rebalance=SHORT)
    s.stable("a", "B1")
    s.join("B2", wait=True)
    s.enter("n", settle=True)
    s.join("a")
    s.pause("short rebalance")
    s.join("B2", wait=("a", "B2", "n"))


@case("JOIN-PHASE-WAIT", "JOIN-PHASE-ALL-JOINED")
def longest_rebalance_timeout_counts(s: Script) -> None:
    """A group waits as long as any of its members asks for."""
    s.says("a", "n", rebalance=SHORT)
    s.stable("a", "b")
    s.enter("n", settle=True)
    s.join("a")
    s.pause("short rebalance")
    s.join("b", wait=("a", "b", "n"))


@case("SYNC-PHASE-EXPIRED", "HEARTBEAT-COMPLETING")
def leader_never_syncs(s: Script) -> None:
    """A leader that heartbeats but never assigns is removed (KAFKA-12890)."""
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
    """A follower that heartbeats but never syncs is removed, though the group was stable."""
    s.says("a", "b", rebalance=SHORT)
    s.completing("a", "b")
    s.sync("a", assign=("a", "b"), wait=True)
    s.beat("b")
    s.pause("short rebalance")
    s.beat("a", "b")


@case("SYNC-PHASE-EXPIRED", "HEARTBEAT-INSTANCE-UNMAPPED")
def static_follower_never_syncs(s: Script) -> None:
    """A static member that was given the generation and never syncs is removed, too."""
    s.says("a", "B1", rebalance=SHORT)
    s.completing("a", "B1")
    s.sync("a", assign=("a", "B1"), wait=True)
    s.pause("short rebalance")
    s.beat("a", "B1")


@case("SYNC-PHASE-EXPIRED", "JOIN-PHASE-EXPIRED")
def nobody_syncs_after_an_expired_rebalance(s: Script) -> None:
    """The wait for syncs begins after a rebalance that ran into its timeout, as after any other."""
    s.says("a", "b", "n", rebalance=SHORT)
    s.preparing("a", "b")
    s.join("a", wait=("a", "n"))
    s.sync("n", wait=True)
    s.beat("a")


@case("SYNC-PHASE-EXPIRED", "JOIN-PHASE-DELAY-OVER")
def nobody_syncs_in_the_first_generation(s: Script) -> None:
    """The wait for syncs begins with the first generation, too."""
    s.says("A1", rebalance=SHORT)
    s.join("A1", wait=True)
    s.pause("short rebalance")
    s.beat("A1")


@case("SYNC-STABLE", "HEARTBEAT-STABLE")
def everybody_synced(s: Script) -> None:
    """When all have synced nobody is waited for any more."""
    s.says("a", "B1", rebalance=SHORT)
    s.completing("a", "B1")
    s.sync("a", assign=("a", "B1"), wait=True)
    s.sync("B1", wait=True)
    s.pause("short rebalance")
    s.beat("a", "B1")


@case("HEARTBEAT-STABLE", "JOIN-STATIC-EMPTY-STABLE", "SYNC-STABLE")
def restart_before_the_sync(s: Script) -> None:
    """Nobody waits for the sync of a process that was replaced: its restart disturbs nobody."""
    s.says("a", "B1", "B2", rebalance=SHORT)
    s.completing("a", "B1")
    s.sync("a", assign=("a", "B1"), wait=True)
    s.join("B2", wait=True)
    s.sync("B2", wait=True)
    s.pause("short rebalance")
    s.beat("a", "B2")


@case("JOIN-PHASE-DELAY-OVER", delayed=False)
def no_delay(s: Script) -> None:
    """Without an initial delay the first member makes the first generation alone."""
    s.join("A1", wait=True)
    s.synced("A1")
    s.join("B1", settle=True)
    s.beat("A1")


@case("JOIN-PHASE-DELAY-EXTENDED", "JOIN-PHASE-DELAY-OVER", delayed=True)
def newcomer_extends_the_delay(s: Script) -> None:
    """Somebody new extends the initial delay; all make the first generation together."""
    s.join("A1", settle=True)
    s.join("b", member_id="", wait=True)
    s.join("b", wait=("A1", "b"))
    s.synced("A1", "b")


@case("JOIN-PHASE-DELAY-OVER", delayed=True)
def restart_does_not_extend_the_delay(s: Script) -> None:
    """A second process during the initial delay replaces the first and extends nothing."""
    s.join("A1", settle=True)
    s.join("A2", wait=("A1", "A2"))
    s.synced("A2")


@case("JOIN-PHASE-DELAY-OVER", delayed=True)
def delay_ends_with_the_rebalance_timeout(s: Script) -> None:
    """The initial delay is extended by no more than what is left of the rebalance timeout."""
    s.says("A1", "B1", rebalance=SHORT)
    s.join("A1", settle=True)
    s.join("B1", wait=("A1", "B1"))


@case("JOIN-PHASE-DELAY-OVER", "JOIN-PHASE-DELAY-EXTENDED", delayed=True)
def delay_ends_though_others_come(s: Script) -> None:
    """Whoever comes, the initial delay ends with the rebalance timeout."""
    s.says("A1", "B1", "C1", rebalance=Ms("two ticks"))
    s.join("A1")
    s.steps.append(Pause((Ms("delay"),), margins=0, parts=2))
    s.join("B1", settle=True)
    s.pause("delay", margins=0)
    s.join("C1", wait=("A1", "B1", "C1"))


@case("JOIN-PHASE-DELAY-OVER", "JOIN-PHASE-ALL-LEFT", delayed=True)
def delay_of_a_group_that_was_empty(s: Script) -> None:
    """A group that became Empty waits again before its next generation."""
    s.stable("a")
    s.leave("a")
    s.join("A1", wait=True)


@case("JOIN-PHASE-DELAY-EXTENDED", delayed=True)
def newcomer_to_a_group_that_was_empty(s: Script) -> None:
    """In a group that became Empty a newcomer extends the delay, too."""
    s.stable("a")
    s.leave("a")
    s.join("A1", settle=True)
    s.join("B1", wait=("A1", "B1"))


@case("JOIN-PHASE-DELAY-OVER", delayed=True)
def newcomer_of_long_ago(s: Script) -> None:
    """A delay is extended for those who come in it, not for who came in an earlier one."""
    s.completing("a", "b", rebalance=Ms("delay"))  # then nothing is left to extend it by
    s.leave("a")
    s.leave("b")
    s.join("A1", wait=True)


@case("JOIN-PHASE-NOBODY-JOINED", delayed=True)
def everybody_leaves_during_the_delay(s: Script) -> None:
    """If all leave during the initial delay the group is Empty when it is over."""
    s.join("a", member_id="", wait=True)
    s.join("a", settle=True)
    s.leave("a", connection="a again")
    s.wait("a")
    s.pause("delay")
    s.join("A1", wait=True)
