"""The table of obligations: all rows in order, and how one is found.

The shape of a row in the table of obligations, and the areas of the table.

Obligations of a member on an ordinary day: its identity, its session, its end, its return.

Obligations of a member that is told of an error, or that another takes the place of.

Obligations of the member that assigns partitions for the group.
"""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.model.bad_input import BadInputError
from fencepost.model.suggestions import did_you_mean
from fencepost.model.table.table import Level

AREAS = {
    "IDENTITY": "Who it says it is",
    "JOIN": "How it joins, and what it does after an error",
    "CLOSE": "How it goes",
    "FENCED": "Another has its place",
    "REMOVED": "It lost its place",
    "RESTART": "It comes back",
    "LEADER": "It assigns for the group",
    "SESSION": "It shows that it lives",
    "OLD-BROKER": "A broker that knows no static members",
    "STREAMS": "Several members in one process",
}
"""The areas in the order of the table, with their titles."""

_PREFIX = "CLIENT-"


@dataclass(frozen=True, slots=True)
class Obligation:
    """One thing that a client owes.

    `id`: never changes once published.  `level`: MUST where a safety promise of the KIP depends on
    it; SHOULD where users rely on it, or the authors of a library might dispute it.  `sentence`:
    what the client does.  `source`: who asks for it.  `provoked`: what is done to it; `judged`:
    what is looked at.  `part`: the duty of `fencepost.model.client` that it is about.  `dispute`:
    what the authors of a library may say against it, and why the level is what it is; "" where
    nobody would.

    Raises ValueError for an id that names no area.
    """

    id: str
    level: Level
    sentence: str
    source: str
    provoked: str
    judged: str
    part: str
    dispute: str = ""

    def __post_init__(self) -> None:
        if self.area not in AREAS:
            raise ValueError(f"{self.id!r} is no id of an obligation: {_PREFIX}AREA-WHAT")

    @property
    def area(self) -> str:
        """The area that its id names, such as `FENCED`; "" for none."""
        rest = self.id.removeprefix(_PREFIX) if self.id.startswith(_PREFIX) else ""
        return next((area for area in AREAS if rest.startswith(f"{area}-")), "")


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


_JOIN_LOGIC = "KIP-345, Join Group Logic Change"
_PROTOCOL = "Kafka's protocol guide, error codes that can be tried again"

