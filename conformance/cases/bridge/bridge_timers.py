"""Timers and failovers of classic members in consumer groups."""

from __future__ import annotations

from typing import Any

from fencepost.conformance.cases.bridge.bridge_script import (
    HOLDING_ALL,
    BridgeScript,
    owning,
    policy,
)
from fencepost.conformance.cases.consumer.consumer_script import ALL, BOTH, SHORT_SESSION, owned
from fencepost.model.consumer.settings import ASSIGNMENT_INTERVAL
from fencepost.model.plans.steps import GenerationOf, IdOf, Ms

CASES = BridgeScript.registry()
case = CASES.case
SHORT = BridgeScript.registry(**SHORT_SESSION)
_SHORT_S, _SHORT_R = Ms("short session"), Ms("short rebalance")
_AT_ONCE = {ASSIGNMENT_INTERVAL: 0}
"""A target is made within a short rebalance, so a case can't wait for it."""


@case("CG-SESSION-EXPIRED", "MG-HEARTBEAT-INSTANCE-UNMAPPED")
def silent_classic_member(s: BridgeScript) -> None:
    """A classic member is silent for the session of its join: it is removed, though static."""
    s.mixed(session=_SHORT_S)
    s.outlast("short session", beating=("B1",))
    s.classic.beat("A2")
    s.beat("B1")
    s.describe()


@case("MG-HEARTBEAT", "MG-SYNC")
def heartbeats_prolong_the_session(s: BridgeScript) -> None:
    """Each heartbeat of a classic member begins its session anew."""
    s.mixed(session=_SHORT_S)
    s.pause("short session", minus=True, margins=2)
    s.classic.beat("A2")
    s.pause("short session", minus=True, margins=2)
    s.classic.beat("A2")
    s.describe()


@case("CG-SESSION-EXPIRED", "MG-HEARTBEAT-ILLEGAL-GENERATION", "MG-HEARTBEAT-INSTANCE-FENCED")
def refused_heartbeats_restart_no_timer(s: BridgeScript) -> None:
    """Neither its own refused heartbeat nor that of another process keeps a classic member."""
    s.mixed(session=_SHORT_S)
    s.pause("short session", minus=True, margins=2)
    s.classic.beat("A2", generation=GenerationOf("A2", plus=7))
    s.classic.beat("A3", member_id="other", generation=GenerationOf("A2"))
    s.keep("B1")
    s.pause(margins=4)
    s.classic.beat("A2")
    s.describe()


@case("CG-SESSION-EXPIRED", "MG-COMMIT")
def commits_of_a_classic_member_restart_no_timer(s: BridgeScript) -> None:
    """A commit of a classic member doesn't prolong its session in a consumer group."""
    s.mixed(session=_SHORT_S)
    s.pause("short session", minus=True, margins=2)
    s.classic.commit("A2", version=8)
    s.keep("B1")
    s.pause(margins=4)
    s.classic.beat("A2")
    s.describe()


@case("MG-JOIN-AGAIN", "MG-SYNC")
def joins_and_syncs_prolong_the_session(s: BridgeScript) -> None:
    """Each join and each sync of a classic member begins its session anew."""
    s.mixed(session=_SHORT_S)
    s.pause("short session", minus=True, margins=2)
    s.classic.join("A2", session=_SHORT_S, wait=True)
    for _ in range(2):
        s.pause("short session", minus=True, margins=2)
        s.classic.sync("A2", wait=True)
    s.classic.beat("A2")
    s.describe()


@case("MG-HEARTBEAT-REJOIN", "MG-JOIN-AGAIN")
def calls_to_rejoin_prolong_the_session(s: BridgeScript) -> None:
    """A heartbeat that calls a classic member to join again begins its session anew, too."""
    s.mixed(session=_SHORT_S)
    s.join("C1")
    s.pause("short session", minus=True, margins=2)
    s.classic.beat("A2")
    s.keep("B1", "C1")
    s.pause("short session", minus=True, margins=2)
    s.classic.join("A2", session=_SHORT_S, wait=True)
    s.describe()


