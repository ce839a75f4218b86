"""Session timeouts: removal of silent members, and requests that restart the timer.

Only the member that a case is about has the short one, so that the others may be silent meanwhile.
"""

from __future__ import annotations

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.script import NOBODY, RENEWED, Script
from fencepost.model.plans.steps import GenerationOf, IdOf, Ms
from fencepost.model.table.table import Level

CASES = Registry()
case = CASES.case

SHORT, LONG = Ms("short session"), Ms("rebalance")
_TEN_MINUTES = {"group.initial.rebalance.delay.ms": 600_000}
_LONGER = 1_000_000


@case("SESSION-EXPIRED", "HEARTBEAT-PREPARING", "JOIN-UNKNOWN-MEMBER")
def silent_member(s: Script) -> None:
    """The session of a dynamic member expires: it is removed, and the others rebalance."""
    s.says("b", session=SHORT)
    s.stable("a", "b")
    s.outlast("short session", beating=("a",))
    s.beat("a", "b")
    s.join("b", "a", wait=True)


@case("SESSION-EXPIRED", "HEARTBEAT-INSTANCE-UNMAPPED", "JOIN-STATIC-EMPTY-NEW")
def silent_static_member(s: Script) -> None:
    """The session of a static member expires: it is removed, and its instance joins as new."""
    s.says("B1", session=SHORT)
    s.stable("a", "B1")
    s.outlast("short session", beating=("a",))
    s.beat("a", "B1")
    s.join("B1", wait=True)
    s.join("B2", settle=True)
    s.join("a", wait=("a", "B2"))


@case("SESSION-EXPIRED", "HEARTBEAT-INSTANCE-UNMAPPED", "JOIN-INSTANCE-UNMAPPED")
def instance_of_an_expired_member(s: Script) -> None:
    """The session of a static member expires: any id with its instance is unknown, not fenced."""
    s.says("B1", session=SHORT)
    s.stable("a", "B1")
    s.outlast("short session", beating=("a",))
    s.beat("a")
    for member_id in (IdOf("a"), IdOf("B1"), NOBODY):
        s.beat("B1", member_id=member_id)
        s.join("B1", member_id=member_id, wait=True)
        s.commit("B1", member_id=member_id, generation=GenerationOf("a"))
        s.leave("B1", (member_id, "B"))
    s.join("B2", settle=True)
    s.join("a", wait=("a", "B2"))
    s.beat("B1", "B2")


@case("SESSION-EXPIRED", "JOIN-PHASE-ALL-JOINED")
def silent_leader(s: Script) -> None:
    """The session of the leader expires: it is removed, and another member leads."""
    s.says("A1", session=SHORT)
    s.stable("A1", "b", "C1")
    s.outlast("short session", beating=("b", "C1"))
    s.beat("b")
    s.join("b", "C1", wait=("b", "C1"))
    s.synced("b", "C1")


@case("SESSION-EXPIRED", "HEARTBEAT-PREPARING")
def silent_between_join_and_sync(s: Script) -> None:
    """The session of a member expires right after its join: it is removed (KAFKA-9752)."""
    s.says("b", session=SHORT, rebalance=LONG)
    s.completing("a", "b")
    s.outlast("short session", beating=("a",))
    s.beat("a", "b")
    s.join("a", wait=True)


@case("SESSION-EXPIRED", "HEARTBEAT-PREPARING")
def silent_static_member_between_join_and_sync(s: Script) -> None:
    """The session of a static member expires in the sync phase: it is removed; parked syncs end."""
    s.says("B1", session=SHORT, rebalance=LONG)
    s.completing("a", "B1", "c")
    s.sync("c")
    s.pause("short session")
    s.wait("c")
    s.beat("a", "B1")


@case("SESSION-EXPIRED-PREPARING", "JOIN-PHASE-ALL-JOINED")
def silent_during_a_rebalance(s: Script) -> None:
    """The session of a dynamic member expires in the join phase: the rebalance ends."""
    s.says("b", session=SHORT)
    s.preparing("a", "b")
    s.join("a", wait=("a", "n"))
    s.beat("b")


@case("SESSION-EXPIRED-PREPARING", "JOIN-PHASE-ALL-JOINED")
def silent_static_member_during_a_rebalance(s: Script) -> None:
    """The session of a static member expires in the join phase: the rebalance ends."""
    s.says("B1", session=SHORT)
    s.preparing("a", "B1")
    s.join("a", wait=("a", "n"))
    s.beat("B1")


@case("SESSION-EXPIRED", "JOIN-PHASE-ALL-LEFT")
def only_member_falls_silent(s: Script) -> None:
    """The session of the only member expires: the group becomes Empty, and can be joined."""
    s.says("A1", session=SHORT)
    s.stable("A1")
    s.pause("short session")
    s.beat("A1")
    s.join("A2", wait=True)


