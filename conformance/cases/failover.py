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
    """A stable group goes on: members keep ids, generation and assignments."""
    s.stable("A1", "b")
    s.restart()
    s.beat("A1", "b")
    s.sync("A1", "b", wait=True)


@case("FAILOVER-STABLE", "JOIN-STATIC-EMPTY-STABLE", features=_RESTART)
def instances_survive(s: Script) -> None:
    """A static member that restarts after a failover gets its place back, without a rebalance."""
    s.stable("A1", "B1")
    s.restart()
    s.join("B2", wait=True)
    s.sync("B2", wait=True)
    s.beat("A1", "B1")


@case("FAILOVER-STABLE", "HEARTBEAT-INSTANCE-FENCED", "HEARTBEAT-STABLE", features=_RESTART)
def replacement_survives(s: Script) -> None:
    """The new id of a restarted static member is stored, the old one stays fenced (KAFKA-10284)."""
    s.stable("A1", "B1")
    s.join("B2", wait=True)
    s.restart()
    s.beat("B2", "B1")
    s.sync("B2", wait=True)


@case("FAILOVER-STABLE", "JOIN-STATIC-EMPTY-STABLE", features=_RESTART)
def latest_replacement_survives(s: Script) -> None:
    """Of several replacements the latest counts, of the leader, too."""
    s.stable("A1", "B1")
    s.join("A2", "A3", "B2", wait=True)
    s.restart()
    s.beat("A3", "A2", "A1", "B2")


@case("FAILOVER-STABLE", "JOIN-PHASE-ALL-JOINED", features=_RESTART)
def rebalance_after_a_failover(s: Script) -> None:
    """After a failover the leader still leads, and the next generation is the next."""
    s.stable("A1", "b")
    s.restart()
    s.enter("n", settle=True)
    s.beat("b")
    s.join("A1", "b", wait=("A1", "b", "n"))
    s.synced("A1", "b", "n")


@case("FAILOVER-LOST", "HEARTBEAT-GROUP-ABSENT", features=_RESTART)
def unstored_group_is_lost(s: Script) -> None:
    """A group that never was stable is gone; its member's id is unknown."""
    s.join("A1", wait=True)
    s.restart()
    s.beat("A1")
    s.join("A1", "A2", wait=True)


@case("FAILOVER-LOST", "LIST-NO-GROUP", apis=_LIST, features=_RESTART)
def group_of_an_id_that_was_handed_out_is_lost(s: Script) -> None:
    """A group in which somebody was only given an id is gone after a failover."""
    s.join("n", member_id="", wait=True)
    s.restart()
    s.list_groups()


@case("FAILOVER-LOST", "COMMIT-GROUP-ABSENT-GENERATION", features=_RESTART)
def commit_to_a_group_that_was_lost(s: Script) -> None:
    """After a failover a group that never had a generation has none to commit in."""
    s.join("n", member_id="", wait=True)
    s.restart()
    s.commit("n", generation=1, version=7)


@case("FAILOVER-LOST", features=_RESTART, delayed=True)
def waiting_first_join_is_sent_away(s: Script) -> None:
    """A join that waits for the first generation is sent to look for the coordinator."""
    s.join("A1", settle=True)
    s.describe()  # it waits there, and was not just lost on its way
    s.restart()
    s.join("A2", wait=True)


@case("FAILOVER-STABLE", "JOIN-UNKNOWN-MEMBER", features=_RESTART)
def pending_id_is_lost(s: Script) -> None:
    """An id that was not used is unknown after a failover."""
    s.stable("A1")
    s.join("n", member_id="", wait=True)
    s.restart()
    s.join("n", wait=True)
    s.beat("A1")


@case("FAILOVER-OFFSETS", "FETCH-ANYBODY", features=_RESTART)
def offsets_alone_survive(s: Script) -> None:
    """Offsets of a group without members survive."""
    commit_by_hand(s, 7)
    s.restart()
    s.fetch("admin")