JOIN = (
    Obligation(
        "CLIENT-JOIN-EMPTY-FIRST",
        Level.MUST,
        "A consumer that was just started joins with an empty member id: so the coordinator knows "
        "a restart from a zombie.",
        _JOIN_LOGIC,
        provoked="a member is started",
        judged="the member id of its first JoinGroup",
        part="CLIENT-RESTART-SAME-PLACE",
    ),
    Obligation(
        "CLIENT-JOIN-ID-REQUIRED",
        Level.SHOULD,
        "MEMBER_ID_REQUIRED is followed by a JoinGroup with the member id of that answer.",
        "KIP-394",
        provoked="a dynamic member is started",
        judged="the member id of the JoinGroup after such an answer",
        part="CLIENT-JOIN-ID-REQUIRED",
    ),
    Obligation(
        "CLIENT-JOIN-LOST-ANSWER",
        Level.MUST,
        "A static member whose JoinGroup was answered to nobody comes back as itself, with its "
        "instance id, and gets its partitions.",
        _JOIN_LOGIC,
        provoked="the answer to a JoinGroup is lost with its connection",
        judged="the next JoinGroup has the instance id, and the user has partitions at the end",
        part="CLIENT-JOIN-LOST-ANSWER",
    ),
    Obligation(
        "CLIENT-JOIN-CUT",
        Level.MUST,
        "A static member whose connection is lost while its JoinGroup is parked comes back as "
        "itself, with its instance id, and gets its partitions.",
        _JOIN_LOGIC,
        provoked="the connection is cut while a JoinGroup is parked",
        judged="the next JoinGroup has the instance id, and the user has partitions at the end",
        part="CLIENT-JOIN-LOST-ANSWER",
    ),
    Obligation(
        "CLIENT-JOIN-UNKNOWN-MEMBER",
        Level.MUST,
        "After UNKNOWN_MEMBER_ID a static member joins again with its instance id, and gets its "
        "partitions.",
        "KIP-345, Join and Leave Group Logic Change",
        provoked="a heartbeat, a SyncGroup and a JoinGroup are answered UNKNOWN_MEMBER_ID",
        judged="the instance id of the next JoinGroup, and that the user has partitions at the end",
        part="CLIENT-JOIN-UNKNOWN-MEMBER",
    ),
    Obligation(
        "CLIENT-JOIN-UNKNOWN-EMPTY",
        Level.SHOULD,
        "After UNKNOWN_MEMBER_ID the next JoinGroup has an empty member id: the old one is gone.",
        "KIP-345, Join and Leave Group Logic Change",
        provoked="a heartbeat, a SyncGroup and a JoinGroup are answered UNKNOWN_MEMBER_ID",
        judged="the member id of the next JoinGroup",
        part="CLIENT-JOIN-UNKNOWN-MEMBER",
    ),
    Obligation(
        "CLIENT-JOIN-ILLEGAL-GENERATION",
        Level.SHOULD,
        "After ILLEGAL_GENERATION a member joins again, with its instance id.",
        "Kafka's protocol guide",
        provoked="a heartbeat and a SyncGroup are answered ILLEGAL_GENERATION",
        judged="a JoinGroup with the instance id follows",
        part="CLIENT-JOIN-ILLEGAL-GENERATION",
    ),
    Obligation(
        "CLIENT-JOIN-REBALANCE",
        Level.SHOULD,
        "After REBALANCE_IN_PROGRESS a member joins again as who it is, with its member id.",
        "Kafka's protocol guide",
        provoked="a heartbeat and a SyncGroup are answered REBALANCE_IN_PROGRESS",
        judged="member id and instance id of the next JoinGroup",
        part="CLIENT-JOIN-REBALANCE",
    ),
    Obligation(
        "CLIENT-JOIN-COORDINATOR",
        Level.SHOULD,
        "After NOT_COORDINATOR or COORDINATOR_NOT_AVAILABLE a member looks for the coordinator and "
        "goes on as who it is.",
        _PROTOCOL,
        provoked="the coordinator moves to another node; then none is available for a while",
        judged="a FindCoordinator follows, and the next group requests have the member id and the "
        "instance id of before",
        part="CLIENT-JOIN-COORDINATOR",
    ),
    Obligation(
        "CLIENT-JOIN-LOADING",
        Level.SHOULD,
        "While the coordinator loads, a member asks again, and stays who it is.",
        _PROTOCOL,
        provoked="the coordinator answers COORDINATOR_LOAD_IN_PROGRESS for a while",
        judged="the next requests that are answered without error have the member id of before",
        part="CLIENT-JOIN-COORDINATOR",
    ),
    Obligation(
        "CLIENT-JOIN-BACKOFF",
        Level.SHOULD,
        "What is refused is asked again with a pause, not in a hot loop.",
        "KIP-580, backoff",
        provoked="errors that can be tried again are answered for two seconds",
        judged="how many requests of one kind come within a second",
        part="CLIENT-JOIN-BACKOFF",
    ),
    Obligation(
        "CLIENT-JOIN-SILENT",
        Level.SHOULD,
        "An error that the client can recover from is no fatal one for its user, and ends nothing.",
        "KIP-345, Join Group Logic Change: only a taken place is told",
        provoked="errors that can be tried again are answered for a while, or an answer is lost",
        judged="the user is told of no fatal error, and the consumer doesn't end",
        part="CLIENT-JOIN-BACKOFF",
    ),
)