@case("MG-JOIN-EXPIRED", "MG-HEARTBEAT-REJOIN")
def call_to_rejoin_is_not_followed(s: BridgeScript) -> None:
    """A classic member hears REBALANCE_IN_PROGRESS, and doesn't join again within its R."""
    s.mixed(rebalance=_SHORT_R)
    s.join("C1")
    s.classic.beat("A2")
    s.pause("short rebalance")
    s.classic.beat("A2")
    s.describe()


@case("MG-JOIN-EXPIRED", "MG-SYNC-REJOIN")
def sync_that_calls_to_rejoin_is_not_followed(s: BridgeScript) -> None:
    """A sync is answered REBALANCE_IN_PROGRESS, and the member doesn't join again within its R."""
    s.mixed(rebalance=_SHORT_R)
    s.join("C1")
    s.classic.sync("A2", wait=True)
    s.pause("short rebalance")
    s.classic.beat("A2")
    s.describe()


@case("MG-JOIN-EXPIRED", "MG-HEARTBEAT-REJOIN")
def further_calls_to_rejoin_prolong_nothing(s: BridgeScript) -> None:
    """Further heartbeats of a member that is to join again don't begin its R anew."""
    s.mixed(rebalance=_SHORT_R)
    s.join("C1")
    s.classic.beat("A2")
    s.pause("short rebalance", minus=True, margins=2)
    s.classic.beat("A2")
    s.pause(margins=4)
    s.classic.beat("A2")
    s.describe()


@case("MG-JOIN-AGAIN", "MG-HEARTBEAT-REJOIN")
def call_to_rejoin_is_followed(s: BridgeScript) -> None:
    """A classic member joins again and syncs within its R, and stays."""
    s.mixed(rebalance=_SHORT_R)
    s.join("C1")
    s.classic.beat("A2")
    s.classic.joined("A2", rebalance=_SHORT_R)
    s.pause("short rebalance")
    s.classic.beat("A2")
    s.describe()


@case("MG-SYNC-EXPIRED")
def sync_that_never_comes(s: BridgeScript) -> None:
    """A classic member joins and doesn't sync within its R: it is removed, though static."""
    s.reconciled("A1", "B1")
    s.classic.join("A2", rebalance=_SHORT_R, wait=True)
    s.pause("short rebalance")
    s.classic.beat("A2")
    s.describe()


@case("MG-SYNC-EXPIRED", "MG-HEARTBEAT")
def heartbeats_are_no_sync(s: BridgeScript) -> None:
    """Heartbeats don't prolong the time for the sync."""
    s.reconciled("A1", "B1")
    s.classic.join("A2", rebalance=_SHORT_R, wait=True)
    s.pause("short rebalance", minus=True, margins=2)
    s.classic.beat("A2")
    s.pause(margins=4)
    s.classic.beat("A2")


@case("MG-SYNC")
def sync_in_time(s: BridgeScript) -> None:
    """A classic member syncs within its R, and stays."""
    s.mixed(rebalance=_SHORT_R)
    s.pause("short rebalance")
    s.classic.beat("A2")
    s.describe()


@case("MG-SYNC-EXPIRED", "MG-SYNC-REJOIN", config=_AT_ONCE)
def sync_that_is_refused(s: BridgeScript) -> None:
    """A sync that is refused doesn't end the time for it."""
    s.reconciled("A1", "B1")
    s.classic.join("A2", rebalance=_SHORT_R, wait=True)
    s.join("C1")
    s.pause("short rebalance", minus=True, margins=1)
    s.classic.sync("A2", wait=True)
    s.pause(margins=2)
    s.classic.beat("A2")
    s.describe()


@case("MG-SYNC-EXPIRED", "CG-DESCRIBE-GROUP")
def last_member_never_syncs(s: BridgeScript) -> None:
    """The only member left is a classic one that doesn't sync: the group is empty then."""
    s.reconciled("A1", "B1")
    s.classic.join("A2", rebalance=_SHORT_R, wait=True)
    s.join("C1")
    s.leave("B1")
    s.pause("short rebalance")
    s.leave("C1")
    s.describe()