@case("FAILOVER-OFFSETS", "HEARTBEAT-INSTANCE-UNMAPPED", "FETCH-ANYBODY", features=_RESTART)
def offsets_survive_a_generation_that_was_not_stored(s: Script) -> None:
    """Offsets survive, members that never were given an assignment don't."""
    commit_by_hand(s, 7)
    s.join("A1", wait=True)
    s.restart()
    s.beat("A1")
    s.fetch("A1")


@case("FAILOVER-STABLE", "FETCH-ANYBODY", "COMMIT-STABLE", features=_RESTART)
def offsets_of_members_survive(s: Script) -> None:
    """Offsets that members committed survive, and members go on from there."""
    s.stable("A1")
    s.commit("A1", offset=4)
    s.restart()
    s.fetch("A1")
    s.commit("A1", offset=5)
    s.fetch("A1")


@case("FAILOVER-EMPTY", "JOIN-STATIC-EMPTY-NEW", features=_RESTART)
def empty_group_survives(s: Script) -> None:
    """An Empty group is Empty afterwards, and its generation goes on."""
    s.stable("a")
    s.leave("a")
    s.restart()
    s.beat("a")
    s.join("A1", wait=True)


@case("FAILOVER-EMPTY", features=("restart",))
def empty_group_of_dynamic_members_survives(s: Script) -> None:
    """An Empty group is Empty after a failover, and its generation goes on."""
    s.stable("a")
    s.leave_legacy("a")
    s.restart()
    s.beat("a")
    s.enter("b", wait=True)


@case("FAILOVER-EMPTY", "HEARTBEAT-INSTANCE-UNMAPPED", features=_RESTART)
def empty_group_survives_a_generation_that_was_not_stored(s: Script) -> None:
    """A group that was Empty, and not yet stable again, is Empty afterwards."""
    s.stable("a")
    s.leave("a")
    s.join("A1", wait=True)
    s.restart()
    s.beat("A1")
    s.join("A2", wait=True)


@case("FAILOVER-STABLE", "HEARTBEAT-STABLE", features=_RESTART)
def rebalance_is_forgotten(s: Script) -> None:
    """A rebalance that was being prepared is forgotten: the stored generation is stable."""
    s.preparing("A1", "b")
    s.join("b", settle=True)
    s.restart()
    s.beat("A1", "b")


@case("FAILOVER-STABLE", "HEARTBEAT-ILLEGAL-GENERATION", features=_RESTART)
def generation_without_assignments_is_forgotten(s: Script) -> None:
    """A generation that got no assignment is forgotten; the one before it is stable."""
    s.preparing("A1", "b")
    s.join("A1", "b", wait=("A1", "b", "n"))
    s.sync("b", settle=True)
    s.restart()
    s.beat("A1", "n")
    s.join("A1", settle=True)
    s.join("b", wait=("A1", "b"))


@case("FAILOVER-STABLE", "JOIN-STATIC-EMPTY-PREPARING", features=_RESTART)
def replacement_during_a_rebalance_is_forgotten(s: Script) -> None:
    """An instance that was replaced while a rebalance was prepared has its stored id again."""
    s.preparing("A1", "B1")
    s.beat("A1")
    s.join("B2", settle=True)
    s.beat("B1")  # replaced by now
    s.restart()
    s.beat("B1", "A1")


@case("FAILOVER-STABLE", "HEARTBEAT-STABLE", features=_RESTART)
def sessions_restart(s: Script) -> None:
    """After a failover every member has a whole session timeout again."""
    s.says("B1", session=Ms("three ticks"))
    s.stable("A1", "B1")
    s.pause("tick of time")  # all other failovers wait for this one
    s.restart()
    s.pause("two ticks")  # a broker may have read its groups long before it can be asked again
    s.beat("B1")


@case("FAILOVER-STABLE", "SESSION-EXPIRED", features=_RESTART)
def sessions_end_after_a_failover(s: Script) -> None:
    """Who doesn't come back after a failover is removed, static or not."""
    s.says("B1", session=Ms("short session"))
    s.stable("A1", "B1")
    s.restart()
    s.outlast("short session", beating=("A1",))
    s.beat("A1", "B1")
