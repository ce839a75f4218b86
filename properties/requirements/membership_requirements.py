"""Obligations of a member on an ordinary day: its identity, its session, its end, its return."""

from __future__ import annotations

from fencepost.model.table.table import Level
from fencepost.properties.requirements.requirement import Obligation

_CONFIG = "KIP-345, the consumer setting group.instance.id"
_REQUESTS = "KIP-345, Client Side Changes"
_BEHAVIOUR = "KIP-345, Client Behavior Changes"
_RESTART = "KIP-345, Join Group Logic Change and the update on leaders that restart"

IDENTITY = (
    Obligation(
        "CLIENT-IDENTITY-AS-SET",
        Level.MUST,
        "The instance id that the user set is in every JoinGroup of the member, as it was set.",
        _CONFIG,
        provoked="a static member joins",
        judged="the instance id in each JoinGroup whose version has room for one",
        part="CLIENT-IDENTITY-AS-SET",
    ),
    Obligation(
        "CLIENT-IDENTITY-EVERY-REQUEST",
        Level.MUST,
        "The instance id is in every SyncGroup, Heartbeat and OffsetCommit, too: else they can't "
        "be fenced.",
        _REQUESTS,
        provoked="a static member joins, heartbeats and commits",
        judged="the instance id in each request whose version has room for one",
        part="CLIENT-IDENTITY-EVERY-REQUEST",
    ),
    Obligation(
        "CLIENT-IDENTITY-VERSIONS",
        Level.MUST,
        "A static member uses versions that carry its instance id for all of JoinGroup, SyncGroup, "
        "Heartbeat and OffsetCommit, if the broker knows them; else fencing can't reach it.",
        _REQUESTS,
        provoked="a static member joins, heartbeats and commits at a broker that knows them all",
        judged="no request is of a version below JoinGroup 5, SyncGroup 3, Heartbeat 3, "
        "OffsetCommit 7",
        part="CLIENT-IDENTITY-VERSIONS",
    ),
    Obligation(
        "CLIENT-IDENTITY-NEWEST",
        Level.SHOULD,
        "The version of each API is the newest that both sides know.",
        "KIP-35, ApiVersions",
        provoked="the broker comes back with lower versions",
        judged="each version is the one that was used before, or the broker's newest if that is "
        "lower",
        part="CLIENT-IDENTITY-VERSIONS",
    ),
    Obligation(
        "CLIENT-IDENTITY-DYNAMIC",
        Level.MUST,
        "Without an instance id from its user a consumer is a dynamic member: no request carries "
        "one, not even an empty one.",
        _CONFIG,
        provoked="a dynamic member joins, heartbeats and commits",
        judged="the instance id of each request is null",
        part="CLIENT-IDENTITY-AS-SET",
    ),
)