@case("MG-HEARTBEAT")
def heartbeat_after_an_upgrade_in_time(s: BridgeScript) -> None:
    """After an upgrade a classic member goes on with its session."""
    s.upgraded(session=_SHORT_S)
    s.pause("short session", minus=True, margins=2)
    s.classic.beat("B1")
    s.pause("short session", minus=True, margins=2)
    s.classic.beat("B1")
    s.describe()


@case("CG-SESSION-EXPIRED", "MG-UPGRADE")
def silence_after_an_upgrade(s: BridgeScript) -> None:
    """A classic member is silent after an upgrade: it is removed when its session ends."""
    s.upgraded(session=_SHORT_S)
    s.pause("short session")
    s.classic.beat("B1")
    s.describe()


@SHORT.case("CG-SESSION-EXPIRED", "MG-DOWNGRADE-LEFT")
def last_consumer_member_expires(s: BridgeScript) -> None:
    """The last member of the consumer protocol is silent: the group is classic then."""
    s.mixed()
    s.pause("group session")
    s.classic.beat("A2")
    s.describe()


@case("MG-JOIN-STATIC", "MG-JOIN-DYNAMIC", "MG-JOIN-DYNAMIC-LEGACY", "MG-SYNC-EXPIRED")
def newcomers_that_never_sync(s: BridgeScript) -> None:
    """New classic members, of each kind, don't sync within their R: they are removed."""
    s.join("A1")
    s.classic.join("B1", "m", "m", rebalance=_SHORT_R, wait=True)
    s.classic.join("n", version=3, rebalance=_SHORT_R, wait=True)
    s.describe()
    s.pause("short rebalance")
    s.describe()


@case("MG-JOIN-STATIC", "MG-JOIN-DYNAMIC", "MG-JOIN-DYNAMIC-LEGACY", "CG-SESSION-EXPIRED")
def newcomers_that_are_silent(s: BridgeScript) -> None:
    """New classic members, of each kind, are silent: they are removed when their sessions end."""
    s.join("A1")
    s.classic.join("B1", "m", "m", session=_SHORT_S, wait=True)
    s.classic.join("n", version=3, session=_SHORT_S, wait=True)
    s.pause("short session")
    s.describe()


@case("MG-JOIN-REPLACE", "CG-SESSION-EXPIRED")
def successor_that_is_silent(s: BridgeScript) -> None:
    """A classic process replaces a member and is silent: it is removed when its session ends."""
    s.reconciled("A1", "B1")
    s.classic.join("A2", session=_SHORT_S, wait=True)
    s.pause("short session")
    s.describe()


@case("MG-JOIN-AGAIN", "MG-SYNC-EXPIRED")
def member_that_joins_again_and_never_syncs(s: BridgeScript) -> None:
    """A classic member joins again, and doesn't sync within its R."""
    s.mixed(rebalance=_SHORT_R)
    s.classic.join("A2", rebalance=_SHORT_R, wait=True)
    s.pause("short rebalance")
    s.describe()


@case("MG-SYNC-EXPIRED", "MG-DOWNGRADE-POLICY", config=policy("upgrade"))
def lone_member_that_never_syncs(s: BridgeScript) -> None:
    """The only member is a classic one, and doesn't sync within its R: the group is empty."""
    s.join("A1")
    s.classic.join("A2", rebalance=_SHORT_R, wait=True)
    s.pause("short rebalance")
    s.describe()


@case("MG-JOIN-EXPIRED", "MG-DOWNGRADE-POLICY", config=policy("upgrade"))
def lone_member_that_never_joins_again(s: BridgeScript) -> None:
    """The only member is a classic one, and doesn't join again within its R: the group is empty."""
    s.mixed(rebalance=_SHORT_R)
    s.join("C1")
    s.classic.beat("A2")
    s.leave("B1")
    s.leave("C1")
    s.pause("short rebalance")
    s.describe()


