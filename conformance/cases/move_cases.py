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
    """KAFKA-16148: a join that waited when its coordinator moved away was never answered."""
    s.says("A1", "b", "n", rebalance=_LONG_MS)
    s.preparing("A1", "b")
    s.join("b", settle=True)
    s.move()
    s.wait("b", "n")
    s.beat("A1", "b")


@case("FAILOVER-STABLE", "HEARTBEAT-STABLE", features=_MOVES)
def sync_that_waits_at_a_move(s: Script) -> None:
    """KAFKA-16148: a sync that waited when its coordinator moved away was never answered."""
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
    """A join that waits for the first generation is answered when the coordinator moves."""
    s.join("A1", settle=True)
    s.describe()  # it waits there
    s.move()
    s.wait("A1")
    s.join("A2", wait=True)


@case("FAILOVER-STABLE", "HEARTBEAT-STABLE", features=_MOVES)
def rebalance_does_not_move(s: Script) -> None:
    """The timer of a rebalance ends with the move: it removes nobody, there or after the return."""
    s.preparing("A1", "b")
    s.move()
    s.pause("rebalance")  # many cases wait for one move, so a short one may end before it
    s.beat("A1", "b")
    s.move()
    s.beat("A1", "b")


@case("FAILOVER-STABLE", "HEARTBEAT-STABLE", features=_MOVES)
def wait_for_syncs_does_not_move(s: Script) -> None:
    """The wait for syncs ends with the move: who never sent one stays in the stored generation."""
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
    """At each move every member has a whole session timeout again, also where it has been."""
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
    """A static member that falls silent after the coordinator came back is removed."""
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
    """An instance that was replaced at the other broker stays so where its old holder was known."""
    s.stable("A1", "B1")
    s.move()
    s.join("B2", wait=True)
    s.move()
    s.beat("B2", "B1")
    s.sync("B2", wait=True)


@case("FAILOVER-STABLE", "LEAVE-MEMBER", "HEARTBEAT-UNKNOWN-MEMBER", features=_MOVES)
def member_that_left_elsewhere_is_gone(s: Script) -> None:
    """A member that left at the other broker is unknown where it was a member before."""
    s.stable("A1", "b")
    s.move()
    s.leave("b")
    s.join("A1", wait=True)
    s.synced("A1")
    s.move()
    s.beat("A1", "b")


@case("FAILOVER-STABLE", "JOIN-UNKNOWN-MEMBER", features=_MOVES)
def handed_out_id_is_gone_after_a_return(s: Script) -> None:
    """An id that was handed out before the coordinator moved is unknown when it came back."""
    s.stable("A1")
    s.join("n", member_id="", wait=True)
    s.move()
    s.move()
    s.join("n", wait=True)
    s.beat("A1")


@case("FAILOVER-STABLE", "FETCH-ANYBODY", "COMMIT-STABLE", features=_MOVES)
def offsets_of_the_other_broker_count(s: Script) -> None:
    """An offset that was committed at the other broker replaces the one from before."""
    s.stable("A1")
    s.commit("A1", offset=4)
    s.move()
    s.commit("A1", offset=5)
    s.move()
    s.fetch("A1")
