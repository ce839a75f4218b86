"""Which judge decides which obligation."""

from __future__ import annotations

from collections.abc import Callable

from fencepost.properties.requirements import (
    judge_closing,
    judge_fencing,
    judge_identity,
    judge_joining,
    judge_leading,
    judge_old_brokers,
    judge_removal,
    judge_restarting,
    judge_sessions,
    judge_streams,
)
from fencepost.properties.requirements.client_verdict import Verdict, weighed
from fencepost.properties.requirements.evidence import Evidence

Judge = Callable[[Evidence], Verdict]

JUDGES: dict[str, Judge] = {
    "CLIENT-IDENTITY-AS-SET": judge_identity.as_set,
    "CLIENT-IDENTITY-EVERY-REQUEST": judge_identity.every_request,
    "CLIENT-IDENTITY-VERSIONS": judge_identity.versions,
    "CLIENT-IDENTITY-NEWEST": judge_identity.newest,
    "CLIENT-IDENTITY-DYNAMIC": judge_identity.dynamic,
    "CLIENT-JOIN-EMPTY-FIRST": judge_joining.empty_first,
    "CLIENT-JOIN-ID-REQUIRED": judge_joining.id_required,
    "CLIENT-JOIN-LOST-ANSWER": judge_joining.lost_answer,
    "CLIENT-JOIN-CUT": judge_joining.cut,
    "CLIENT-JOIN-UNKNOWN-MEMBER": judge_joining.unknown_member,
    "CLIENT-JOIN-UNKNOWN-EMPTY": judge_joining.unknown_empty,
    "CLIENT-JOIN-ILLEGAL-GENERATION": judge_joining.illegal_generation,
    "CLIENT-JOIN-REBALANCE": judge_joining.rebalance,
    "CLIENT-JOIN-COORDINATOR": judge_joining.coordinator,
    "CLIENT-JOIN-LOADING": judge_joining.loading,
    "CLIENT-JOIN-BACKOFF": judge_joining.backoff,
    "CLIENT-JOIN-SILENT": judge_joining.silent,
    "CLIENT-CLOSE-STATIC-STAYS": judge_closing.static_stays,
    "CLIENT-CLOSE-DYNAMIC-LEAVES": judge_closing.dynamic_leaves,
    "CLIENT-CLOSE-UNSUBSCRIBED-STAYS": judge_closing.unsubscribed_stays,
    "CLIENT-CLOSE-IN-TIME": judge_closing.in_time,
    "CLIENT-CLOSE-FENCED": judge_closing.fenced,
    "CLIENT-CLOSE-REBALANCING": judge_closing.rebalancing,
    "CLIENT-CLOSE-BROKER-GONE": judge_closing.in_time,
    "CLIENT-FENCED-JOIN": judge_fencing.fenced_join,
    "CLIENT-FENCED-SYNC": judge_fencing.fenced_sync,
    "CLIENT-FENCED-HEARTBEAT": judge_fencing.fenced_heartbeat,
    "CLIENT-FENCED-COMMIT": judge_fencing.fenced_commit,
    "CLIENT-FENCED-NO-JOIN": judge_fencing.no_join,
    "CLIENT-FENCED-QUIET": judge_fencing.quiet,
    "CLIENT-FENCED-NO-RECORDS": judge_fencing.no_records,
    "CLIENT-FENCED-NO-COMMITS": judge_fencing.no_commits,
    "CLIENT-FENCED-LATE-COMMIT": judge_fencing.late_commit,
    "CLIENT-FENCED-POLLED-ON": judge_fencing.polled_on,
    "CLIENT-FENCED-TAKEOVERS": judge_fencing.takeovers,
    "CLIENT-REMOVED-COMES-BACK": judge_removal.comes_back,
    "CLIENT-REMOVED-EXPIRED": judge_removal.expired,
    "CLIENT-REMOVED-NO-COMMITS": judge_removal.no_commits,
    "CLIENT-REMOVED-TOLD": judge_removal.told,
    "CLIENT-RESTART-FOLLOWER": judge_restarting.follower,
    "CLIENT-RESTART-CRASHED": judge_restarting.crashed,
    "CLIENT-RESTART-LEADER": judge_restarting.leader,
    "CLIENT-RESTART-SKIPPED": judge_restarting.skipped,
    "CLIENT-RESTART-LEADER-OLD": judge_restarting.leader_old,
    "CLIENT-RESTART-ALL": judge_restarting.every_member,
    "CLIENT-RESTART-COOPERATIVE": judge_restarting.cooperative,
    "CLIENT-LEADER-MEMBERS": judge_leading.members,
    "CLIENT-LEADER-ONCE": judge_leading.once,
    "CLIENT-LEADER-WHOLE": judge_leading.whole,
    "CLIENT-LEADER-INSTANCES": judge_leading.instances,
    "CLIENT-LEADER-COOPERATIVE": judge_leading.cooperative,
    "CLIENT-SESSION-TIMEOUT": judge_sessions.timeout,
    "CLIENT-SESSION-REBALANCE-TIMEOUT": judge_sessions.rebalance_timeout,
    "CLIENT-SESSION-HEARTBEATS": judge_sessions.heartbeats,
    "CLIENT-SESSION-POLL-INTERVAL": judge_sessions.poll_interval,
    "CLIENT-SESSION-STATIC-SILENT": judge_sessions.static_silent,
    "CLIENT-SESSION-POLLS-ON": judge_sessions.polls_on,
    "CLIENT-OLD-BROKER-NOT-TWICE": judge_old_brokers.not_twice,
    "CLIENT-OLD-BROKER-TOLD": judge_old_brokers.told,
    "CLIENT-OLD-BROKER-RESTARTED": judge_old_brokers.restarted,
    "CLIENT-STREAMS-OWN-IDS": judge_streams.own_ids,
    "CLIENT-STREAMS-ROLLED": judge_streams.rolled,
}


def judge(obligation: str, evidence: Evidence) -> Verdict:
    """Judge an obligation by the evidence of one run."""
    return weighed(JUDGES[obligation](evidence), evidence)