@SHORT.case("CG-JOIN-TAKE-CLASSIC", "CG-SESSION-EXPIRED")
def successor_of_a_classic_member_is_silent(s: BridgeScript) -> None:
    """A process of the consumer protocol replaces a classic one, and is silent for its session."""
    s.mixed()
    s.join("A3")
    s.outlast_session(beating=("B1",))
    s.describe()


@SHORT.case("CG-JOIN-TAKE-CLASSIC-CHANGED", "CG-SESSION-EXPIRED")
def successor_with_other_topics_is_silent(s: BridgeScript) -> None:
    """A process with other topics replaces a classic one, and is silent for its session."""
    s.mixed()
    s.join("A3", topics=BOTH)
    s.outlast_session(beating=("B1",))
    s.describe()


@SHORT.case("CG-JOIN-COPY-CLASSIC")
def copy_of_a_classic_member_begins_a_session(s: BridgeScript) -> None:
    """A member that becomes a copy of a classic one begins a session."""
    s.mixed()
    s.pause("group session", minus=True, margins=2)
    s.join("B1", instance="A")
    s.pause("group session", minus=True, margins=2)
    s.describe()


@SHORT.case("CG-JOIN-COPY-CLASSIC-CHANGED")
def copy_with_other_topics_begins_a_session(s: BridgeScript) -> None:
    """A member that becomes a copy of a classic one, with other topics, begins a session."""
    s.mixed()
    s.pause("group session", minus=True, margins=2)
    s.join("B1", instance="A", topics=BOTH)
    s.pause("group session", minus=True, margins=2)
    s.describe()


# Members that change their protocol while they have something to do in time.


def _to_give_up(s: BridgeScript) -> None:
    """Let A1, a classic member, have partitions to give up."""
    s.classic.stable("A1", rebalance=_SHORT_R)
    s.join("B1")
    s.classic.beat("A1")
    s.classic.joined("A1", protocols=HOLDING_ALL, rebalance=_SHORT_R)


_EVERYTHING = owned(*ALL)


def _beat_of_consumer(s: BridgeScript, owns: Any = _EVERYTHING) -> None:
    """Send a heartbeat of the consumer protocol for A1, whose answers before are classic."""
    s.beat("A1", member_id=IdOf("A1"), epoch=GenerationOf("A1"), owns=owns)


@case("CG-BEAT-ALIVE", "CG-REBALANCE-EXPIRED")
def heartbeat_of_the_other_protocol_that_begins_a_revocation(s: BridgeScript) -> None:
    """A classic member's heartbeat of the consumer protocol begins a revocation: its R runs."""
    s.classic.stable("A1", rebalance=_SHORT_R)
    s.join("B1")
    _beat_of_consumer(s)
    s.pause("short rebalance")
    _beat_of_consumer(s)
    s.describe()


@case("CG-BEAT-ALIVE")
def heartbeat_of_the_other_protocol_during_a_revocation(s: BridgeScript) -> None:
    """A classic member that has to give up becomes one of the consumer protocol: no R runs."""
    _to_give_up(s)
    _beat_of_consumer(s)
    s.pause("short rebalance")
    _beat_of_consumer(s)
    s.describe()
    _beat_of_consumer(s, owned(0, 1))
    s.describe()


def _called(s: BridgeScript) -> None:
    """Let A2, a classic member, have R to join again."""
    s.mixed(rebalance=_SHORT_R)
    s.join("C1")
    s.classic.beat("A2")


@case("MG-JOIN-EXPIRED", "CG-BEAT-ALIVE")
def heartbeat_of_the_other_protocol_is_no_join(s: BridgeScript) -> None:
    """A member that is to join again becomes one of the consumer protocol: its time runs on."""
    _called(s)
    s.beat("A2", member_id=IdOf("A2"), epoch=GenerationOf("A2"), owns=())
    s.pause("short rebalance")
    s.beat("A2", member_id=IdOf("A2"), owns=())
    s.describe()