FENCED = (
    Obligation(
        "CLIENT-FENCED-JOIN",
        Level.MUST,
        "FENCED_INSTANCE_ID as the answer to a JoinGroup is fatal, and the user is told so that a "
        "program can't miss it.",
        _JOIN_LOGIC,
        provoked="another process takes the instance id while the member has to join again",
        judged="an error with this code that is raised, returned or handed to a callback",
        part="CLIENT-FENCED-TOLD",
    ),
    Obligation(
        "CLIENT-FENCED-SYNC",
        Level.MUST,
        "FENCED_INSTANCE_ID as the answer to a SyncGroup is fatal, and the user is told so that a "
        "program can't miss it.",
        _JOIN_LOGIC,
        provoked="a SyncGroup is answered FENCED_INSTANCE_ID",
        judged="an error with this code that is raised, returned or handed to a callback",
        part="CLIENT-FENCED-TOLD",
    ),
    Obligation(
        "CLIENT-FENCED-HEARTBEAT",
        Level.MUST,
        "FENCED_INSTANCE_ID as the answer to a Heartbeat is fatal, and the user is told so that a "
        "program can't miss it.",
        _JOIN_LOGIC,
        provoked="another process takes the instance id in a stable group",
        judged="an error with this code that is raised, returned or handed to a callback",
        part="CLIENT-FENCED-TOLD",
    ),
    Obligation(
        "CLIENT-FENCED-COMMIT",
        Level.MUST,
        "FENCED_INSTANCE_ID as the answer to an OffsetCommit is fatal, and the user is told: the "
        "commit fails with this error.",
        _JOIN_LOGIC,
        provoked="an OffsetCommit that the user asked for is answered FENCED_INSTANCE_ID",
        judged="the commit's own error, or another that the user is told",
        part="CLIENT-FENCED-TOLD",
    ),
    Obligation(
        "CLIENT-FENCED-NO-JOIN",
        Level.MUST,
        "A member that was fenced doesn't join by itself with an empty member id: that would fence "
        "the other.",
        _JOIN_LOGIC,
        provoked="another process takes the instance id in a stable group",
        judged="no JoinGroup of the fenced consumer with an empty member id follows, until its "
        "user polls on",
        part="CLIENT-FENCED-NO-JOIN",
    ),
    Obligation(
        "CLIENT-FENCED-QUIET",
        Level.SHOULD,
        "A member that was fenced sends nothing more by itself to its group, not with its old "
        "member id either.",
        _JOIN_LOGIC,
        provoked="another process takes the instance id in a stable group",
        judged="no JoinGroup, SyncGroup, Heartbeat or OffsetCommit of the fenced consumer follows, "
        "until its user does something",
        part="CLIENT-FENCED-NO-COMMITS",
        dispute="What is sent with the old member id is refused each time, so the other process "
        "loses nothing, and no promise of the KIP is broken: not a MUST.  The KIP asks that the "
        "client fails itself immediately; one that asks on and on hasn't, and a user who looks at "
        "its requests takes it for a member.",
    ),
    Obligation(
        "CLIENT-FENCED-NO-RECORDS",
        Level.MUST,
        "Once the user was told, no more records are delivered: the other has these partitions.",
        _JOIN_LOGIC,
        provoked="another process takes the instance id while records are produced",
        judged="no records after the error, beyond those of the call that told it",
        part="CLIENT-FENCED-NO-RECORDS",
    ),
    Obligation(
        "CLIENT-FENCED-NO-COMMITS",
        Level.MUST,
        "A member that was fenced commits nothing that counts, least of all as nobody's member.",
        _JOIN_LOGIC,
        provoked="another process takes the instance id; then the user polls on and closes",
        judged="no OffsetCommit of the fenced consumer is accepted after it was told",
        part="CLIENT-FENCED-NO-COMMITS",
    ),
    Obligation(
        "CLIENT-FENCED-LATE-COMMIT",
        Level.MUST,
        "The commit of a member that was replaced doesn't count, and isn't made to count by "
        "joining again.",
        _JOIN_LOGIC,
        provoked="another process takes the instance id; then the user of the first one commits, "
        "before it knows",
        judged="no OffsetCommit of the consumer that was replaced is accepted",
        part="CLIENT-FENCED-NO-COMMITS",
    ),
    Obligation(
        "CLIENT-FENCED-POLLED-ON",
        Level.SHOULD,
        "A user who polls on in spite of it is told again, or gets nothing; the member stays out.",
        _JOIN_LOGIC,
        provoked="the user of a fenced member polls on",
        judged="what the user is told, and that no JoinGroup follows",
        part="CLIENT-FENCED-NO-JOIN",
    ),
    Obligation(
        "CLIENT-FENCED-TAKEOVERS",
        Level.MUST,
        "Two processes with one instance id don't take it from each other for ever: the second one "
        "has it, and the first one is out.",
        _JOIN_LOGIC,
        provoked="a second process is started with the instance id of a running one",
        judged="how often the holder of the instance id changes: once",
        part="CLIENT-FENCED-NO-JOIN",
    ),
)

