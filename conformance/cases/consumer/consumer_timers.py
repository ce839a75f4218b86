"""Timers and failovers of the consumer protocol: sessions, rebalance timeouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fencepost.conformance.cases.consumer.consumer_script import (
    BOTH,
    SHORT_SESSION,
    ConsumerScript,
)
from fencepost.conformance.cases.script import AUTO
from fencepost.model.plans.steps import EpochOf, Ms, OwnedOf

CASES = ConsumerScript.registry(**SHORT_SESSION)
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


@case("CG-JOIN-DYNAMIC-NEW-IDLE", "CG-JOIN-STATIC-NEW-IDLE", "CG-SESSION-EXPIRED", isolated=True)
def silent_members_without_topics(s: ConsumerScript) -> None:
    """Members that subscribe to nothing are silent for their session: they are removed, too."""
    s.join("A1")
    s.join("m", topics=())
    s.join("B1", topics=())
    s.outlast_session(beating=("A1",))
    s.describe()


@case("CG-SESSION-EXPIRED", "CG-BEAT-EPOCH-NEWER")
def errors_restart_no_timer(s: ConsumerScript) -> None:
    """A heartbeat that is refused doesn't prolong the session."""
    s.reconciled("A1")
    s.pause("group session", minus=True, margins=2)
    s.beat("A1", epoch=EpochOf("A1", plus=7))
    s.pause(margins=4)
    s.beat("A1")


@case("CG-SESSION-EXPIRED", "CG-COMMIT-MEMBER")
def commits_restart_no_timer(s: ConsumerScript) -> None:
    """A commit, and a fetch of offsets, doesn't prolong the session of the member."""
    s.reconciled("A1")
    s.pause("group session", minus=True, margins=2)
    s.commit("A1")
    s.fetch("A1")
    s.pause(margins=4)
    s.beat("A1")


@case("CG-SESSION-EXPIRED", "CG-REMOVE-INSTANCE-FENCED")
def refused_removals_restart_no_timer(s: ConsumerScript) -> None:
    """An administrator names another member of the instance: it isn't removed, and not alive."""
    s.reconciled("A1")
    s.pause("group session", minus=True, margins=2)
    s.remove(("other", "A"))
    s.pause(margins=4)
    s.beat("A1")


@case("CG-SESSION-EXPIRED", "CG-BEAT-INSTANCE-FENCED", "CG-LEAVE-INSTANCE-FENCED")
def refusals_of_others_restart_no_timer(s: ConsumerScript) -> None:
    """Another process of the instance sends a heartbeat and leaves: that keeps no holder."""
    s.reconciled("A1")
    s.pause("group session", minus=True, margins=2)
    s.beat("A2", epoch=EpochOf("A1"), owns=())
    s.release("A2")
    s.leave("A2")
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
def heartbeats_without_the_instance_prolong_the_session(s: ConsumerScript) -> None:
    """A heartbeat of a static member may leave its instance out: it begins the session anew."""
    s.reconciled("A1")
    s.pause("group session", minus=True, margins=2)
    s.beat("A1", instance=None)
    s.pause("group session", minus=True, margins=2)
    s.beat("A1", instance=None)


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


@case("CG-SESSION-EXPIRED", named="CG-JOIN-DYNAMIC-NEW")
def silent_dynamic_member(s: ConsumerScript) -> None:
    """A dynamic member is silent for its session: it is removed."""
    s.join("m", "n")
    s.outlast_session(beating=("n",))
    s.beat("m")
    s.beat("n")
    s.describe()


_LONGER_MS = 600_000
"""A rebalance timeout longer than any session timeout of a target."""


def _session_after(
    s: ConsumerScript, act: Callable[[], None], who: str, instance: Any = AUTO
) -> None:
    """Let most of a session pass, do something that begins it anew, and as much pass again."""
    s.pause("group session", minus=True, margins=2)
    act()
    s.pause("group session", minus=True, margins=2)
    s.beat(who, instance=instance)
    s.describe()


def _session_of_a_return(s: ConsumerScript, who: str, **join: Any) -> None:
    """Let a member return when its session is nearly over; the new session ends, too."""
    s.join("A1")
    s.pause("group session", minus=True, margins=3)
    s.release("A1")
    s.join(who, **join)
    s.pause("group session", minus=True, margins=2)
    s.join("B1")
    s.describe()
    s.pause(margins=4)
    s.beat(who)


@case("CG-JOIN-RETURN-CHANGED", "CG-SESSION-EXPIRED")
def return_with_other_topics_begins_a_session(s: ConsumerScript) -> None:
    """A return with another subscription begins a session, which ends."""
    _session_of_a_return(s, "A2", topics=BOTH)


