"""Failovers of the coordinator: stored state survives, all other state is gone."""

from __future__ import annotations

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.offset_cases import commit_by_hand
from fencepost.conformance.cases.script import Script
from fencepost.model.plans.steps import Ms

CASES = Registry()
case = CASES.case

_RESTART = ("restart",)
_LIST = (("ListGroups", 0),)


@case("FAILOVER-STABLE", "HEARTBEAT-STABLE", "SYNC-STABLE", features=_RESTART)
def stable_group_survives(s: Script) -> None:
    """A stable group fails over: members keep their ids, generation and assignments."""
    s.stable("A1", "b")
    s.restart()
    s.beat("A1", "b")
    s.sync("A1", "b", wait=True)


@case("FAILOVER-STABLE", "JOIN-STATIC-EMPTY-STABLE", features=_RESTART)
def instances_survive(s: Script) -> None:
    """A static member restarts after a failover: it gets its old assignment; no rebalance."""
    s.stable("A1", "B1")
    s.restart()
    s.join("B2", wait=True)
    s.sync("B2", wait=True)
    s.beat("A1", "B1")


@case("FAILOVER-STABLE", "HEARTBEAT-INSTANCE-FENCED", "HEARTBEAT-STABLE", features=_RESTART)
def replacement_survives(s: Script) -> None:
    """A replacement was stored before a failover: its old id stays fenced (KAFKA-10284)."""
    s.stable("A1", "B1")
    s.join("B2", wait=True)
    s.restart()
    s.beat("B2", "B1")
    s.sync("B2", wait=True)


@case("FAILOVER-STABLE", "JOIN-STATIC-EMPTY-STABLE", features=_RESTART)
def latest_replacement_survives(s: Script) -> None:
    """Several replacements happened before a failover: the latest holder counts."""
    s.stable("A1", "B1")
    s.join("A2", "A3", "B2", wait=True)
    s.restart()
    s.beat("A3", "A2", "A1", "B2")


@case("FAILOVER-STABLE", "JOIN-PHASE-ALL-JOINED", features=_RESTART)
def rebalance_after_a_failover(s: Script) -> None:
    """A stable group fails over and rebalances: same leader, and the next generation."""
    s.stable("A1", "b")
    s.restart()
    s.enter("n", settle=True)
    s.beat("b")
    s.join("A1", "b", wait=("A1", "b", "n"))
    s.synced("A1", "b", "n")


@case("FAILOVER-LOST", "HEARTBEAT-GROUP-ABSENT", features=_RESTART)
def unstored_group_is_lost(s: Script) -> None:
    """A group that was never stable fails over: it is gone, and its member's id is unknown."""
    s.join("A1", wait=True)
    s.restart()
    s.beat("A1")
    s.join("A1", "A2", wait=True)


@case("FAILOVER-LOST", "LIST-NO-GROUP", apis=_LIST, features=_RESTART)
def group_of_an_id_that_was_handed_out_is_lost(s: Script) -> None:
    """A group with only a pending id fails over: it is gone."""
    s.join("n", member_id="", wait=True)
    s.restart()
    s.list_groups()


@case("FAILOVER-LOST", "COMMIT-GROUP-ABSENT-GENERATION", features=_RESTART)
def commit_to_a_group_that_was_lost(s: Script) -> None:
    """A group without a stored generation fails over: a commit with a generation is refused."""
    s.join("n", member_id="", wait=True)
    s.restart()
    s.commit("n", generation=1, version=7)


@case("FAILOVER-LOST", features=_RESTART, delayed=True)
def waiting_first_join_is_sent_away(s: Script) -> None:
    """A first join is parked at a failover: it must look up the coordinator."""
    s.join("A1", settle=True)
    s.describe()  # it waits there, and was not just lost on its way
    s.restart()
    s.join("A2", wait=True)


@case("FAILOVER-STABLE", "JOIN-UNKNOWN-MEMBER", features=_RESTART)
def pending_id_is_lost(s: Script) -> None:
    """A pending id exists at a failover: it is unknown afterwards."""
    s.stable("A1")
    s.join("n", member_id="", wait=True)
    s.restart()
    s.join("n", wait=True)
    s.beat("A1")


@case("FAILOVER-OFFSETS", "FETCH-ANYBODY", features=_RESTART)
def offsets_alone_survive(s: Script) -> None:
    """A group with offsets and no members fails over: its offsets are kept."""
    commit_by_hand(s, 7)
    s.restart()
    s.fetch("admin")


