"""Timers and failovers of the consumer protocol: sessions, rebalance timeouts, batched targets."""

from __future__ import annotations

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.consumer.consumer_script import (
    SHORT_SESSION,
    ConsumerScript,
    registry,
)
from fencepost.model.consumer.settings import ASSIGNMENT_INTERVAL
from fencepost.model.plans.steps import Ms, OwnedOf

CASES = registry(**SHORT_SESSION)
case = CASES.case


@case("CG-SESSION-EXPIRED", "CG-BEAT-ALIVE")
def silent_member(s: ConsumerScript) -> None:
    """A static member is silent for its session: it is removed, and others get its partitions."""
    s.reconciled("A1", "B1")
    s.outlast_session(beating=("B1",))
    s.beat("B1")
    s.beat("A1")
    s.describe()


@case("CG-JOIN-UNRELEASED", "CG-SESSION-EXPIRED")
def refused_until_the_session_ends(s: ConsumerScript) -> None:
    """A second process is refused until the session of the silent holder ends."""
    s.reconciled("A1")
    s.pause("group session", minus=True)
    s.join("A2")
    s.pause(margins=3)
    s.join("A2")
    s.beat("A2")


@case("CG-SESSION-EXPIRED", "CG-JOIN-STATIC-NEW")
def return_after_expiry(s: ConsumerScript) -> None:
    """A static member returns after its session: it is a newcomer."""
    s.reconciled("A1", "B1")
    s.outlast_session(beating=("B1",))
    s.join("A2")
    s.beat("B1", "B1", "A2")
    s.describe()


@case("CG-SESSION-EXPIRED", "CG-BEAT-EPOCH-NEWER")
def errors_restart_no_timer(s: ConsumerScript) -> None:
    """A heartbeat that is refused doesn't prolong the session."""
    s.reconciled("A1")
    s.pause("group session", minus=True, margins=2)
    s.beat("A1", epoch=99)
    s.pause(margins=4)
    s.beat("A1")


@case("CG-SESSION-EXPIRED", "CG-JOIN-UNRELEASED")
def refused_joins_restart_no_timer(s: ConsumerScript) -> None:
    """A refused join of a second process doesn't prolong the session of the holder."""
    s.reconciled("A1")
    s.pause("group session", minus=True, margins=2)
    s.join("A2")
    s.pause(margins=4)
    s.beat("A1")


@case("CG-BEAT-ALIVE")
def heartbeats_prolong_the_session(s: ConsumerScript) -> None:
    """Each heartbeat that is accepted begins the session anew."""
    s.reconciled("A1")
    s.pause("group session", minus=True, margins=2)
    s.keep("A1")
    s.pause("group session", minus=True, margins=2)
    s.beat("A1")


@case("CG-SESSION-EXPIRED-RELEASED", "CG-JOIN-STATIC-NEW")
def released_member_expires(s: ConsumerScript) -> None:
    """Nobody returns in a released member's session: it is removed, others get its partitions."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.outlast_session(beating=("B1",))
    s.beat("B1")
    s.join("A2")
    s.beat("B1", "B1", "A2")
    s.describe()


@case("CG-SESSION-EXPIRED-RELEASED", "CG-LEAVE-RELEASE-AGAIN")
def release_prolongs_no_session(s: ConsumerScript) -> None:
    """The session of a released member began with its last heartbeat; no -2 prolongs it."""
    s.reconciled("A1", "B1")
    s.pause("group session", minus=True, margins=3)
    s.release("A1")
    s.beat("B1")
    s.pause(margins=1)
    s.release("A1")
    s.pause(margins=4)
    s.beat("B1")
    s.release("A1")
    s.describe()


@case("CG-JOIN-RETURN", "CG-SESSION-EXPIRED")
def return_begins_a_new_session(s: ConsumerScript) -> None:
    """A return begins a full session of the new id."""
    s.reconciled("A1")
    s.pause("group session", minus=True, margins=3)
    s.release("A1")
    s.join("A2")
    s.pause("group session", minus=True, margins=2)
    s.join("A3")
    s.pause(margins=4)
    s.join("A3")


@case("CG-REBALANCE-EXPIRED")
def partitions_are_not_given_up(s: ConsumerScript) -> None:
    """A member sends heartbeats, but gives no partitions up within its rebalance timeout."""
    s.join("A1", rebalance=Ms("short rebalance"))
    s.join("B1")
    s.beat("A1")
    s.pause("short rebalance")
    s.beat("A1", owns=OwnedOf("A1", back=1))
    s.beat("B1")
    s.describe()


@case("CG-BEAT-ALIVE")
def partitions_are_given_up_in_time(s: ConsumerScript) -> None:
    """A member gives partitions up within its rebalance timeout, and stays."""
    s.join("A1", rebalance=Ms("short rebalance"))
    s.join("B1")
    s.beat("A1")
    s.keep("A1")
    s.beat("A1")
    s.pause("short rebalance")
    s.beat("A1", "B1")
    s.describe()


# Failovers.


@case("CG-FAILOVER-GROUP", "CG-JOIN-UNRELEASED", features=("restart",))
def live_member_after_a_failover(s: ConsumerScript) -> None:
    """After a failover a live member goes on, and a second process of it is still refused."""
    s.reconciled("A1", "B1")
    s.restart()
    s.beat("A1", "B1")
    s.join("A2")
    s.describe()


@case("CG-FAILOVER-GROUP", "CG-JOIN-RETURN", features=("restart",))
def released_member_after_a_failover(s: ConsumerScript) -> None:
    """A released member is still released after a failover, and its next process gets its place."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.restart()
    s.beat("B1")
    s.join("A2")
    s.describe()


