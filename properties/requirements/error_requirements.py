"""Obligations of a member that is told of an error, or that another takes the place of."""

from __future__ import annotations

from fencepost.model.table.table import Level
from fencepost.properties.requirements.requirement import Obligation

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
