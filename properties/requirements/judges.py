"""Which judge decides which obligation."""

from __future__ import annotations

from collections.abc import Callable

from fencepost.properties.requirements import (
    judge_joining,
    judge_leading,
    judge_leaving,
    judge_running,
)
from fencepost.properties.requirements.client_verdict import Verdict, weighed
from fencepost.properties.requirements.evidence import Evidence

Judge = Callable[[Evidence], Verdict]

JUDGES: dict[str, Judge] = {
    "CLIENT-IDENTITY-AS-SET": judge_joining.as_set,
    "CLIENT-IDENTITY-EVERY-REQUEST": judge_joining.every_request,
    "CLIENT-IDENTITY-VERSIONS": judge_joining.versions,
    "CLIENT-IDENTITY-NEWEST": judge_joining.newest,
    "CLIENT-IDENTITY-DYNAMIC": judge_joining.dynamic,
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
    "CLIENT-CLOSE-STATIC-STAYS": judge_leaving.static_stays,
    "CLIENT-CLOSE-DYNAMIC-LEAVES": judge_leaving.dynamic_leaves,
    "CLIENT-CLOSE-UNSUBSCRIBED-STAYS": judge_leaving.unsubscribed_stays,
    "CLIENT-CLOSE-IN-TIME": judge_leaving.in_time,
    "CLIENT-CLOSE-FENCED": judge_leaving.no_leave_after_fencing,
    "CLIENT-CLOSE-REBALANCING": judge_leaving.rebalancing,
    "CLIENT-CLOSE-BROKER-GONE": judge_leaving.in_time,
    "CLIENT-FENCED-JOIN": judge_leaving.fenced_join,
    "CLIENT-FENCED-SYNC": judge_leaving.fenced_sync,
    "CLIENT-FENCED-HEARTBEAT": judge_leaving.fenced_heartbeat,
    "CLIENT-FENCED-COMMIT": judge_leaving.fenced_commit,
    "CLIENT-FENCED-NO-JOIN": judge_leaving.no_join,
    "CLIENT-FENCED-QUIET": judge_leaving.quiet,
    "CLIENT-FENCED-NO-RECORDS": judge_leaving.no_records,
    "CLIENT-FENCED-NO-COMMITS": judge_leaving.no_commits_after_fencing,
    "CLIENT-FENCED-LATE-COMMIT": judge_leaving.late_commit,
    "CLIENT-FENCED-POLLED-ON": judge_leaving.polled_on,
    "CLIENT-FENCED-TAKEOVERS": judge_leaving.takeovers,
    "CLIENT-REMOVED-COMES-BACK": judge_leaving.comes_back,
    "CLIENT-REMOVED-EXPIRED": judge_leaving.expired,
    "CLIENT-REMOVED-NO-COMMITS": judge_leaving.no_commits_after_removal,
    "CLIENT-REMOVED-TOLD": judge_leaving.told,
    "CLIENT-RESTART-FOLLOWER": judge_running.follower,
    "CLIENT-RESTART-CRASHED": judge_running.crashed,
    "CLIENT-RESTART-LEADER": judge_running.leader,
    "CLIENT-RESTART-SKIPPED": judge_running.skipped,
    "CLIENT-RESTART-LEADER-OLD": judge_running.leader_old,
    "CLIENT-RESTART-ALL": judge_running.every_member,
    "CLIENT-RESTART-COOPERATIVE": judge_running.cooperative,
    "CLIENT-LEADER-MEMBERS": judge_leading.members,
    "CLIENT-LEADER-ONCE": judge_leading.once,
    "CLIENT-LEADER-WHOLE": judge_leading.whole,
    "CLIENT-LEADER-INSTANCES": judge_leading.instances,
    "CLIENT-LEADER-COOPERATIVE": judge_leading.cooperative,
    "CLIENT-SESSION-TIMEOUT": judge_running.timeout,
    "CLIENT-SESSION-REBALANCE-TIMEOUT": judge_running.rebalance_timeout,
    "CLIENT-SESSION-HEARTBEATS": judge_running.heartbeats,
    "CLIENT-SESSION-POLL-INTERVAL": judge_running.poll_interval,
    "CLIENT-SESSION-STATIC-SILENT": judge_running.static_silent,
    "CLIENT-SESSION-POLLS-ON": judge_running.polls_on,
    "CLIENT-OLD-BROKER-NOT-TWICE": judge_joining.not_twice,
    "CLIENT-OLD-BROKER-TOLD": judge_joining.told,
    "CLIENT-OLD-BROKER-RESTARTED": judge_joining.restarted,
    "CLIENT-STREAMS-OWN-IDS": judge_running.own_ids,
    "CLIENT-STREAMS-ROLLED": judge_running.rolled,
}


def judge(obligation: str, evidence: Evidence) -> Verdict:
    """Judge an obligation by the evidence of one run."""
    return weighed(JUDGES[obligation](evidence), evidence)