@case("CG-JOIN-RETURN-SELF", "CG-SESSION-EXPIRED")
def return_under_its_id_begins_a_session(s: ConsumerScript) -> None:
    """A return under its own id begins a session, which ends, and takes the new rack."""
    _session_of_a_return(s, "A1", rack_id="other")


@case("CG-JOIN-RETURN-SELF-CHANGED", "CG-SESSION-EXPIRED")
def return_under_its_id_with_other_topics_begins_a_session(s: ConsumerScript) -> None:
    """A return under its own id with another subscription begins a session, which ends."""
    _session_of_a_return(s, "A1", topics=BOTH)


@case("CG-JOIN-COPY")
def copy_begins_a_session(s: ConsumerScript) -> None:
    """A member that becomes a copy of a released one begins a session, and takes the new rack."""
    s.reconciled("A1", "B1")
    s.release("B1")
    _session_after(s, lambda: s.join("A1", instance="B", rack_id="other"), "A1", "B")


@case("CG-JOIN-COPY-CHANGED")
def copy_with_other_topics_begins_a_session(s: ConsumerScript) -> None:
    """A member that becomes a copy with another subscription begins a session."""
    s.reconciled("A1", "B1")
    s.release("B1")
    _session_after(s, lambda: s.join("A1", instance="B", topics=BOTH), "A1", "B")


@case("CG-JOIN-REJOIN")
def join_without_instance_begins_a_session(s: ConsumerScript) -> None:
    """A member that joins again by its id alone begins a session, and takes the new rack."""
    s.join("m")
    _session_after(s, lambda: s.join("m", rack_id="other"), "m")


@case("CG-JOIN-REJOIN-CHANGED")
def join_with_other_topics_begins_a_session(s: ConsumerScript) -> None:
    """A member that joins again with another subscription begins a session."""
    s.join("m")
    _session_after(s, lambda: s.join("m", topics=BOTH), "m")


@case("CG-JOIN-RESUME")
def resumption_begins_a_session(s: ConsumerScript) -> None:
    """A released member that resumes begins a session, and takes the new rack."""
    s.join("A1")
    s.release("A1")
    _session_after(s, lambda: s.join("A1", instance=None, rack_id="other"), "A1", None)


@case("CG-JOIN-RESUME-CHANGED")
def resumption_with_other_topics_begins_a_session(s: ConsumerScript) -> None:
    """A released member that resumes with another subscription begins a session."""
    s.join("A1")
    s.release("A1")
    _session_after(s, lambda: s.join("A1", instance=None, topics=BOTH), "A1", None)


@case("CG-JOIN-BECOME-STATIC")
def new_instance_begins_a_session(s: ConsumerScript) -> None:
    """A dynamic member that becomes static begins a session, and takes the new rack."""
    s.join("m")
    _session_after(s, lambda: s.join("m", instance="A", rack_id="other"), "m", "A")


@case("CG-JOIN-BECOME-STATIC-CHANGED")
def new_instance_with_other_topics_begins_a_session(s: ConsumerScript) -> None:
    """A dynamic member that becomes static with another subscription begins a session."""
    s.join("m")
    _session_after(s, lambda: s.join("m", instance="A", topics=BOTH), "m", "A")


@case("CG-JOIN-CHANGE-INSTANCE")
def other_instance_begins_a_session(s: ConsumerScript) -> None:
    """A static member that changes its instance begins a session, and takes the new rack."""
    s.join("A1")
    _session_after(s, lambda: s.join("A1", instance="B", rack_id="other"), "A1", "B")


@case("CG-JOIN-CHANGE-INSTANCE-CHANGED")
def other_instance_with_other_topics_begins_a_session(s: ConsumerScript) -> None:
    """A static member that changes its instance and subscription begins a session."""
    s.join("A1")
    _session_after(s, lambda: s.join("A1", instance="B", topics=BOTH), "A1", "B")


@case("CG-JOIN-TARGET-LOST")
def lost_target_begins_a_session(s: ConsumerScript) -> None:
    """A member that loses its target begins a session, and takes the new rack."""
    s.join("m", "n", rebalance=_LONGER_MS)
    s.beat("m")
    _session_after(s, lambda: s.join("m", instance="A", rack_id="other"), "m", "A")


@case("CG-JOIN-TARGET-LOST-CHANGED")
def lost_target_with_other_topics_begins_a_session(s: ConsumerScript) -> None:
    """A member that loses its target, with another subscription, begins a session."""
    s.join("m", "n", rebalance=_LONGER_MS)
    s.beat("m")
    _session_after(s, lambda: s.join("m", instance="A", topics=BOTH), "m", "A")


@case("CG-BEAT-ALIVE")
def heartbeat_with_another_rack(s: ConsumerScript) -> None:
    """A heartbeat with another rack begins a session, and the member has that rack then."""
    s.join("A1")
    _session_after(s, lambda: s.beat("A1", rack_id="other"), "A1")