@case("FAILOVER-OFFSETS", "HEARTBEAT-INSTANCE-UNMAPPED", "FETCH-ANYBODY", features=_RESTART)
def offsets_survive_a_generation_that_was_not_stored(s: Script) -> None:
    """A first generation without assignment fails over: its offsets are kept, not its members."""
    commit_by_hand(s, 7)
    s.join("A1", wait=True)
    s.restart()
    s.beat("A1")
    s.fetch("A1")


@case("FAILOVER-STABLE", "FETCH-ANYBODY", "COMMIT-STABLE", features=_RESTART)
def offsets_of_members_survive(s: Script) -> None:
    """Members committed before a failover: their offsets are kept, and they can go on."""
    s.stable("A1")
    s.commit("A1", offset=4)
    s.restart()
    s.fetch("A1")
    s.commit("A1", offset=5)
    s.fetch("A1")


@case("FAILOVER-EMPTY", "JOIN-STATIC-EMPTY-NEW", features=_RESTART)
def empty_group_survives(s: Script) -> None:
    """An Empty group fails over: it stays Empty, and its generation is kept."""
    s.stable("a")
    s.leave("a")
    s.restart()
    s.beat("a")
    s.join("A1", wait=True)


@case("FAILOVER-EMPTY", features=("restart",))
def empty_group_of_dynamic_members_survives(s: Script) -> None:
    """An Empty group of dynamic members fails over: it stays Empty, and its generation is kept."""
    s.stable("a")
    s.leave_legacy("a")
    s.restart()
    s.beat("a")
    s.enter("b", wait=True)


@case("FAILOVER-EMPTY", "HEARTBEAT-INSTANCE-UNMAPPED", features=_RESTART)
def empty_group_survives_a_generation_that_was_not_stored(s: Script) -> None:
    """A group that was last stored as Empty fails over: it is Empty."""
    s.stable("a")
    s.leave("a")
    s.join("A1", wait=True)
    s.restart()
    s.beat("A1")
    s.join("A2", wait=True)


@case("FAILOVER-STABLE", "HEARTBEAT-STABLE", features=_RESTART)
def rebalance_is_forgotten(s: Script) -> None:
    """A group fails over in the join phase: it is stable in the stored generation."""
    s.preparing("A1", "b")
    s.join("b", settle=True)
    s.restart()
    s.beat("A1", "b")


@case("FAILOVER-STABLE", "HEARTBEAT-ILLEGAL-GENERATION", features=_RESTART)
def generation_without_assignments_is_forgotten(s: Script) -> None:
    """A group fails over in the sync phase: it is stable in the generation before."""
    s.preparing("A1", "b")
    s.join("A1", "b", wait=("A1", "b", "n"))
    s.sync("b", settle=True)
    s.restart()
    s.beat("A1", "n")
    s.join("A1", settle=True)
    s.join("b", wait=("A1", "b"))


@case("FAILOVER-STABLE", "JOIN-STATIC-EMPTY-PREPARING", features=_RESTART)
def replacement_during_a_rebalance_is_forgotten(s: Script) -> None:
    """A replacement in the join phase is lost in a failover: the stored holder counts."""
    s.preparing("A1", "B1")
    s.beat("A1")
    s.join("B2", settle=True)
    s.beat("B1")  # replaced by now
    s.restart()
    s.beat("B1", "A1")


@case("FAILOVER-STABLE", "HEARTBEAT-STABLE", features=_RESTART)
def sessions_restart(s: Script) -> None:
    """A group fails over: each member's session restarts."""
    s.says("B1", session=Ms("three ticks"))
    s.stable("A1", "B1")
    s.pause("tick of time")  # all other failovers wait for this one
    s.restart()
    s.pause("two ticks")  # a broker may have read its groups long before it can be asked again
    s.beat("B1")


@case("FAILOVER-STABLE", "SESSION-EXPIRED", features=_RESTART)
def sessions_end_after_a_failover(s: Script) -> None:
    """A member is silent after a failover: its session expires, static or not."""
    s.says("B1", session=Ms("short session"))
    s.stable("A1", "B1")
    s.restart()
    s.outlast("short session", beating=("A1",))
    s.beat("A1", "B1")
