"""Name the sources of the consumer protocol's rules, and the basis of each MUST.

A source is a KIP, a ticket, or a measured broker.  The basis of a MUST is a sentence of KIP-848 or
KIP-345 in our own words.  Where the KIP and Kafka disagree, or Kafka changes its mind, a rule is
MAY.
"""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.model.table import entry_checks
from fencepost.model.table.table import Basis, Sentence

_ALL = "seen on 4.0.1 to 4.4.0"
KIP_JOIN = f"KIP-848 (joining with epoch 0); {_ALL}"
KIP_STATIC = f"KIP-848 (static members); {_ALL}"
KIP_HEARTBEAT = f"KIP-848 (heartbeats and epochs); {_ALL}"
KIP_LEAVE = f"KIP-848 (leaving with -1 or -2); {_ALL}"
KIP_TIMERS = f"KIP-848 (session and rebalance timeout); {_ALL}"
KAFKA_VALIDATE = f"Kafka: validation of ConsumerGroupHeartbeat; {_ALL}"
KIP_IDS = f"KIP-1082 (ids made by clients); {_ALL}"
KAFKA_EXPRESSION = f"KIP-848 (subscriptions by a regular expression); {_ALL}"
KAFKA_SIZE = "Kafka: group.consumer.max.size; seen on 4.0.1 to 4.3.1"
KAFKA_CHECKS = entry_checks.SOURCE
KAFKA_19233 = "KAFKA-19233, since 4.2; seen on 4.2.0 to 4.4.0"
KAFKA_17228 = f"KAFKA-17228; {_ALL}"
KAFKA_DANGLING = "KAFKA-20747; seen on 4.0.1 to 4.3.1"
KAFKA_STATIC = f"Kafka: members that change their instance; {_ALL}"
KIP_OFFSETS = f"KIP-848 (OffsetCommit and OffsetFetch version 9); {_ALL}"
KIP_1251 = "KIP-1251 (commits of an older epoch), since 4.3; seen on 4.3.0 to 4.4.0"
KIP_447 = f"KIP-447 (TxnOffsetCommit version 3); {_ALL}"
KAFKA_IDLE = f"Kafka: what counts as a change of subscriptions; {_ALL}"
KAFKA_SIMPLE = f"Kafka: groups that a commit makes are of no protocol; {_ALL}"
KAFKA_COMMIT = "Kafka: handling of commits and fetches"
KAFKA_TOPIC_IDS = "KIP-848 (OffsetCommit and OffsetFetch version 10, with ids of topics)"
KAFKA_REMOVAL = f"KIP-345 and KIP-848 (administration); {_ALL}"
KAFKA_ADMIN = f"KIP-848 (ConsumerGroupDescribe); {_ALL}"
KAFKA_DELETING = f"KIP-229 (DeleteGroups); {_ALL}"
KAFKA_LISTING = f"KIP-518 and KIP-848 (ListGroups); {_ALL}"
KAFKA_OFFSET_DELETE = f"KIP-496 (OffsetDelete); {_ALL}"
KIP_1043 = f"KIP-1043 (administration of groups); {_ALL}"
KAFKA_FAILOVER = f"Kafka: loading of groups by a new coordinator; {_ALL}"
KAFKA_20641 = f"KAFKA-20641; {_ALL}"
KAFKA_20442 = "KAFKA-20442 (the target of an empty group), since 4.4; seen on 4.4.0"
KAFKA_20601 = "KAFKA-20601 (full groups), since 4.4; seen on 4.4.0"
KAFKA_CLEANUP = "Kafka: cleaning of groups (offsets.retention.check.interval.ms)"

_STATIC, _HEARTBEAT, _LEAVE = (
    f"KIP-848 ({about})"
    for about in ("static members", "heartbeats and epochs", "leaving with -1 or -2")
)
_UNRELEASED = Sentence(
    _STATIC, "a newcomer with the instance of a member that is still there is refused"
)
_REPLACED = Sentence(
    _STATIC, "a member that returns with its instance replaces the old one and gets its assignment"
)
_STRANGER = Sentence(_HEARTBEAT, "a request of a member id that is unknown is refused")
_ONE_OWNER = Sentence(
    _HEARTBEAT, "a partition goes to a member only after its owner has given it up"
)
_RELEASED = Sentence(
    _LEAVE, "-2 means that the member returns within the session timeout, so it keeps its place"
)
_GONE = Sentence(_LEAVE, "-1 removes the member")
_SESSION = Sentence(_STATIC, "who doesn't return within the session timeout is removed")
_SILENT = Sentence(
    'KIP-345 "Rolling Bounce"', "a member that is silent is removed by its session timeout"
)
_SWEPT = Sentence(
    'KIP-345 "Join Group Logic Change"',
    "join, sync, heartbeat and commit of a replaced process are fenced",
)
_BY_BOTH = Sentence(
    'KIP-345 "Leave Group Logic Change"',
    "a member id in the row must match, or no member is removed",
)
_BY_INSTANCE = Sentence(
    'KIP-345 "Leave Group Logic Change"', "without a member id only the instance id is used"
)

BINDING: Mapping[str, tuple[Basis, ...]] = {
    "CG-JOIN-UNRELEASED": (_UNRELEASED,),
    "CG-JOIN-RETURN": (_REPLACED,),
    "CG-JOIN-RETURN-CHANGED": (_REPLACED,),
    "CG-BEAT-ALIVE": (_ONE_OWNER,),
    "CG-BEAT-ALIVE-CHANGED": (_ONE_OWNER,),
    "CG-BEAT-INSTANCE-FENCED": (_SWEPT,),
    "CG-BEAT-UNKNOWN-MEMBER": (_STRANGER,),
    "CG-LEAVE-RELEASE-BARE": (_RELEASED,),
    "CG-LEAVE-INSTANCE-FENCED": (_BY_BOTH,),
    "CG-LEAVE-UNKNOWN-MEMBER": (_STRANGER,),
    "CG-LEAVE-RELEASE": (_RELEASED,),
    "CG-LEAVE-FOR-GOOD": (_GONE,),
    "CG-REMOVE-BY-INSTANCE": (_BY_INSTANCE,),
    "CG-REMOVE-INSTANCE-FENCED": (_BY_BOTH,),
    "CG-COMMIT-UNKNOWN-MEMBER": (_SWEPT, _STRANGER),
    "CG-TXN-COMMIT-UNKNOWN-MEMBER": (_SWEPT, _STRANGER),
    "CG-SESSION-EXPIRED": (_SILENT,),
    "CG-SESSION-EXPIRED-RELEASED": (_SESSION,),
}
"""Id of a rule of a shipped revision → the basis of its MUST."""