@case("CG-BEAT-ALIVE-CHANGED")
def heartbeat_with_other_topics_begins_a_session(s: ConsumerScript) -> None:
    """A heartbeat with another subscription begins a session."""
    s.join("A1")
    _session_after(s, lambda: s.beat("A1", subscribed_topic_names=BOTH), "A1")


@case("CG-BEAT-REPEATED")
def repeated_heartbeat_begins_a_session(s: ConsumerScript) -> None:
    """A heartbeat that is sent again begins a session, and the member has the new rack then."""
    s.advanced()
    _session_after(s, lambda: s.beat("A1", epoch=EpochOf("A1", back=1), rack_id="other"), "A1")


@case("CG-BEAT-REPEATED-CHANGED")
def repeated_heartbeat_with_other_topics_begins_a_session(s: ConsumerScript) -> None:
    """A heartbeat that is sent again with another subscription begins a session."""
    s.advanced()
    again: dict[str, Any] = {"epoch": EpochOf("A1", back=1), "subscribed_topic_names": BOTH}
    _session_after(s, lambda: s.beat("A1", **again), "A1")


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


@case("CG-LEAVE-RELEASE")
def released_member_is_not_hurried(s: ConsumerScript) -> None:
    """A member is released while it has partitions to give up: its R removes it no more."""
    s.join("A1", rebalance=Ms("short rebalance"))
    s.join("B1")
    s.beat("A1")
    s.release("A1")
    s.pause("short rebalance")
    s.beat("B1")
    s.describe()


_HURRIED = Ms("short rebalance")


def _hurried(s: ConsumerScript, **join: Any) -> None:
    """Let A1 have partitions to give up: its rebalance timeout runs, with the epoch that it has."""
    s.join("A1", rebalance=_HURRIED, **join)
    s.join("B1")
    s.beat("A1")


@case("CG-REBALANCE-EXPIRED", "CG-BEAT-REPEATED-CHANGED")
def call_in_a_repeated_heartbeat_is_not_followed(s: ConsumerScript) -> None:
    """The answer to a heartbeat with the previous epoch takes partitions: R runs from then."""
    s.advanced()
    again: dict[str, Any] = {"subscribed_topic_names": ("u",), "rebalance_timeout_ms": _HURRIED}
    s.beat("A1", epoch=EpochOf("A1", back=1), **again)
    s.pause("short rebalance")
    s.keep("A1")
    s.describe()


@case("CG-REBALANCE-EXPIRED")
def further_heartbeats_prolong_nothing(s: ConsumerScript) -> None:
    """Heartbeats of a member that gives nothing up don't begin its rebalance timeout anew."""
    _hurried(s)
    s.pause("short rebalance", minus=True, margins=2)
    s.keep("A1", rebalance_timeout_ms=Ms("rebalance"))
    s.pause(margins=4)
    s.keep("A1")
    s.describe()


@case("CG-BEAT-ALIVE", named="CG-JOIN-REJOIN")
def join_without_instance_ends_the_time_to_give_up(s: ConsumerScript) -> None:
    """A member that has to give partitions up joins again by its id alone: it gave them up."""
    _hurried(s)
    s.join("A1", instance=None, rebalance=_HURRIED)
    s.pause("short rebalance")
    s.keep("A1")
    s.describe()


@case("CG-JOIN-TARGET-LOST")
def new_instance_ends_the_time_to_give_up(s: ConsumerScript) -> None:
    """A member that has to give partitions up takes another instance: it gave them up."""
    _hurried(s)
    s.join("A1", instance="C", rebalance=_HURRIED)
    s.pause("short rebalance")
    s.keep("A1", instance="C")
    s.describe()


@case("CG-LEAVE-RELEASE", "CG-JOIN-RETURN-SELF")
def return_within_the_time_to_give_up(s: ConsumerScript) -> None:
    """A member is released while it has partitions to give up, and returns: its R is over."""
    _hurried(s)
    s.release("A1")
    s.join("A1", rebalance=_HURRIED)
    s.pause("short rebalance")
    s.keep("A1")
    s.describe()


@case("CG-LEAVE-RELEASE", named="CG-JOIN-RESUME")
def resumption_within_the_time_to_give_up(s: ConsumerScript) -> None:
    """A member is released while it has partitions to give up, and resumes: its R is over."""
    _hurried(s)
    s.release("A1")
    s.join("A1", instance=None, rebalance=_HURRIED)
    s.pause("short rebalance")
    s.keep("A1")
    s.describe()