CLOSE = (
    Obligation(
        "CLIENT-CLOSE-STATIC-STAYS",
        Level.MUST,
        "A static member that closes sends no LeaveGroup: its place is kept until its session "
        "ends.",
        _BEHAVIOUR,
        provoked="a static member closes in a stable group, and while no coordinator is available",
        judged="no LeaveGroup names it, by member id or by instance id",
        part="CLIENT-CLOSE-STATIC-STAYS",
    ),
    Obligation(
        "CLIENT-CLOSE-DYNAMIC-LEAVES",
        Level.SHOULD,
        "A dynamic member that closes leaves, with its member id and no instance id.",
        "KIP-345, Leave Group Logic Change, rule 2",
        provoked="a dynamic member closes in a stable group",
        judged="a LeaveGroup names its member id, and its instance id is null",
        part="CLIENT-CLOSE-DYNAMIC-LEAVES",
    ),
    Obligation(
        "CLIENT-CLOSE-UNSUBSCRIBED-STAYS",
        Level.SHOULD,
        "A static member that unsubscribes sends no LeaveGroup either.",
        _BEHAVIOUR,
        provoked="the user of a static member unsubscribes",
        judged="no LeaveGroup names it",
        part="CLIENT-CLOSE-STATIC-STAYS",
    ),
    Obligation(
        "CLIENT-CLOSE-IN-TIME",
        Level.SHOULD,
        "Closing ends within the time that the user gave.",
        "KIP-102, a close with a timeout",
        provoked="a member closes in a stable group, and while no coordinator is available",
        judged="how long the call took",
        part="CLIENT-CLOSE-IN-TIME",
    ),
    Obligation(
        "CLIENT-CLOSE-FENCED",
        Level.MUST,
        "A member that was fenced closes in time and sends no LeaveGroup that could remove who has "
        "its place now.",
        _BEHAVIOUR,
        provoked="a member is fenced, and its user closes it",
        judged="how long the call took, and that no LeaveGroup names the instance without a member "
        "id, or with the member id of its new holder",
        part="CLIENT-CLOSE-STATIC-STAYS",
    ),
    Obligation(
        "CLIENT-CLOSE-REBALANCING",
        Level.SHOULD,
        "Closing ends in time while the group rebalances, and a static member doesn't leave then "
        "either.",
        "KIP-102, a close with a timeout",
        provoked="a member closes while its JoinGroup is parked",
        judged="how long the call took, and that no LeaveGroup names it",
        part="CLIENT-CLOSE-IN-TIME",
    ),
    Obligation(
        "CLIENT-CLOSE-BROKER-GONE",
        Level.SHOULD,
        "Closing ends in time when no broker answers.",
        "KIP-102, a close with a timeout",
        provoked="the broker takes connections and answers nothing, and a member closes",
        judged="how long the call took",
        part="CLIENT-CLOSE-IN-TIME",
    ),
)

RESTART = (
    Obligation(
        "CLIENT-RESTART-FOLLOWER",
        Level.MUST,
        "A follower that closes and comes back within its session causes no rebalance, and has the "
        "partitions that it had.",
        _RESTART,
        provoked="a static member that doesn't lead is closed and started again",
        judged="generations, the partitions that users were told, and that no other member joined",
        part="CLIENT-RESTART-SAME-PLACE",
    ),
    Obligation(
        "CLIENT-RESTART-CRASHED",
        Level.MUST,
        "A follower whose process was killed comes back within its session, causes no rebalance, "
        "and has the partitions that it had.",
        _RESTART,
        provoked="the process of a static member is killed and started again",
        judged="generations, the partitions that users were told, and that no other member joined",
        part="CLIENT-RESTART-SAME-PLACE",
    ),
    Obligation(
        "CLIENT-RESTART-LEADER",
        Level.MUST,
        "A leader that closes and comes back within its session causes no rebalance, and has the "
        "partitions that it had.",
        _RESTART,
        provoked="the leader is closed and started again, with the newest versions",
        judged="generations, the partitions that users were told, and that no other member joined",
        part="CLIENT-RESTART-SAME-PLACE",
    ),
    Obligation(
        "CLIENT-RESTART-SKIPPED",
        Level.SHOULD,
        "A leader that is told to skip the assignment sends its SyncGroup without one, and takes "
        "the partitions that it is answered.",
        "KIP-814, skipAssignment in JoinGroup 9",
        provoked="the leader is closed and started again, with the newest versions",
        judged="its SyncGroup after the answer with skipAssignment has no assignments",
        part="CLIENT-RESTART-SAME-PLACE",
    ),
    Obligation(
        "CLIENT-RESTART-LEADER-OLD",
        Level.MUST,
        "Below JoinGroup 9 a leader that came back is not told that it leads: it syncs as a "
        "follower, and has the partitions that it had.",
        "KIP-814, Motivation",
        provoked="the leader is closed and started again at a broker without JoinGroup 9",
        judged="generations, the partitions that users were told, and that its SyncGroup has no "
        "assignments",
        part="CLIENT-RESTART-SAME-PLACE",
    ),
    Obligation(
        "CLIENT-RESTART-ALL",
        Level.MUST,
        "When all members are restarted one after the other, nothing moves.",
        "KIP-345, Motivation and Rolling Bounce",
        provoked="each of three static members in turn is closed and started again",
        judged="generations, and the partitions that users were told",
        part="CLIENT-RESTART-SAME-PLACE",
    ),
    Obligation(
        "CLIENT-RESTART-COOPERATIVE",
        Level.MUST,
        "A restart moves nothing with the cooperative assignor either.",
        "KIP-429, with static members",
        provoked="a follower with the cooperative assignor is closed and started again",
        judged="generations, the partitions that users were told, and that no other member joined",
        part="CLIENT-RESTART-SAME-PLACE",
    ),
)