@case("HEARTBEAT-STABLE")
def heartbeats_keep_alive(s: Script) -> None:
    """A member sends heartbeats for longer than its session timeout: it stays a member."""
    s.says("a", "B1", session=SHORT)
    s.stable("a", "B1")
    for _ in range(2):
        s.pause("short session", minus=True)
        s.beat("a", "B1")
    s.join("B1", wait=True)


@case("HEARTBEAT-COMPLETING")
def heartbeats_keep_alive_between_join_and_sync(s: Script) -> None:
    """A member sends heartbeats in the sync phase: it stays a member."""
    s.says("a", session=SHORT, rebalance=LONG)
    s.completing("a", "b")
    s.pause("short session", minus=True)
    s.beat("a")
    s.pause("short session", minus=True)
    s.synced("a", "b")


@case("HEARTBEAT-PREPARING", "JOIN-MEMBER-PREPARING")
def heartbeats_keep_alive_during_a_rebalance(s: Script) -> None:
    """A member sends heartbeats in the join phase: it stays a member, and must rejoin."""
    s.says("b", session=SHORT)
    s.preparing("a", "b")
    s.join("a")
    s.pause("short session", minus=True)
    s.beat("b")
    s.pause("short session", minus=True)
    s.join("b", wait=("a", "b", "n"))


@case("COMMIT-STABLE", "HEARTBEAT-STABLE")
def commits_keep_alive(s: Script) -> None:
    """A member commits before its session expires: its session restarts."""
    s.says("B1", session=SHORT)
    s.stable("a", "B1")
    s.pause("short session", minus=True)
    s.commit("B1")
    s.pause("short session", minus=True)
    s.beat("B1")


@case("COMMIT-PREPARING", "JOIN-MEMBER-PREPARING")
def commits_keep_alive_during_a_rebalance(s: Script) -> None:
    """A member commits in the join phase before its session expires: its session restarts."""
    s.says("b", session=SHORT)
    s.preparing("a", "b")
    s.join("a")
    s.pause("short session", minus=True)
    s.commit("b")
    s.pause("short session", minus=True)
    s.join("b", wait=("a", "b", "n"))


@case("SYNC-COMPLETING-LEADER", "HEARTBEAT-STABLE")
def answered_sync_keeps_alive(s: Script) -> None:
    """A parked SyncGroup is answered: the session of its member restarts."""
    s.says("b", session=SHORT, rebalance=LONG)
    s.completing("a", "b")
    s.sync("b")
    s.pause("short session", minus=True)
    s.sync("a", assign=("a", "b"), wait=("a", "b"))
    s.pause("short session", minus=True)
    s.beat("b")


@case("JOIN-STATIC-EMPTY-STABLE", "HEARTBEAT-STABLE")
def restart_keeps_alive(s: Script) -> None:
    """A static member restarts before its session expires: the session restarts."""
    s.says("B1", "B2", session=SHORT)
    s.stable("a", "B1")
    s.pause("short session", minus=True)
    s.join("B2", wait=True)
    s.pause("short session", minus=True)
    s.beat("B2", "a")


@case("SESSION-EXPIRED", "JOIN-STATIC-EMPTY-STABLE", level=Level.SHOULD)
def session_of_a_restart_is_shorter(s: Script) -> None:
    """A restart has a shorter session timeout: the new timeout counts (Redpanda, 2024)."""
    s.says("B2", session=SHORT)
    s.stable("a", "B1")
    s.join("B2", wait=True)
    s.outlast("short session", beating=("a",))
    s.beat("a", "B2")


@case("JOIN-STATIC-EMPTY-STABLE", "HEARTBEAT-STABLE", level=Level.SHOULD)
def session_of_a_restart_is_longer(s: Script) -> None:
    """A restart has a longer session timeout: the new timeout counts."""
    s.says("B1", session=SHORT)
    s.stable("a", "B1")
    s.join("B2", wait=True)
    s.outlast("short session", beating=("a",))
    s.beat("a", "B2")


@case("SESSION-EXPIRED", "JOIN-MEMBER-PREPARING")
def session_of_a_rejoin(s: Script) -> None:
    """A member rejoins with another session timeout: the new timeout counts."""
    s.preparing("a", "b")
    s.join("b", session=SHORT)
    s.join("a", wait=("a", "b", "n"))
    s.synced("a", "b", "n")
    s.outlast("short session", beating=("a",))
    s.beat("a")


