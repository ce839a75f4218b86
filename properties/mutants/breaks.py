"""Which properties each mutant violates, as measured.

A mutant's name maps to the ids of the properties that the shortest runs break; the engines must
find the same again.  A mutant that isn't listed breaks no property: only comparison tells it from
the right model.
"""

from __future__ import annotations

from collections.abc import Mapping

BREAKS: Mapping[str, tuple[str, ...]] = {
    "kafka-8500": ("one-live-member-per-instance",),
    "kafka-8715": (
        "fresh-id-for-one",
        "retired-id-stays-invalid",
    ),
    "kafka-8487": ("a-stranger-is-told-so",),
    "kafka-9752": ("everybody-is-watched",),
    "kafka-9801": ("leader-assigns-to-the-members",),
    "kafka-10284": ("stable-is-stored",),
    "kafka-12890": ("wait-for-syncs-has-an-end",),
    "pr-9958": ("zombie-is-told",),
    "kafka-13435": ("the-leader-told-is-a-member",),
    "kfake-everybody-leads": ("leader-is-member",),
    "kfake-leave-evicts-holder": (
        "only-the-named-go",
        "static-goes-only-by-session-leave-replacement",
    ),
    "librdkafka-mock-never-fences": ("zombie-is-told",),
    "tansu-same-id": ("fresh-id-for-one",),
    "crabka-static-never-expires": (
        "everybody-is-watched",
        "session-end-takes-the-silent",
        "silence-is-noticed",
    ),
    "redpanda-keeps-timeouts": ("a-rejoin-brings-its-timeouts",),
    "seaweedfs-evicted-entry": (
        "mapped-instance-has-holder",
        "rebalance-has-a-cause",
    ),
    "leave-keeps-mapping": (
        "mapped-instance-has-holder",
        "rebalance-has-a-cause",
    ),
    "replace-keeps-old-mapping": (
        "mapped-instance-has-holder",
        "static-goes-only-by-session-leave-replacement",
    ),
    "static-asked-for-id": ("zombie-changes-nothing",),
    "zombie-join-takes-over": (
        "only-the-named-go",
        "static-goes-only-by-session-leave-replacement",
    ),
    "zombie-join-unknown": ("zombie-is-told",),
    "dynamic-becomes-static": (
        "seats-stay",
        "zombie-changes-nothing",
    ),
    "unknown-id-joins": (
        "only-the-invited-come",
        "retired-id-stays-invalid",
    ),
    "unchanged-follower-rebalances": ("rebalance-has-a-cause",),
    "changed-follower-ignored": ("a-restart-in-a-stable-group-is-quiet",),
    "leader-rejoin-ignored": ("a-restart-in-a-stable-group-is-quiet",),
    "repeated-join-rebalances": ("rebalance-has-a-cause",),
    "rejoin-keeps-subscription": ("a-rejoin-brings-its-timeouts",),
    "session-bounds-unchecked": ("session-within-its-timeout",),
    "pending-not-used-up": ("pending-is-no-member",),
    "pending-without-timer": ("session-is-of-somebody",),
    "restart-rebalances": (
        "a-restart-in-a-stable-group-is-quiet",
        "restart-in-stable-causes-nothing",
    ),
    "restart-counts-generation": (
        "a-restart-in-a-stable-group-is-quiet",
        "restart-in-stable-causes-nothing",
    ),
    "replace-loses-assignment": ("a-restart-in-a-stable-group-is-quiet",),
    "replace-keeps-session-timer": ("session-within-its-timeout",),
    "replace-starts-no-timer": ("everybody-is-watched",),
    "replace-keeps-protocols": ("a-rejoin-brings-its-timeouts",),
    "replace-forgets-leader": (
        "leader-is-member",
        "the-leader-told-is-a-member",
    ),
    "replaced-told-nothing": ("nobody-is-left-without-an-answer",),
    "absent-static-removed": ("static-goes-only-by-session-leave-replacement",),
    "absent-dynamic-stays": ("dynamic-goes-at-rebalance-timeout",),
    "nobody-joined-generation": ("sync-timer-has-a-debtor",),
    "join-timer-lost": ("join-phase-has-a-timer",),
    "generation-not-counted": ("one-protocol-per-generation",),
    "leader-without-members": ("exactly-one-leader-is-given-members",),
    "leave-keeps-pending": ("leave-takes-effect",),
    "leader-not-kept": ("lead-changes-only-for-the-absent",),
    "absent-leader-leads": ("every-request-is-answered",),
    "newcomer-leads": ("leader-is-member",),
    "members-told-to-all": ("a-generation-is-told-alike",),
    "vote-by-name": ("a-restart-in-a-stable-group-is-quiet",),
    "waiting-syncs-forgotten": ("nobody-is-left-without-an-answer",),
    "late-sync-empty": ("one-assignment-per-seat",),
    "late-sync-assigns": ("one-assignment-per-seat",),
    "waiting-followers-forgotten": ("nobody-is-left-without-an-answer",),
    "unknown-before-fenced": ("zombie-is-told",),
    "generation-before-identity": ("zombie-is-told",),
    "zombie-heartbeats": ("zombie-is-told",),
    "heartbeat-keeps-nobody-alive": ("a-heartbeat-keeps-alive",),
    "heartbeat-generation-unchecked": ("another-generation-is-told-so",),
    "sync-generation-unchecked": ("another-generation-is-told-so",),
    "leave-without-rebalance": ("settled-has-members",),
    "static-leave-ignored": ("leave-takes-effect",),
    "zombie-leave-unknown": ("zombie-is-told",),
    "leaver-waits-for-ever": ("nobody-is-left-without-an-answer",),
    "zombie-commits": ("zombie-is-told",),
    "stranger-commits": ("a-stranger-is-told-so",),
    "commit-generation-unchecked": ("another-generation-is-told-so",),
    "waiting-member-expires": ("session-end-takes-the-silent",),
    "expiry-without-rebalance": ("settled-has-members",),
    "assignment-not-stored": ("stable-is-stored",),
    "emptiness-not-stored": ("emptiness-is-stored",),
    "failover-forgets-sessions": ("everybody-is-watched",),
    "failover-forgets-map": (
        "stable-is-stored",
        "static-member-is-mapped",
    ),
    "failover-forgets-offsets": ("failover-finds-what-was-stored",),
    "failover-forgets-generation": ("generation-never-falls",),
}