REMOVED = (
    Obligation(
        "CLIENT-REMOVED-COMES-BACK",
        Level.MUST,
        "A static member that an administrator removed comes back as a new one, with its instance "
        "id and an empty member id.",
        "KIP-345, Leave Group Logic Change",
        provoked="an administrator removes the member by its instance id",
        judged="the next JoinGroup, and that the user has partitions again",
        part="CLIENT-REMOVED-COMES-BACK",
    ),
    Obligation(
        "CLIENT-REMOVED-EXPIRED",
        Level.MUST,
        "A static member whose session ended comes back as a new one, with its instance id and an "
        "empty member id.",
        "KIP-345, Rolling Bounce",
        provoked="the session of the member ends at the coordinator",
        judged="the next JoinGroup, and that the user has partitions again",
        part="CLIENT-REMOVED-COMES-BACK",
    ),
    Obligation(
        "CLIENT-REMOVED-NO-COMMITS",
        Level.MUST,
        "A member that was removed commits nothing as nobody's member until it is back: that would "
        "not be fenced.",
        "KIP-345, Join Group Logic Change, on OffsetCommit",
        provoked="an administrator removes the member while it reads records",
        judged="no OffsetCommit without member id and generation is sent until it is back",
        part="CLIENT-REMOVED-NO-COMMITS",
    ),
    Obligation(
        "CLIENT-REMOVED-TOLD",
        Level.SHOULD,
        "The user of a member that was removed is told that its partitions are lost before it gets "
        "new ones.",
        "KIP-429, onPartitionsLost",
        provoked="an administrator removes the member",
        judged="a revoked or lost event lies between the two assignments",
        part="CLIENT-REMOVED-COMES-BACK",
    ),
)

OLD_BROKER = (
    Obligation(
        "CLIENT-OLD-BROKER-NOT-TWICE",
        Level.SHOULD,
        "At a broker without JoinGroup 5 two processes with one instance id never both work in "
        "silence: they are refused, or join as dynamic members and their users are told.",
        "Kafka's own client, which joins nothing there; KIP-345 is silent",
        provoked="two processes with one instance id start at a broker of Kafka 2.2",
        judged="of the users that have partitions there, all but one were told something",
        part="CLIENT-OLD-BROKER-TOLD",
        dispute="KIP-345 asks for old versions at old brokers, but only for joins without an "
        "instance id; of static members it says no more than that brokers are upgraded first.  "
        "Joined as dynamic members, the two have different partitions, and nothing is read twice: "
        "not a MUST.  But an option was set and is not in force, and the copied id that it "
        "would have shown is never found.",
    ),
    Obligation(
        "CLIENT-OLD-BROKER-TOLD",
        Level.SHOULD,
        "The user of a static member is told clearly that the broker has no static members.",
        "Kafka's own client, which raises UnsupportedVersionException; KIP-345 is silent",
        provoked="a static member starts at a broker of Kafka 2.2",
        judged="an error that is raised, returned or handed to a callback",
        part="CLIENT-OLD-BROKER-TOLD",
        dispute="The sentence on UNSUPPORTED_VERSION in the KIP is about its administration tool, "
        "so the KIP doesn't ask for it: not a MUST.  But a user who isn't told relies on restarts "
        "without a rebalance, and doesn't get them.",
    ),
    Obligation(
        "CLIENT-OLD-BROKER-RESTARTED",
        Level.SHOULD,
        "When a broker comes back as an older release, the member asks for its versions again, and "
        "uses none that it doesn't know.",
        "KIP-35, ApiVersions after each connection",
        provoked="the broker is restarted as Kafka 2.3 while a static member runs",
        judged="no request has a version above the broker's after the new connection's ApiVersions",
        part="CLIENT-IDENTITY-VERSIONS",
    ),
)