@case("MG-SYNC-EXPIRED", "CG-BEAT-ALIVE")
def heartbeat_of_the_other_protocol_is_no_sync(s: BridgeScript) -> None:
    """A member that is to sync becomes one of the consumer protocol: its time runs on."""
    s.reconciled("A1", "B1")
    s.classic.join("A2", rebalance=_SHORT_R, wait=True)
    s.beat("A2", member_id=IdOf("A2"), epoch=GenerationOf("A2"), owns=())
    s.pause("short rebalance")
    s.describe()


@case("CG-JOIN-TAKE-CLASSIC", "MG-HEARTBEAT-REJOIN")
def join_of_the_other_protocol_ends_the_time_to_join(s: BridgeScript) -> None:
    """A member that is to join again does so by the consumer protocol, under its id: it stays."""
    _called(s)
    s.join("A2", member_id=IdOf("A2"))
    s.pause("short rebalance")
    s.describe()


@case("MG-JOIN-EXPIRED", named="CG-JOIN-REJOIN")
def join_by_id_alone_of_the_other_protocol(s: BridgeScript) -> None:
    """A member that is to join again does so by the consumer protocol and its id alone."""
    _called(s)
    s.join("A2", member_id=IdOf("A2"), instance=None)
    s.pause("short rebalance")
    s.describe()


@case("MG-JOIN-EXPIRED", "CG-LEAVE-RELEASE")
def release_is_no_join(s: BridgeScript) -> None:
    """A classic member that is to join again is released: its time runs on."""
    _called(s)
    s.release("A2", member_id=IdOf("A2"))
    s.pause("short rebalance")
    s.describe()


@case("MG-JOIN-EXPIRED", "CG-JOIN-COPY")
def copy_of_another_is_no_join(s: BridgeScript) -> None:
    """A classic member that is to join again becomes a copy of a released one: its time runs on."""
    _called(s)
    s.release("B1")
    s.join("A2", member_id=IdOf("A2"), instance="B")
    s.pause("short rebalance")
    s.describe()


@case("MG-SYNC-EXPIRED", named="CG-JOIN-BECOME-STATIC")
def new_instance_is_no_sync(s: BridgeScript) -> None:
    """A dynamic classic member that is to sync becomes static and of the consumer protocol."""
    s.reconciled("A1")
    s.classic.join("m", "m", rebalance=_SHORT_R, wait=True)
    s.join("m", member_id=IdOf("m"), instance="B")
    s.pause("short rebalance")
    s.describe()


def _upgraded_again(s: BridgeScript) -> None:
    """Let A2 join and sync in the group, which is classic now; then another upgrades the group."""
    s.classic.joined("A2", rebalance=_SHORT_R)
    s.join("m")
    s.describe()
    s.pause("short rebalance")
    s.classic.beat("A2")
    s.describe()


@case("MG-JOIN-EXPIRED", "MG-DOWNGRADE-LEFT", "MG-UPGRADE", config=_AT_ONCE)
def time_to_join_outlasts_a_downgrade(s: BridgeScript) -> None:
    """A member is to join again, and does so after a downgrade: after an upgrade its time ends."""
    _called(s)
    s.leave("B1", "C1")
    _upgraded_again(s)


@case("MG-SYNC-EXPIRED", "MG-DOWNGRADE-LEFT", "MG-UPGRADE", config=_AT_ONCE)
def time_to_sync_outlasts_a_downgrade(s: BridgeScript) -> None:
    """A member is to sync, and does so after a downgrade: after an upgrade its time ends."""
    s.reconciled("A1", "B1")
    s.classic.join("A2", rebalance=_SHORT_R, wait=True)
    s.leave("B1")
    _upgraded_again(s)


@case("MG-JOIN-AGAIN", "CG-REBALANCE-EXPIRED")
def member_that_gives_up_becomes_classic(s: BridgeScript) -> None:
    """A member that has to give up joins by the classic protocol and keeps all: its R runs on."""
    s.join("A1", rebalance=_SHORT_R)
    s.join("B1")
    s.beat("A1")
    s.classic.join("A2", member_id="A1", protocols=HOLDING_ALL, wait=True)
    s.classic.sync("A2", wait=True)
    s.pause("short rebalance")
    s.classic.beat("A2")
    s.describe()


