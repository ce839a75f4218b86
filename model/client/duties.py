"""What a client of a group owes, by id: the sentences that its conduct, and each departure, name.

The ids are `CLIENT-AREA-WHAT`.  Sources are KIP-345 and what Kafka's protocol asks of a member;
where both are silent, what the Java client does is the measure, and the sentence says so.
"""

from __future__ import annotations

from collections.abc import Mapping

DUTIES: Mapping[str, str] = {
    "CLIENT-IDENTITY-AS-SET": (
        "the instance id that the user set is sent as it is, in every JoinGroup"
    ),
    "CLIENT-IDENTITY-EVERY-REQUEST": (
        "SyncGroup, Heartbeat and OffsetCommit carry the instance id, too, so that a replaced "
        "process is told FENCED_INSTANCE_ID wherever it asks"
    ),
    "CLIENT-IDENTITY-VERSIONS": (
        "each API is asked in the newest version that both sides know, so that the instance id "
        "and the error FENCED_INSTANCE_ID fit into it"
    ),
    "CLIENT-CLOSE-STATIC-STAYS": (
        "a static member that is closed or unsubscribes sends no LeaveGroup: its place is kept "
        "until its session ends, or is another's already"
    ),
    "CLIENT-CLOSE-DYNAMIC-LEAVES": (
        "a dynamic member leaves when it is closed, unsubscribes or exceeds the poll interval"
    ),
    "CLIENT-CLOSE-IN-TIME": "close ends within its timeout, whatever the broker does",
    "CLIENT-JOIN-ID-REQUIRED": "MEMBER_ID_REQUIRED is followed by a join with the id of the answer",
    "CLIENT-JOIN-LOST-ANSWER": (
        "a join whose answer is lost is sent again, as the same instance; a late answer to the "
        "first fences nobody"
    ),
    "CLIENT-JOIN-UNKNOWN-MEMBER": (
        "after UNKNOWN_MEMBER_ID the member begins anew: an empty member id, the same instance id"
    ),
    "CLIENT-JOIN-ILLEGAL-GENERATION": (
        "after ILLEGAL_GENERATION the partitions are lost, and the member joins again with its id"
    ),
    "CLIENT-JOIN-REBALANCE": "after REBALANCE_IN_PROGRESS the member joins again, as itself",
    "CLIENT-JOIN-COORDINATOR": (
        "after NOT_COORDINATOR or COORDINATOR_NOT_AVAILABLE the coordinator is looked up again; "
        "while it loads, the same one is asked again"
    ),
    "CLIENT-JOIN-BACKOFF": "what fails is asked again after a pause that grows: no hot loop",
    "CLIENT-FENCED-TOLD": (
        "FENCED_INSTANCE_ID is fatal, and the user is told, whichever API was answered so"
    ),
    "CLIENT-FENCED-NO-JOIN": "a fenced client doesn't join again by itself",
    "CLIENT-FENCED-NO-RECORDS": "no records are delivered after the client was fenced",
    "CLIENT-FENCED-NO-COMMITS": "a fenced client commits nothing",
    "CLIENT-REMOVED-COMES-BACK": (
        "a static member that was removed, or whose user worked for too long, comes back with its "
        "instance id; its user is told what was lost"
    ),
    "CLIENT-REMOVED-NO-COMMITS": "nothing is committed while the client is nobody's member",
    "CLIENT-RESTART-SAME-PLACE": (
        "a restarted static member joins with its instance id and an empty member id, takes the "
        "assignment of its generation, and asks for no rebalance"
    ),
    "CLIENT-LEADER-MEMBERS": (
        "a leader's assignment names all members of its join's answer, and nobody else; an "
        "instance keeps its partitions when its member id changes"
    ),
    "CLIENT-LEADER-PARTITIONS": "a leader assigns each partition once",
    "CLIENT-LEADER-COOPERATIVE": (
        "a cooperative member gives a partition back and joins again before anybody else is "
        "assigned it"
    ),
    "CLIENT-SESSION-HEARTBEATS": "heartbeats go on while the user's processing is long",
    "CLIENT-SESSION-POLL-INTERVAL": "heartbeats stop when the user exceeds the poll interval",
    "CLIENT-SESSION-STATIC-SILENT": (
        "a static member that exceeds the poll interval sends no LeaveGroup: it is silent until "
        "its session ends"
    ),
    "CLIENT-SESSION-AS-SET": "the session and rebalance timeouts in a join are those that were set",
    "CLIENT-OLD-BROKER-TOLD": (
        "a static member at a broker below JoinGroup version 5 is told UNSUPPORTED_VERSION, and "
        "doesn't join as a dynamic one"
    ),
    "CLIENT-STREAMS-OWN-IDS": "several members of one process keep their instance ids apart",
}
"""Each duty's sentence."""
