"""Names for the sources of rules, and the basis of each MUST.

A source is a section of KIP-345 or of another KIP, or Kafka's behaviour.  The basis of a MUST is a
sentence of KIP-345 in our own words, or a safety property that a coordinator breaks where it breaks
the rule.  A MUST without a basis, a basis of a rule that is less than MUST, and an unknown property
fail a test.
"""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.model.table import entry_checks
from fencepost.model.table.table import Basis, Safety, Sentence

KIP_BACKGROUND = 'KIP-345 "Background of Consumer Rebalance"'
KIP_JOIN = 'KIP-345 "Join Group Logic Change"'
KIP_LEAVE = 'KIP-345 "Leave Group Logic Change"'
KIP_COMMAND = 'KIP-345 "Command Line API for Membership Management"'
KIP_ROLLING = 'KIP-345 "Rolling Bounce"'
KIP_SCALE_DOWN = 'KIP-345 "Scale Down"'
KIP_FAULT = 'KIP-345 "Fault-tolerance of Static Membership"'
KIP_SWITCH = 'KIP-345 "Switching from Static Member to Dynamic Member"'
KIP_SERVER_CONFIG = 'KIP-345 "Server Side Changes"'
KIP_PUBLIC = 'KIP-345 "Public Interfaces"'
KIP_NON_GOAL = 'KIP-345 "Non Goal", update of 2/12'
KIP_FUTURE = 'KIP-345 "Future Works"'
KIP_134 = "KIP-134 (initial rebalance delay)"
KIP_389 = "KIP-389 (group.max.size)"
KIP_394 = "KIP-394 (a member id is required)"
KIP_814 = "KIP-814 (a static leader skips assignment)"
KAFKA_CHECKS = entry_checks.SOURCE
KAFKA_JOIN = "Kafka: handling of joins by state"
KAFKA_VALIDATE = "Kafka: validation of member and instance, fencing first"
KAFKA_SYNC = "Kafka: handling of syncs by state"
KAFKA_HEARTBEAT = "Kafka: handling of heartbeats by state"
KAFKA_COMMIT = "Kafka: handling of commits by state"
KAFKA_447 = "KIP-447 (TxnOffsetCommit version 3)"
KAFKA_TXN_COMMIT = "Kafka: handling of commits in transactions; seen on 2.5.1 to 4.3.0"
KAFKA_ADMIN = "Kafka: administration of groups"
KAFKA_DELETING = "KIP-229 (DeleteGroups); seen on 2.3.0 to 4.3.0"
KAFKA_OFFSET_DELETE = "KIP-496 (OffsetDelete); seen on 2.8.0 to 4.3.0"
KAFKA_TIMERS = "Kafka: timers of the group coordinator"
KAFKA_FAILOVER = "Kafka: loading of groups by a new coordinator"
KAFKA_CLEANUP = "Kafka: cleaning of groups (offsets.retention.check.interval.ms)"
KAFKA_RETENTION = "KIP-211 (offset retention); seen on 2.3.0 to 4.3.0"
KAFKA_13636 = "KAFKA-13636"
KAFKA_DELETION = "Kafka: removal of the offsets of deleted topics"
KAFKA_STORING = "Kafka: what can't be written (message.max.bytes); seen on 2.8.0 to 4.3.0"
KAFKA_METADATA = "Kafka: metadata of offsets (offset.metadata.max.bytes)"
KAFKA_9801 = "KAFKA-9801"
KAFKA_10134 = "KAFKA-10134, since 2.6.1"
KAFKA_12890 = "KAFKA-12890, since 2.8.1"
KAFKA_8487 = "KAFKA-8487"

NEVER_DEAD = "no request of these APIs leaves a group Dead; it is gone at once"


