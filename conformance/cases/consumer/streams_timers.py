"""Cases of the timers of streams groups, and of their failover."""

from __future__ import annotations

from fencepost.conformance.cases.consumer.consumer_script import SHORT_SESSION
from fencepost.conformance.cases.consumer.streams_script import StreamsScript
from fencepost.model.plans.steps import Ms, OwnedOf

CASES = StreamsScript.registry(**SHORT_SESSION)
FAILOVERS = StreamsScript.registry()
"""Cases with the usual session timeout, which a failover must not end."""
case = CASES.case


@case("CG-SESSION-EXPIRED", "CG-JOIN-DYNAMIC-NEW")
def streams_silent_thread(s: StreamsScript) -> None:
    """A silent thread is removed when its session ends; the other one gets its tasks."""
    s.reconciled("m", "n")
    s.outlast_session(beating=("n",))
    s.beat("n", "n")
    s.beat("m")
    s.join("m")


@case("CG-SESSION-EXPIRED-RELEASED", "CG-JOIN-STATIC-NEW")
def streams_released_thread_expires(s: StreamsScript) -> None:
    """A released thread that doesn't return is removed."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.outlast_session(beating=("B1",))
    s.join("A2")
    s.beat("B1")


@case("CG-JOIN-UNRELEASED", "CG-JOIN-STATIC-NEW")
def streams_refused_until_the_session_ends(s: StreamsScript) -> None:
    """A second process is refused until the session of the silent thread ends."""
    s.join("A1")
    s.pause("group session", minus=True, margins=2)
    s.join("A2")
    s.pause(margins=4)
    s.join("A2")


@case("CG-REBALANCE-EXPIRED", "CG-JOIN-STATIC-NEW")
def streams_tasks_are_not_given_up(s: StreamsScript) -> None:
    """A thread that doesn't give its tasks up in time is removed, though it is static."""
    s.join("A1", rebalance=Ms("short rebalance"))
    s.join("B1")
    s.beat("A1")
    s.pause("short rebalance")
    s.beat("A1", owns=OwnedOf("A1", back=1))
    s.beat("B1")


@FAILOVERS.case("CG-FAILOVER-GROUP", "CG-JOIN-RETURN", features=("restart",))
def streams_group_after_a_failover(s: StreamsScript) -> None:
    """Threads, instances and tasks survive a failover; so does a release."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.restart()
    s.join("A2")
    s.beat("B1", "A2")