@case("MG-JOIN-AGAIN")
def member_that_gave_up_becomes_classic(s: BridgeScript) -> None:
    """A member that has to give up joins by the classic protocol and owns nothing: R is over."""
    s.join("A1", rebalance=_SHORT_R)
    s.join("B1")
    s.beat("A1")
    s.classic.join("A2", member_id="A1", wait=True)
    s.classic.sync("A2", wait=True)
    s.pause("short rebalance")
    s.classic.beat("A2")
    s.describe()


@case("MG-JOIN-AGAIN", config=_AT_ONCE)
def member_that_has_more_to_give_up_becomes_classic(s: BridgeScript) -> None:
    """A member gives up with a classic join, and has to give up more in its epoch: R runs on."""
    s.join("A1", rebalance=_SHORT_R)
    s.join("B1")
    s.beat("A1")
    s.join("C1", "D1")
    s.classic.join("A2", member_id="A1", protocols=owning(0, 1), wait=True)
    s.describe()
    s.pause("short rebalance")
    s.classic.beat("A2")
    s.describe()


@case("MG-JOIN-REPLACE")
def classic_process_replaces_a_member_that_gives_up(s: BridgeScript) -> None:
    """A classic process replaces a member that has to give up, and keeps all: no R runs."""
    s.join("A1", rebalance=_SHORT_R)
    s.join("B1")
    s.beat("A1")
    s.classic.joined("A2", protocols=HOLDING_ALL, rebalance=_SHORT_R)
    s.describe()
    s.pause("short rebalance")
    s.classic.beat("A2")
    s.describe()


# Failovers.


@SHORT.case("CG-FAILOVER-GROUP", "CG-SESSION-EXPIRED", features=("restart",))
def session_of_a_classic_member_after_a_failover(s: BridgeScript) -> None:
    """After a failover a classic member has the session of the group, which is shorter."""
    s.mixed()
    s.restart()
    s.classic.beat("A2")
    s.beat("B1")
    s.restart()
    s.outlast_session(beating=("B1",))
    s.classic.beat("A2")
    s.describe()


@case("CG-FAILOVER-GROUP", "MG-HEARTBEAT", features=("restart",))
def mixed_group_after_a_failover(s: BridgeScript) -> None:
    """After a failover members of both protocols go on."""
    s.mixed()
    s.restart()
    s.classic.beat("A2")
    s.beat("B1")
    s.classic.joined("A3")
    s.describe()


@case("MG-DOWNGRADE-REPLACED", "HEARTBEAT-STABLE", features=("restart",))
def downgraded_group_after_a_failover(s: BridgeScript) -> None:
    """A group that was downgraded is a classic one after a failover."""
    s.join("A1")
    s.classic.joined("A2")
    s.restart()
    s.classic.beat("A2")
    s.classic.sync("A2", wait=True)
    s.describe()


@case("MG-UPGRADE", "MG-HEARTBEAT", features=("restart",))
def upgraded_group_after_a_failover(s: BridgeScript) -> None:
    """A group that was upgraded is a consumer group after a failover."""
    s.upgraded()
    s.restart()
    s.classic.beat("B1")
    s.beat("A2")
    s.describe()


@case("CG-FAILOVER-GROUP", "CG-REBALANCE-EXPIRED", features=("restart",))
def classic_member_that_gives_up_before_a_failover(s: BridgeScript) -> None:
    """A classic member has partitions to give up; after a failover its R runs."""
    _to_give_up(s)
    s.restart()
    s.beat("B1")
    s.pause("short rebalance")
    s.classic.beat("A1")
    s.describe()


@case("CG-FAILOVER-GROUP", "MG-JOIN-AGAIN", features=("restart",))
def classic_member_gives_up_after_a_failover(s: BridgeScript) -> None:
    """A classic member gives partitions up after a failover: its R is over."""
    _to_give_up(s)
    s.restart()
    s.classic.joined("A1", rebalance=_SHORT_R)
    s.pause("short rebalance")
    s.classic.beat("A1")
    s.describe()