_FENCED = Sentence(KIP_JOIN, "a member id that isn't the one stored for its instance is fenced")
_SWEPT = Sentence(KIP_JOIN, "join, sync, heartbeat and commit of a replaced process are fenced")
_REPLACED = Sentence(
    KIP_JOIN, "a mapped instance that joins without a member id gets a new id, and is mapped to it"
)
_AT_ONCE = Sentence(
    KIP_JOIN, ("in a stable group a restart is answered at once, without a rebalance")
)
_NEW = Sentence(
    KIP_JOIN, ("an unmapped instance gets a new id and is mapped to it, and is never pending")
)
_DYNAMIC = Sentence(KIP_JOIN, "joins without an instance are handled as before")
_LEGACY = Sentence(KIP_JOIN, "joins up to version 3 are handled as before")
_REBALANCE = Sentence(
    KIP_BACKGROUND, "a rebalance waits until all members have joined, or for its timeout"
)
_FOUR = Sentence(KIP_BACKGROUND, "static members rebalance for four causes only")
_LEADER = Sentence(KIP_BACKGROUND, "a new member or a leader that rejoins starts a rebalance")
_FOLLOWER = Sentence(KIP_BACKGROUND, "a known member that rejoins doesn't change the state")
_ASSIGNED = Sentence(KIP_BACKGROUND, "the leader assigns, and all followers get it in syncs")
_SESSION = Sentence(KIP_ROLLING, "a member is removed only by its session timeout")
_KEPT = Sentence(KIP_ROLLING, "the rebalance timeout ends the wait, and removes no static member")
_ROW = Sentence(KIP_LEAVE, "a batch has a row for each member that leaves")
_BY_BOTH = Sentence(KIP_LEAVE, "a member id in the row must match, or no member is removed")
_BY_INSTANCE = Sentence(KIP_LEAVE, "without a member id only the instance id is used")
_NOT_FOUND = Sentence(KIP_LEAVE, "an instance that is not found is UNKNOWN_MEMBER_ID")
_NOBODY = Sentence(KIP_LEAVE, "a row without any id is UNKNOWN_MEMBER_ID")
_DYNAMIC_LEAVE = Sentence(KIP_LEAVE, "a dynamic member is removed by its member id, as before")
_STATIC_LEAVE = Sentence(KIP_SWITCH, "a leave with the member id of a static member removes it")
_STORED = Sentence(KIP_FAULT, "the map of instances is stored; a new coordinator loads it")

_STRANGER = Safety("a-stranger-is-told-so")
_GENERATION = Safety("another-generation-is-told-so")
_ZOMBIE = Safety("zombie-is-told")
_INVITED = Safety("only-the-invited-come")
_ALIVE = Safety("a-heartbeat-keeps-alive")
_CAUSE = Safety("rebalance-has-a-cause")
_LEFT = Safety("leave-takes-effect")
_SILENT = Safety("session-end-takes-the-silent")
_SEAT = Safety("one-assignment-per-seat")

_OF_A_SENDER: Mapping[str, tuple[Basis, ...]] = {
    f"{prefix}-{name}": basis
    for prefix in ("SYNC", "HEARTBEAT", "COMMIT", "TXN-COMMIT")
    for name, basis in (
        ("INSTANCE-FENCED", (_SWEPT, _ZOMBIE)),
        ("INSTANCE-UNMAPPED", (_ZOMBIE,)),
        ("UNKNOWN-MEMBER", (_STRANGER,)),
        ("ILLEGAL-GENERATION", (_GENERATION,)),
    )
}