@case("CG-FAILOVER-GROUP", features=("restart",))
def sessions_begin_anew_after_a_failover(s: ConsumerScript) -> None:
    """A failover begins all sessions anew, also that of a released member."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.pause("group session", minus=True, margins=3)
    s.restart()
    s.pause(margins=4)
    s.beat("B1")
    s.join("A2")


@case("CG-REBALANCE-EXPIRED-RELEASED", features=("restart",))
def released_while_giving_up_before_a_failover(s: ConsumerScript) -> None:
    """A member is released while it has partitions to give up; after a failover its R runs."""
    s.join("A1", rebalance=Ms("short rebalance"))
    s.join("B1")
    s.beat("A1")
    s.release("A1")
    s.beat("B1")
    s.restart()
    s.pause("short rebalance")
    s.beat("B1")
    s.join("A2")
    s.describe()


@case("CG-FAILOVER-GROUP", "CG-JOIN-CHANGE-INSTANCE", features=("restart",))
def changed_instance_after_a_failover(s: ConsumerScript) -> None:
    """A member changed its instance before a failover; then somebody brings the old one."""
    s.reconciled("A1")
    s.join("A1", instance="B")
    s.restart()
    s.beat("A1", instance="B")
    s.join("A2")
    s.describe()


@case("CG-FAILOVER-GROUP", "CG-BEAT-ALIVE", features=("restart",))
def failover_while_partitions_move(s: ConsumerScript) -> None:
    """A failover while a member gives partitions up: it goes on where it was."""
    s.join("A1", "B1")
    s.beat("A1")
    s.restart()
    s.beat("A1", "B1")
    s.describe()


# Targets that are made later.

BATCHED = Registry(ConsumerScript)
batched = BATCHED.case
_INTERVAL = {ASSIGNMENT_INTERVAL: 1000}


@batched("CG-JOIN-RETURN-CHANGED", config=_INTERVAL)
def restart_within_the_interval(s: ConsumerScript) -> None:
    """A process restarts with other topics within the interval: it may get the old target first."""
    s.join("A1")
    s.release("A1")
    s.join("A2", topics=("t", "u"))
    s.beat("A2")
    s.describe()


@batched("CG-JOIN-STATIC-NEW", "CG-BEAT-ALIVE", config=_INTERVAL)
def newcomers_within_the_interval(s: ConsumerScript) -> None:
    """Members join within the interval: the target may be made for all of them at once."""
    s.join("A1", "B1", "C1")
    s.beat("A1", "B1", "C1")
    s.describe()
    s.beat("A1", "B1", "C1")
    s.describe()


@batched("CG-LEAVE-FOR-GOOD", "CG-BEAT-ALIVE", config=_INTERVAL)
def leave_within_the_interval(s: ConsumerScript) -> None:
    """A member leaves within the interval: its partitions may have no owner meanwhile."""
    s.join("A1", "B1")
    s.beat("A1", "A1", "B1")
    s.describe()
    s.leave("A1")
    s.beat("B1")
    s.describe()