SESSION = (
    Obligation(
        "CLIENT-SESSION-TIMEOUT",
        Level.MUST,
        "The session timeout in JoinGroup is the one that the user set: how long a place is kept "
        "hangs on it.",
        "KIP-345, Upgrade Process, step 3",
        provoked="a member joins with a session timeout of its own",
        judged="the session timeout of each JoinGroup",
        part="CLIENT-SESSION-AS-SET",
    ),
    Obligation(
        "CLIENT-SESSION-REBALANCE-TIMEOUT",
        Level.SHOULD,
        "The rebalance timeout in JoinGroup is the poll interval that the user set.",
        "KIP-62, max.poll.interval.ms",
        provoked="a member joins with a poll interval of its own",
        judged="the rebalance timeout of each JoinGroup",
        part="CLIENT-SESSION-AS-SET",
    ),
    Obligation(
        "CLIENT-SESSION-HEARTBEATS",
        Level.SHOULD,
        "Heartbeats go on while the user works longer than the session timeout, and shorter than "
        "the poll interval.",
        "KIP-62, heartbeats beside processing",
        provoked="the user doesn't poll for longer than the session timeout",
        judged="the gaps between heartbeats stay below the session timeout, and the member isn't "
        "removed",
        part="CLIENT-SESSION-HEARTBEATS",
    ),
    Obligation(
        "CLIENT-SESSION-POLL-INTERVAL",
        Level.SHOULD,
        "When the user works for longer than the poll interval, heartbeats stop, so that the group "
        "can go on.",
        "KIP-62, max.poll.interval.ms",
        provoked="the user doesn't poll for longer than the poll interval",
        judged="no heartbeat comes once the poll interval is over, with room for one interval",
        part="CLIENT-SESSION-POLL-INTERVAL",
    ),
    Obligation(
        "CLIENT-SESSION-STATIC-SILENT",
        Level.MUST,
        "A static member whose user works for too long sends no LeaveGroup: it is silent until its "
        "session ends.",
        _BEHAVIOUR,
        provoked="the user of a static member doesn't poll for longer than the poll interval",
        judged="no LeaveGroup names it",
        part="CLIENT-SESSION-STATIC-SILENT",
    ),
    Obligation(
        "CLIENT-SESSION-POLLS-ON",
        Level.SHOULD,
        "When a user polls again after it worked for too long, the member is back, with its "
        "instance id.",
        "KIP-62, max.poll.interval.ms",
        provoked="the user doesn't poll until the session is over, then goes on",
        judged="a JoinGroup with its instance id comes, and the user has partitions again",
        part="CLIENT-REMOVED-COMES-BACK",
    ),
)

STREAMS = (
    Obligation(
        "CLIENT-STREAMS-OWN-IDS",
        Level.MUST,
        "Several members in one process, with instance ids that end in -1, -2 and so on, are "
        "apart: each has its own member id, and its own instance id in every request.",
        "KIP-345, Kafka Streams Change",
        provoked="one process starts three static members of one group",
        judged="the pairs of instance id and member id in all requests",
        part="CLIENT-STREAMS-OWN-IDS",
    ),
    Obligation(
        "CLIENT-STREAMS-ROLLED",
        Level.MUST,
        "When a process with several static members restarts, nothing moves.",
        "KIP-345, Kafka Streams Change",
        provoked="a process with three static members ends and is started again, beside another",
        judged="generations, and the partitions that users were told",
        part="CLIENT-RESTART-SAME-PLACE",
    ),
)