@case("CG-REBALANCE-EXPIRED", "CG-JOIN-RETURN")
def successor_has_a_time_to_give_up_of_its_own(s: ConsumerScript) -> None:
    """A process returns in the place of one that had to give up: its own R is what counts."""
    _hurried(s)
    s.release("A1")
    s.join("A2", rebalance=Ms("short session"))
    s.pause("short rebalance")
    s.beat("A2", subscribed_topic_names=("u",))
    s.describe()
    for _ in range(2):
        s.pause("short rebalance")
        s.keep("A2", "B1")
    s.pause("short rebalance")
    s.keep("A2")
    s.describe()


@case("CG-REBALANCE-EXPIRED", "CG-BEAT-ALIVE-CHANGED")
def more_to_give_up_begins_the_time_anew(s: ConsumerScript) -> None:
    """A member gives partitions up, and has to give up more in the same epoch: R begins anew."""
    _hurried(s)
    s.pause("short rebalance", minus=True, margins=2)
    s.beat("A1", subscribed_topic_names=("u",))
    s.pause(margins=4)
    s.keep("A1")
    s.describe()
    s.pause("short rebalance")
    s.keep("A1")
    s.describe()


# Failovers.

FAILOVERS = ConsumerScript.registry()


@FAILOVERS.case("CG-FAILOVER-GROUP", "CG-JOIN-UNRELEASED", features=("restart",))
def live_member_after_a_failover(s: ConsumerScript) -> None:
    """After a failover a live member goes on, and a second process of it is still refused."""
    s.reconciled("A1", "B1")
    s.restart()
    s.beat("A1", "B1")
    s.join("A2")
    s.describe()


@FAILOVERS.case("CG-FAILOVER-GROUP", "CG-JOIN-RETURN", features=("restart",))
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


@case(
    "CG-FAILOVER-GROUP",
    "CG-SESSION-EXPIRED",
    "CG-SESSION-EXPIRED-RELEASED",
    features=("restart",),
)
def sessions_end_after_a_failover(s: ConsumerScript) -> None:
    """The sessions that a failover begins end: that of a silent member and of a released one."""
    s.reconciled("A1", "B1", "C1")
    s.release("A1")
    s.restart()
    s.outlast_session(beating=("B1",))
    s.beat("C1", "B1")
    s.join("A2")
    s.describe()


@FAILOVERS.case("CG-REBALANCE-EXPIRED-RELEASED", features=("restart",))
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


@FAILOVERS.case("CG-FAILOVER-GROUP", "CG-JOIN-CHANGE-INSTANCE", features=("restart",))
def changed_instance_after_a_failover(s: ConsumerScript) -> None:
    """A member changed its instance before a failover; then somebody brings the old one."""
    s.reconciled("A1")
    s.join("A1", instance="B")
    s.restart()
    s.beat("A1", instance="B")
    s.join("A2")
    s.describe()


@FAILOVERS.case("CG-FAILOVER-GROUP", "CG-BEAT-REPEATED", features=("restart",))
def lost_answer_before_a_failover(s: ConsumerScript) -> None:
    """The answer with a new epoch was lost before a failover: the old epoch still passes."""
    s.advanced()
    s.restart()
    s.beat("A1", epoch=EpochOf("A1", back=1))
    s.beat("B1")
    s.describe()


@FAILOVERS.case("CG-FAILOVER-GROUP", "CG-BEAT-ALIVE", features=("restart",))
def partitions_that_are_not_given_up_before_a_failover(s: ConsumerScript) -> None:
    """A failover while a member gives partitions up: others still wait until it has done so."""
    s.join("A1", "B1")
    s.beat("A1")
    s.restart()
    s.beat("B1", "A1", "B1")
    s.describe()


@FAILOVERS.case("CG-FAILOVER-GROUP", "CG-FETCH-MEMBER", features=("restart",))
def offsets_after_a_failover(s: ConsumerScript) -> None:
    """Committed offsets survive a failover."""
    s.reconciled("A1")
    s.commit("A1")
    s.restart()
    s.beat("A1")
    s.fetch("A1")


@FAILOVERS.case("CG-FAILOVER-GROUP", "CG-BEAT-ALIVE", features=("restart",))
def failover_while_partitions_move(s: ConsumerScript) -> None:
    """A failover while a member gives partitions up: it goes on where it was."""
    s.join("A1", "B1")
    s.beat("A1")
    s.restart()
    s.beat("A1", "B1")
    s.describe()


@FAILOVERS.case("CG-FAILOVER-GROUP", "CG-REBALANCE-EXPIRED", features=("restart",))
def time_to_give_up_after_a_failover(s: ConsumerScript) -> None:
    """A failover begins the R of a member that has partitions to give up anew."""
    _hurried(s)
    s.restart()
    s.keep("A1")
    s.pause("short rebalance")
    s.keep("A1")
    s.describe()
