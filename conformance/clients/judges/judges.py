"""Which judge decides which obligation."""

from __future__ import annotations

from collections.abc import Callable

from fencepost.conformance.clients.evidence.evidence import Evidence
from fencepost.conformance.clients.judges import (
    closing,
    fencing,
    identity,
    joining,
    leading,
    old_brokers,
    removal,
    restarting,
    sessions,
    streams,
)
from fencepost.conformance.clients.judges.verdict import Verdict, weighed

Judge = Callable[[Evidence], Verdict]

JUDGES: dict[str, Judge] = {
    "CLIENT-IDENTITY-AS-SET": identity.as_set,
    "CLIENT-IDENTITY-EVERY-REQUEST": identity.every_request,
    "CLIENT-IDENTITY-VERSIONS": identity.versions,
    "CLIENT-IDENTITY-NEWEST": identity.newest,
    "CLIENT-IDENTITY-DYNAMIC": identity.dynamic,
    "CLIENT-JOIN-EMPTY-FIRST": joining.empty_first,
    "CLIENT-JOIN-ID-REQUIRED": joining.id_required,
    "CLIENT-JOIN-LOST-ANSWER": joining.lost_answer,
    "CLIENT-JOIN-CUT": joining.cut,
    "CLIENT-JOIN-UNKNOWN-MEMBER": joining.unknown_member,
    "CLIENT-JOIN-UNKNOWN-EMPTY": joining.unknown_empty,
    "CLIENT-JOIN-ILLEGAL-GENERATION": joining.illegal_generation,
    "CLIENT-JOIN-REBALANCE": joining.rebalance,
    "CLIENT-JOIN-COORDINATOR": joining.coordinator,
    "CLIENT-JOIN-LOADING": joining.loading,
    "CLIENT-JOIN-BACKOFF": joining.backoff,
    "CLIENT-JOIN-SILENT": joining.silent,
    "CLIENT-CLOSE-STATIC-STAYS": closing.static_stays,
    "CLIENT-CLOSE-DYNAMIC-LEAVES": closing.dynamic_leaves,
    "CLIENT-CLOSE-UNSUBSCRIBED-STAYS": closing.unsubscribed_stays,
    "CLIENT-CLOSE-IN-TIME": closing.in_time,
    "CLIENT-CLOSE-FENCED": closing.fenced,
    "CLIENT-CLOSE-REBALANCING": closing.rebalancing,
    "CLIENT-CLOSE-BROKER-GONE": closing.in_time,
    "CLIENT-FENCED-JOIN": fencing.fenced_join,
    "CLIENT-FENCED-SYNC": fencing.fenced_sync,
    "CLIENT-FENCED-HEARTBEAT": fencing.fenced_heartbeat,
    "CLIENT-FENCED-COMMIT": fencing.fenced_commit,
    "CLIENT-FENCED-NO-JOIN": fencing.no_join,
    "CLIENT-FENCED-QUIET": fencing.quiet,
    "CLIENT-FENCED-NO-RECORDS": fencing.no_records,
    "CLIENT-FENCED-NO-COMMITS": fencing.no_commits,
    "CLIENT-FENCED-LATE-COMMIT": fencing.late_commit,
    "CLIENT-FENCED-POLLED-ON": fencing.polled_on,
    "CLIENT-FENCED-TAKEOVERS": fencing.takeovers,
    "CLIENT-REMOVED-COMES-BACK": removal.comes_back,
    "CLIENT-REMOVED-EXPIRED": removal.expired,
    "CLIENT-REMOVED-NO-COMMITS": removal.no_commits,
    "CLIENT-REMOVED-TOLD": removal.told,
    "CLIENT-RESTART-FOLLOWER": restarting.follower,
    "CLIENT-RESTART-CRASHED": restarting.crashed,
    "CLIENT-RESTART-LEADER": restarting.leader,
    "CLIENT-RESTART-SKIPPED": restarting.skipped,
    "CLIENT-RESTART-LEADER-OLD": restarting.leader_old,
    "CLIENT-RESTART-ALL": restarting.every_member,
    "CLIENT-RESTART-COOPERATIVE": restarting.cooperative,
    "CLIENT-LEADER-MEMBERS": leading.members,
    "CLIENT-LEADER-ONCE": leading.once,
    "CLIENT-LEADER-WHOLE": leading.whole,
    "CLIENT-LEADER-INSTANCES": leading.instances,
    "CLIENT-LEADER-COOPERATIVE": leading.cooperative,
    "CLIENT-SESSION-TIMEOUT": sessions.timeout,
    "CLIENT-SESSION-REBALANCE-TIMEOUT": sessions.rebalance_timeout,
    "CLIENT-SESSION-HEARTBEATS": sessions.heartbeats,
    "CLIENT-SESSION-POLL-INTERVAL": sessions.poll_interval,
    "CLIENT-SESSION-STATIC-SILENT": sessions.static_silent,
    "CLIENT-SESSION-POLLS-ON": sessions.polls_on,
    "CLIENT-OLD-BROKER-NOT-TWICE": old_brokers.not_twice,
    "CLIENT-OLD-BROKER-TOLD": old_brokers.told,
    "CLIENT-OLD-BROKER-RESTARTED": old_brokers.restarted,
    "CLIENT-STREAMS-OWN-IDS": streams.own_ids,
    "CLIENT-STREAMS-ROLLED": streams.rolled,
}


def judge(obligation: str, evidence: Evidence) -> Verdict:
    """Judge an obligation by the evidence of one run."""
    return weighed(JUDGES[obligation](evidence), evidence)