@case("SESSION-EXPIRED", "JOIN-FOLLOWER-STABLE-CHANGED")
def session_of_a_changed_follower(s: Script) -> None:
    """A changed follower rejoins with another session timeout: the new timeout counts."""
    s.stable("a", "B1")
    s.join("B1", session=SHORT, protocols=RENEWED)
    s.pause()
    s.join("a", wait=("a", "B1"))
    s.synced("a", "B1")
    s.outlast("short session", beating=("a",))
    s.beat("a")


@case("SESSION-EXPIRED", "JOIN-LEADER-STABLE")
def session_of_a_leader_that_rejoined(s: Script) -> None:
    """A leader rejoins with another session timeout: the new timeout counts."""
    s.stable("a", "b")
    s.join("a", session=SHORT, settle=True)
    s.join("b", wait=("a", "b"))
    s.synced("a", "b")
    s.outlast("short session", beating=("b",))
    s.beat("b")


@case("SESSION-EXPIRED", "JOIN-MEMBER-COMPLETING-CHANGED")
def session_of_a_change_before_the_sync(s: Script) -> None:
    """A member rejoins in the sync phase with another session timeout: the new timeout counts."""
    s.completing("a", "b")
    s.join("b", session=SHORT, protocols=RENEWED, settle=True)
    s.join("a", wait=("a", "b"))
    s.synced("a", "b")
    s.outlast("short session", beating=("a",))
    s.beat("a")


@case("SESSION-WAITING", "JOIN-PHASE-ALL-JOINED")
def waiting_join_is_alive(s: Script) -> None:
    """A JoinGroup is parked for longer than the session timeout: its member stays."""
    s.says("a", session=SHORT)
    s.preparing("a", "b")
    s.join("a")
    s.pause("short session")
    s.join("b", wait=("a", "b", "n"))


@case("SESSION-WAITING", "JOIN-STATIC-EMPTY-PREPARING")
def restart_during_the_first_join_is_alive(s: Script) -> None:
    """A restart replaces a parked first join: the new member stays while it is parked."""
    s.says("A1", session=SHORT)
    s.says("A2", session=SHORT)
    s.stable("x")
    s.join("A1", settle=True)
    s.join("A2")
    s.wait("A1")
    s.pause("short session")
    s.join("x", wait=("A2", "x"))


@case("SESSION-WAITING", "SYNC-COMPLETING-LEADER")
def waiting_sync_is_alive(s: Script) -> None:
    """A SyncGroup is parked for longer than the session timeout: its member stays."""
    s.says("B1", session=SHORT, rebalance=LONG)
    s.completing("a", "B1")
    s.sync("B1")
    s.outlast("short session", beating=("a",))
    s.sync("a", assign=("a", "B1"), wait=("a", "B1"))
    s.beat("B1")


@case("SESSION-PENDING", "JOIN-UNKNOWN-MEMBER", "HEARTBEAT-STABLE")
def pending_id_expires(s: Script) -> None:
    """A pending id isn't used within its session timeout: it is unknown."""
    s.stable("A1")
    s.join("n", member_id="", session=SHORT, wait=True)
    s.pause("short session")
    s.join("n", wait=True)
    s.beat("A1")


@case(
    "SESSION-PENDING",
    "JOIN-PHASE-DELAY-OVER",
    delayed=True,
    config={"group.min.session.timeout.ms": 100},
)
def pending_id_expires_during_the_delay(s: Script) -> None:
    """A pending id expires during the initial delay: the delay goes on, and others can join."""
    s.join("A1", settle=True)
    s.join("n", member_id="", session=500, wait=True)
    s.wait("A1")
    s.join("n", wait=True)


@case("JOIN-STATIC-EMPTY-NEW", "JOIN-PHASE-ALL-JOINED")
def first_join_waits_longer_than_a_session(s: Script) -> None:
    """A first join is parked for longer than its session timeout: its member stays."""
    s.stable("a")
    s.join("N1", session=SHORT, settle=True)
    s.outlast("short session", beating=("a",))
    s.join("a", wait=("a", "N1"))
    s.synced("a", "N1")


@case(
    "SESSION-EXPIRED-NEW",
    named="SESSION-EXPIRED-PREPARING",
    config=_TEN_MINUTES,
    delayed=True,
    isolated=True,
)
def first_join_waits_for_minutes(s: Script) -> None:
    """A first join of a static member is parked for five minutes: the member is removed."""
    s.join("A1", rebalance=_LONGER, wait=True)


@case("SESSION-EXPIRED-NEW", config=_TEN_MINUTES, delayed=True, isolated=True)
def first_join_of_a_dynamic_member_waits_for_minutes(s: Script) -> None:
    """A first join of a dynamic member is parked for five minutes: the member is removed."""
    s.enter("a", rebalance=_LONGER, wait=True)
