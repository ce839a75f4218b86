"""Moves of the coordinator between brokers that run: one unloads a group, the other loads it.

A failover ends the old coordinator with all it knew, and the connections with it.  After a move it
goes on: it must answer whoever waits there, and forget the group with its timers, which would
strike when the group comes back.
"""

from __future__ import annotations

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.script import Script
from fencepost.model.coordinator import MOVES
from fencepost.model.plans.steps import GenerationOf, Ms

CASES = Registry()
case = CASES.case

_MOVES = (MOVES,)
_LONG_MS = 600_000
"""A rebalance timeout that outlasts the wait of a case for others that move with it."""


@case("FAILOVER-STABLE", "HEARTBEAT-STABLE", features=_MOVES)
def join_that_waits_at_a_move(s: Script) -> None:
    """The coordinator moves while a join is parked: the join is answered (KAFKA-16148)."""
    s.says("A1", "b", "n", rebalance=_LONG_MS)
    s.preparing("A1", "b")
    s.join("b", settle=True)
    s.move()
    s.wait("b", "n")
    s.beat("A1", "b")


@case("FAILOVER-STABLE", "HEARTBEAT-STABLE", features=_MOVES)
def sync_that_waits_at_a_move(s: Script) -> None:
    """The coordinator moves while a sync is parked: the sync is answered (KAFKA-16148)."""
    s.says("A1", "b", "n", rebalance=_LONG_MS)
    s.preparing("A1", "b")
    s.join("A1", "b", wait=("A1", "b", "n"))
    s.sync("b", settle=True)
    s.move()
    s.wait("b")
    s.join("A1", settle=True)
    s.join("b", wait=("A1", "b"))
    s.synced("A1", "b")
    s.beat("A1", "b")


@case("FAILOVER-LOST", "JOIN-STATIC-EMPTY-NEW", features=_MOVES, delayed=True)
def first_join_waits_at_a_move(s: Script) -> None:
    """The coordinator moves while a first join is parked: the join is answered."""
    s.join("A1", settle=True)
    s.describe()  # it waits there
    s.move()
    s.wait("A1")
    s.join("A2", wait=True)


@case("FAILOVER-STABLE", "HEARTBEAT-STABLE", features=_MOVES)
def rebalance_does_not_move(s: Script) -> None:
    """The coordinator moves in the join phase: its timer removes no member, then or later."""
    s.preparing("A1", "b")
    s.move()
    s.pause("rebalance")  # many cases wait for one move, so a short one may end before it
    s.beat("A1", "b")
    s.move()
    s.beat("A1", "b")


@case("FAILOVER-STABLE", "HEARTBEAT-STABLE", features=_MOVES)
def wait_for_syncs_does_not_move(s: Script) -> None:
    """The coordinator moves in the sync phase: a missing sync removes no member."""
    s.preparing("A1", "b")
    s.join("A1", "b", wait=("A1", "b", "n"))
    s.move()
    s.pause("rebalance")  # many cases wait for one move, so a short one may end before it
    for who in ("A1", "b"):
        s.beat(who, generation=GenerationOf(who, plus=-1))
    s.move()
    for who in ("A1", "b"):
        s.beat(who, generation=GenerationOf(who, plus=-1))


@case("FAILOVER-STABLE", "HEARTBEAT-STABLE", features=_MOVES)
def sessions_begin_anew_at_each_move(s: Script) -> None:
    """The coordinator moves and comes back: each member's session restarts each time."""
    s.says("B1", session=Ms("three ticks"))
    s.stable("A1", "B1")
    s.pause("two ticks")
    s.move()
    s.pause("two ticks")
    s.beat("B1")
    s.pause("two ticks")
    s.move()
    s.pause("two ticks")
    s.beat("B1")


@case("FAILOVER-STABLE", "SESSION-EXPIRED", features=_MOVES)
def sessions_end_after_a_return(s: Script) -> None:
    """The coordinator comes back, and a static member is silent: it is removed."""
    s.says("B1", session=Ms("short session"))
    s.stable("A1", "B1")
    s.move()
    s.beat("B1")
    s.move()
    s.outlast("short session", beating=("A1",))
    s.beat("A1", "B1")


@case(
    "FAILOVER-STABLE",
    "JOIN-STATIC-EMPTY-STABLE",
    "HEARTBEAT-INSTANCE-FENCED",
    "HEARTBEAT-STABLE",
    features=_MOVES,
)
def replacement_elsewhere_counts_after_a_return(s: Script) -> None:
    """An instance is replaced at another broker: its old id stays fenced after the return."""
    s.stable("A1", "B1")
    s.move()
    s.join("B2", wait=True)
    s.move()
    s.beat("B2", "B1")
    s.sync("B2", wait=True)


@case("FAILOVER-STABLE", "LEAVE-MEMBER", "HEARTBEAT-UNKNOWN-MEMBER", features=_MOVES)
def member_that_left_elsewhere_is_gone(s: Script) -> None:
    """A member leaves at another broker: it is unknown after the return."""
    s.stable("A1", "b")
    s.move()
    s.leave("b")
    s.join("A1", wait=True)
    s.synced("A1")
    s.move()
    s.beat("A1", "b")


@case("FAILOVER-STABLE", "JOIN-UNKNOWN-MEMBER", features=_MOVES)
def handed_out_id_is_gone_after_a_return(s: Script) -> None:
    """The coordinator moves and comes back: an earlier pending id is unknown."""
    s.stable("A1")
    s.join("n", member_id="", wait=True)
    s.move()
    s.move()
    s.join("n", wait=True)
    s.beat("A1")


@case("FAILOVER-STABLE", "FETCH-ANYBODY", "COMMIT-STABLE", features=_MOVES)
def offsets_of_the_other_broker_count(s: Script) -> None:
    """A member commits at another broker: that offset counts after the return."""
    s.stable("A1")
    s.commit("A1", offset=4)
    s.move()
    s.commit("A1", offset=5)
    s.move()
    s.fetch("A1")