LEADER = (
    Obligation(
        "CLIENT-LEADER-MEMBERS",
        Level.SHOULD,
        "The assignment names all members of the answer to the JoinGroup, and nobody else.",
        "Kafka's protocol guide, SyncGroup",
        provoked="three members join, one of them restarted with a new member id",
        judged="the member ids in the leader's SyncGroup",
        part="CLIENT-LEADER-MEMBERS",
    ),
    Obligation(
        "CLIENT-LEADER-ONCE",
        Level.MUST,
        "No partition is assigned to two members.",
        "KIP-345, Background of Consumer Rebalance",
        provoked="members join and go, with each assignor that the library has",
        judged="the partitions in the leader's SyncGroup",
        part="CLIENT-LEADER-PARTITIONS",
    ),
    Obligation(
        "CLIENT-LEADER-WHOLE",
        Level.SHOULD,
        "Every partition of the topics is assigned; with a cooperative assignor, those that move "
        "may wait for the next generation.",
        "KIP-345, Background of Consumer Rebalance",
        provoked="members join and go, with each assignor that the library has",
        judged="the partitions in the leader's SyncGroup",
        part="CLIENT-LEADER-PARTITIONS",
    ),
    Obligation(
        "CLIENT-LEADER-INSTANCES",
        Level.SHOULD,
        "Members are told apart by their instance ids: after a restart, a later rebalance gives "
        "each instance the partitions that it had.",
        "KIP-345, Client Behavior Changes, the example of A, B and C",
        provoked="a member restarts, and then the group is made to rebalance",
        judged="the partitions of each instance before and after",
        part="CLIENT-LEADER-MEMBERS",
    ),
    Obligation(
        "CLIENT-LEADER-COOPERATIVE",
        Level.MUST,
        "With a cooperative assignor a partition is given to another member only when the one that "
        "had it has revoked it, and joined again.",
        "KIP-429",
        provoked="a member joins a group that is stable",
        judged="who claims a partition in the JoinGroup requests, whom the leader gives it, "
        "when users were told, and that a JoinGroup follows what is revoked",
        part="CLIENT-LEADER-COOPERATIVE",
    ),
)


_ROWS = (
    *IDENTITY,
    *JOIN,
    *CLOSE,
    *FENCED,
    *REMOVED,
    *RESTART,
    *LEADER,
    *SESSION,
    *OLD_BROKER,
    *STREAMS,
)

OBLIGATIONS = {row.id: row for row in _ROWS}
"""All obligations by id, in the table's order."""


class UnknownObligationError(BadInputError):
    """No obligation has such an id.  `str()` names one that is near."""


def find_obligation(name: str) -> Obligation:
    """The obligation of this id.  Raises UnknownObligationError."""
    found = OBLIGATIONS.get(name)
    if found is None:
        raise UnknownObligationError(
            f"no obligation is called {name}{did_you_mean(name, list(OBLIGATIONS))}"
        )
    return found


def in_area(area: str) -> tuple[Obligation, ...]:
    """The obligations of an area of `AREAS`, in order."""
    return tuple(row for row in _ROWS if row.area == area)