BINDING: Mapping[str, tuple[Basis, ...]] = {
    **_OF_A_SENDER,
    "JOIN-GROUP-ABSENT": (_INVITED,),
    "JOIN-DYNAMIC-EMPTY": (_DYNAMIC, Safety("one-client-per-id")),
    "JOIN-DYNAMIC-EMPTY-LEGACY": (_LEGACY,),
    "JOIN-STATIC-EMPTY-NEW": (_NEW,),
    "JOIN-STATIC-EMPTY-PREPARING": (_REPLACED,),
    "JOIN-STATIC-EMPTY-COMPLETING": (_REPLACED, _SEAT),
    "JOIN-STATIC-EMPTY-STABLE": (_REPLACED, _AT_ONCE, Safety("restart-in-stable-causes-nothing")),
    "JOIN-PENDING": (_DYNAMIC, _INVITED),
    "JOIN-INSTANCE-UNMAPPED": (_FENCED, _INVITED),
    "JOIN-INSTANCE-FENCED": (_FENCED, _ZOMBIE),
    "JOIN-UNKNOWN-MEMBER": (_INVITED,),
    "JOIN-MEMBER-PREPARING": (_REBALANCE,),
    "JOIN-MEMBER-COMPLETING-SAME": (_CAUSE,),
    "JOIN-LEADER-STABLE": (_LEADER,),
    "JOIN-FOLLOWER-STABLE-SAME": (_FOLLOWER, _CAUSE),
    "SYNC-GROUP-ABSENT": (_STRANGER,),
    "SYNC-PREPARING": (Safety("syncing-only-while-completing"),),
    "SYNC-COMPLETING-FOLLOWER": (_ASSIGNED,),
    "SYNC-COMPLETING-LEADER": (_ASSIGNED,),
    "SYNC-STABLE": (_SEAT,),
    "HEARTBEAT-GROUP-ABSENT": (_STRANGER,),
    "HEARTBEAT-PREPARING": (_REBALANCE, _ALIVE),
    "HEARTBEAT-COMPLETING": (_ALIVE, _CAUSE),
    "HEARTBEAT-STABLE": (_ALIVE, _CAUSE),
    "LEAVE-ROWS": (_ROW,),
    "LEAVE-MEMBER-NOBODY": (_NOBODY, _NOT_FOUND),
    "LEAVE-MEMBER-BY-INSTANCE": (_BY_INSTANCE, _LEFT),
    "LEAVE-MEMBER-BY-INSTANCE-PREPARING": (_BY_INSTANCE, _LEFT),
    "LEAVE-MEMBER-PENDING": (_LEFT,),
    "LEAVE-MEMBER-INSTANCE-UNMAPPED": (_NOT_FOUND,),
    "LEAVE-MEMBER-INSTANCE-FENCED": (_BY_BOTH,),
    "LEAVE-MEMBER-UNKNOWN": (_DYNAMIC_LEAVE,),
    "LEAVE-MEMBER": (_DYNAMIC_LEAVE, _STATIC_LEAVE, _LEFT),
    "LEAVE-MEMBER-PREPARING": (_DYNAMIC_LEAVE, _STATIC_LEAVE, _LEFT),
    "COMMIT-ANONYMOUS": (_STRANGER,),
    "FETCH-ANYBODY": (Safety("a-refused-commit-stores-nothing"),),
    "SESSION-PENDING": (_SILENT,),
    "SESSION-WAITING": (_SILENT,),
    "SESSION-EXPIRED": (_SESSION, _SILENT),
    "SESSION-EXPIRED-PREPARING": (_SESSION, _SILENT),
    "JOIN-PHASE-WAIT": (_REBALANCE,),
    "JOIN-PHASE-ALL-JOINED": (_REBALANCE,),
    "JOIN-PHASE-ALL-LEFT": (Safety("settled-has-members"),),
    "JOIN-PHASE-DELAY-OVER": (Safety("a-generation-is-told-alike"), Safety("silence-has-an-end")),
    "JOIN-PHASE-EXPIRED": (_KEPT, Safety("static-stays-at-rebalance-timeout")),
    "JOIN-PHASE-POSTPONED": (_KEPT, Safety("static-stays-at-rebalance-timeout")),
    "JOIN-PHASE-NOBODY-JOINED": (Safety("dynamic-goes-at-rebalance-timeout"),),
    "SYNC-PHASE-EXPIRED": (Safety("wait-for-syncs-has-an-end"),),
    "FAILOVER-LOST": (Safety("failover-finds-what-was-stored"),),
    "FAILOVER-OFFSETS": (Safety("failover-finds-what-was-stored"),),
    "FAILOVER-EMPTY": (Safety("failover-finds-what-was-stored"),),
    "FAILOVER-STABLE": (_STORED, Safety("failover-finds-what-was-stored")),
    # Rules that only kip-345, the accepted text read strictly, has.
    "JOIN-STATIC-EMPTY-STABLE-SELECTION": (_AT_ONCE,),
    "JOIN-STATIC-CHANGED": (_FOUR,),
    "JOIN-PENDING-INSTANCE": (_FENCED,),
    "JOIN-PENDING-INSTANCE-UNMAPPED": (_NEW, _FENCED),
    "LEAVE-GROUP-ABSENT": (
        Sentence(KIP_COMMAND, "a group that doesn't exist is INVALID_GROUP_ID"),
    ),
    "SYNC-PHASE-STATIC": (_SESSION,),
}
"""Id of a rule of `kafka-4`, of a release or of `kip-345` → the basis of its MUST."""
