"""List the situations of the consumer protocol that were measured, each with the case that asks it.

The page about them is made by `consumer_rows_page`.  The ids are those of the measurements.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """A measured situation.

    `case`: the id of the case that asks it; `step`: the number of the answer in the case, as
    `fencepost explain` counts.
    """

    id: str
    about: str
    case: str
    step: int


_FULL = "CG-JOIN-GROUP-FULL/second-process-in-a-full-group"
_WRONG_FULL = "CG-BEAT-GROUP-FULL/wrong-id-in-a-full-group"
_UNKNOWN_FULL = "CG-BEAT-GROUP-FULL/unknown-member-of-a-full-group"
_LIVE = "CG-JOIN-UNRELEASED/second-process-of-a-live-member"
_AGAIN = "CG-JOIN-AGAIN-UNRELEASED/lost-answer-to-the-first-join"
_DANGLING = "CG-JOIN-CHANGE-INSTANCE/old-instance-of-a-member-that-left"
_ZOMBIE_BEATS = "CG-BEAT-INSTANCE-FENCED/zombie-beats"
_RELEASED_BEATS = "CG-BEAT-EPOCH-NEWER/heartbeat-of-a-released-member"
_REMOVED = "CG-BEAT-INSTANCE-UNMAPPED/removed-member-beats"
_REPLACED = "CG-BEAT-INSTANCE-FENCED/removed-and-replaced-member-beats"
_LEAVES_FOR = "CG-LEAVE-INSTANCE-FENCED/another-member-leaves-for-it"
_OTHERS_INSTANCE = "CG-LEAVE-INSTANCE-UNMAPPED/unmapped-instance"
_OLDER = "CG-COMMIT-EPOCH-OLDER/commit-with-an-older-epoch"
_RETURNED = "CG-COMMIT-EPOCH-OLDER/commit-after-a-return"
_RELEASED_COMMITS = "CG-COMMIT-RELEASED/released-member-commits"
_FETCHES = "CG-FETCH-MEMBER/fetch-with-another-epoch"
_EXPIRES = "CG-SESSION-EXPIRED-RELEASED/release-prolongs-no-session"
_NO_REVOCATION = "CG-REBALANCE-EXPIRED/partitions-are-not-given-up"

ROWS = (
    # checks
    Row("C1-join", "join without member id", "CG-JOIN-ID-MISSING/join-without-id", 1),
    Row("C1-beat", "heartbeat without member id", "CG-BEAT-ID-MISSING/heartbeat-without-id", 3),
    Row(
        "C1-leave",
        "leave for good without member id, version 0",
        "CG-LEAVE-ID-MISSING-LEGACY/leave-for-good-without-id",
        2,
    ),
    Row("C1-release", "-2 without member id", "CG-LEAVE-ID-MISSING/leave-without-id", 3),
    Row("C2-group", "empty group id", "CG-JOIN-GROUP-ID-INVALID/empty-group-id", 1),
    Row("C2-instance", "empty instance id", "CG-JOIN-ID-BLANK/blank-instance-or-rack", 1),
    Row("C2-rack", "empty rack id", "CG-JOIN-ID-BLANK/blank-instance-or-rack", 2),
    Row(
        "C3-timeout",
        "join without rebalance timeout",
        "CG-JOIN-FIELDS-MISSING/incomplete-join",
        1,
    ),
    Row(
        "C3-owned-null",
        "join without the list of owned partitions",
        "CG-JOIN-FIELDS-MISSING/incomplete-join",
        2,
    ),
    Row("C3-owned", "join that owns partitions", "CG-JOIN-FIELDS-MISSING/incomplete-join", 3),
    Row("C3-topics", "join without subscription", "CG-JOIN-FIELDS-MISSING/no-subscription", 1),
    Row("C4-bare", "-2 without instance", "CG-LEAVE-RELEASE-BARE/release-without-instance", 6),
    Row("C4-below", "epoch below -2", "CG-LEAVE-EPOCH-INVALID/epoch-below-minus-2", 2),
    Row("C5-absent", "join with unknown assignor", "CG-JOIN-ASSIGNOR-UNKNOWN/unknown-assignor", 1),
    Row(
        "C5-unknown",
        "unknown assignor and unknown member",
        "CG-BEAT-ASSIGNOR-UNKNOWN/unknown-assignor",
        3,
    ),
    Row("C6-beat", "heartbeat to an absent group", "CG-BEAT-GROUP-ABSENT/absent-group", 1),
    Row("C6-leave", "leave from an absent group", "CG-BEAT-GROUP-ABSENT/absent-group", 2),
    Row("C6-release", "-2 to an absent group", "CG-BEAT-GROUP-ABSENT/absent-group", 3),
    Row(
        "C8-new",
        "dynamic newcomer in a full group",
        "CG-JOIN-GROUP-FULL/newcomer-in-a-full-group",
        6,
    ),
    Row(
        "C8-unmapped",
        "static newcomer in a full group",
        "CG-JOIN-GROUP-FULL/newcomer-in-a-full-group",
        7,
    ),
    Row("C8-live", "second process of a live member in a full group", _FULL, 7),
    Row("C8-released", "next process of a released member in a full group", _FULL, 9),
    Row(
        "C8-released-itself",
        "released member of a full group under its own id",
        "CG-JOIN-RETURN-SELF/return-under-its-id-in-a-full-group",
        7,
    ),
    Row(
        "C8-known-new-instance",
        "member of a full group with a new instance",
        "CG-JOIN-CHANGE-INSTANCE/new-instance-in-a-full-group",
        6,
    ),
    Row("C8-zombie", "heartbeat of a wrong id with a mapped instance, full group", _WRONG_FULL, 6),
    Row("C8-unknown", "heartbeat of an unknown id, full group", _UNKNOWN_FULL, 6),
    Row(
        "C8-unknown-unmapped",
        "heartbeat of an unknown id with an unmapped instance, full group",
        _UNKNOWN_FULL,
        7,
    ),
    Row("C8-leave", "leave of an unknown id, full group", _UNKNOWN_FULL, 8),
    # joins
    Row(
        "J1-v0",
        "dynamic newcomer without id, version 0",
        "CG-JOIN-DYNAMIC-NEW/dynamic-member-without-id",
        2,
    ),
    Row("J1-v1", "dynamic newcomer", "CG-JOIN-DYNAMIC-NEW/first-dynamic-member", 1),
    Row(
        "J2-empty",
        "static newcomer without id, version 0",
        "CG-JOIN-STATIC-NEW/static-member-without-id",
        1,
    ),
    Row("J2", "static newcomer", "CG-JOIN-STATIC-NEW/second-static-member", 2),
    Row("J3", "second process of a live member", _LIVE, 6),
    Row(
        "J3-empty",
        "second process of a live member without id, version 0",
        "CG-JOIN-UNRELEASED/second-process-without-id",
        2,
    ),
    Row("J4", "next process of a released member", "CG-JOIN-RETURN/restart", 8),
    Row(
        "J4-empty",
        "next process of a released member without id, version 0",
        "CG-JOIN-RETURN/restart-without-id",
        7,
    ),
    Row(
        "J4-subscription",
        "next process of a released member with other topics",
        "CG-JOIN-RETURN-CHANGED/restart-with-another-subscription",
        7,
    ),
    Row(
        "J4-client-rack",
        "next process of a released member in another rack",
        "CG-JOIN-RETURN/restart-with-another-rack",
        7,
    ),
    Row(
        "J4-assignor",
        "next process of a released member with another assignor: the epochs",
        "CG-JOIN-RETURN/restart-with-another-assignor",
        5,
    ),
    Row("J5", "first join sent again", _AGAIN, 2),
    Row(
        "J5-lost",
        "fenced member joins with its id",
        "CG-JOIN-AGAIN-UNRELEASED/fenced-member-joins-again",
        7,
    ),
    Row(
        "J5-subscription",
        "join sent again with other topics",
        "CG-JOIN-AGAIN-UNRELEASED/lost-answer-and-other-topics-of-a-join",
        2,
    ),
    Row("J6", "released member under its own id", "CG-JOIN-RETURN-SELF/return-under-its-id", 7),
    Row(
        "J7",
        "live static member joins by its id alone",
        "CG-JOIN-REJOIN/static-member-joins-without-instance",
        6,
    ),
    Row(
        "J7-first",
        "dynamic member joins again after its first join",
        "CG-JOIN-REJOIN/dynamic-member-joins-again",
        2,
    ),
    Row(
        "J8",
        "released member joins by its id alone",
        "CG-JOIN-RESUME/released-member-joins-without-instance",
        7,
    ),
    Row(
        "J9",
        "dynamic member brings an unmapped instance",
        "CG-JOIN-BECOME-STATIC/dynamic-member-becomes-static",
        6,
    ),
    Row(
        "J10",
        "static member brings an unmapped instance",
        "CG-JOIN-CHANGE-INSTANCE/static-member-changes-its-instance",
        6,
    ),
    Row(
        "J10-dead",
        "somebody brings the instance that a live member had before",
        "CG-JOIN-CHANGE-INSTANCE/static-member-changes-its-instance",
        8,
    ),
    Row(
        "J10-back",
        "member wants its old instance back",
        "CG-JOIN-CHANGE-INSTANCE/way-back-to-the-old-instance",
        3,
    ),
    Row("J10-gone", "somebody brings the old instance of a member that left", _DANGLING, 4),
    Row(
        "J10-gone-removal",
        "an administrator removes the old instance of a member that left",
        "CG-REMOVE-INSTANCE-DANGLING/removal-of-an-instance-that-is-gone",
        8,
    ),
    Row(
        "J10-subscription",
        "static member brings an unmapped instance and other topics",
        "CG-JOIN-CHANGE-INSTANCE-CHANGED/other-instance-and-other-topics",
        2,
    ),
    Row(
        "J11-static",
        "static member brings a released instance",
        "CG-JOIN-COPY/member-brings-a-released-instance",
        7,
    ),
    Row(
        "J11-ownerless",
        "static member brings a released instance: its old partitions",
        "CG-JOIN-COPY/member-brings-a-released-instance",
        9,
    ),
    Row(
        "J11-subscription",
        "static member brings a released instance and other topics",
        "CG-JOIN-COPY-CHANGED/copy-with-other-topics",
        7,
    ),
    Row(
        "J11-due",
        "static member brings a released instance while a target is due: its old partitions",
        "CG-JOIN-COPY/copy-after-a-leave",
        11,
    ),
    Row(
        "J11-dynamic",
        "dynamic member brings a released instance",
        "CG-JOIN-COPY/dynamic-member-brings-a-released-instance",
        7,
    ),
    Row(
        "J11-swap",
        "two released members swap their instances: the second",
        "CG-JOIN-COPY/two-released-members-swap-instances",
        9,
    ),
    Row("J13", "process after its session ended", "CG-SESSION-EXPIRED/return-after-expiry", 11),
    Row(
        "J14",
        "replaced process joins with its instance",
        "CG-JOIN-UNRELEASED/zombie-joins-again",
        8,
    ),
    Row(
        "J15",
        "replaced process joins by its id alone",
        "CG-JOIN-DYNAMIC-NEW/replaced-id-joins-without-instance",
        8,
    ),
    Row(
        "J16-retry",
        "join of a restarted process sent again",
        "CG-JOIN-AGAIN-UNRELEASED/lost-answer-to-a-return",
        8,
    ),
    Row(
        "J16-second",
        "second newcomer after one -2",
        "CG-JOIN-UNRELEASED/two-newcomers-after-one-release",
        8,
    ),
    Row(
        "J17",
        "member with partitions to give up brings an unmapped instance",
        "CG-JOIN-TARGET-LOST/other-instance-while-reconciling",
        5,
    ),
    Row(
        "J17-target",
        "member with partitions to give up brings an unmapped instance: its target",
        "CG-JOIN-TARGET-LOST/other-instance-while-reconciling",
        6,
    ),
    Row(
        "J17-subscription",
        "the same with other topics",
        "CG-JOIN-TARGET-LOST-CHANGED/other-instance-and-topics-while-reconciling",
        4,
    ),
    Row(
        "J18",
        "dynamic member brings a live instance",
        "CG-JOIN-UNRELEASED/dynamic-member-brings-a-live-instance",
        6,
    ),
    # heartbeats
    Row("H1", "heartbeat", "CG-BEAT-ALIVE/full-heartbeat", 3),
    Row("H1-no-instance", "heartbeat without instance", "CG-BEAT-ALIVE/without-instance", 6),
    Row("H1-subscription", "heartbeat with other topics", "CG-BEAT-ALIVE-CHANGED/another-topic", 6),
    Row("H1-assignor", "heartbeat with another assignor", "CG-BEAT-ALIVE/another-assignor", 5),
    Row("H2", "replaced process", _ZOMBIE_BEATS, 8),
    Row("H2-newer", "replaced process with any epoch", _ZOMBIE_BEATS, 9),
    Row(
        "H2-released",
        "wrong id with the instance of a released member",
        "CG-BEAT-INSTANCE-FENCED/wrong-id-of-a-live-member",
        9,
    ),
    Row(
        "H3",
        "unknown id with an unmapped instance",
        "CG-BEAT-INSTANCE-UNMAPPED/unmapped-instance",
        6,
    ),
    Row(
        "H3-live",
        "live member with an unmapped instance",
        "CG-BEAT-INSTANCE-UNMAPPED/unmapped-instance",
        7,
    ),
    Row("H4", "unknown id", "CG-BEAT-UNKNOWN-MEMBER/unknown-member", 2),
    Row("H5", "newer epoch", "CG-BEAT-EPOCH-NEWER/newer-epoch", 6),
    Row(
        "H6",
        "heartbeat sent again with the previous epoch",
        "CG-BEAT-REPEATED/lost-answer-with-a-new-epoch",
        5,
    ),
    Row(
        "H6-nothing",
        "the same, owning nothing",
        "CG-BEAT-REPEATED/lost-answer-and-nothing-owned",
        5,
    ),
    Row(
        "H7-null",
        "previous epoch without the list of owned partitions",
        "CG-BEAT-EPOCH-PREVIOUS/previous-epoch-without-partitions",
        5,
    ),
    Row(
        "H7-more",
        "previous epoch with more partitions than assigned",
        "CG-BEAT-EPOCH-PREVIOUS/previous-epoch-with-more-partitions",
        5,
    ),
    Row("H8", "older epoch", "CG-BEAT-EPOCH-OLDER/older-epoch", 12),
    Row(
        "H8-replaced",
        "older epoch after a return",
        "CG-BEAT-EPOCH-OLDER/older-epoch-after-a-return",
        8,
    ),
    Row("H9", "released member", _RELEASED_BEATS, 7),
    Row("H9-no-instance", "released member without instance", _RELEASED_BEATS, 8),
    Row("H11", "removed member", _REMOVED, 7),
    Row("H11-alone", "removed member without instance", _REMOVED, 8),
    Row("H12", "removed and replaced member", _REPLACED, 8),
    Row("H12-alone", "removed and replaced member without instance", _REPLACED, 9),
    # leaves
    Row("L1", "-2", "CG-LEAVE-RELEASE/release", 6),
    Row("L1-revoking", "-2 while it gives up", "CG-LEAVE-RELEASE/release-while-giving-up", 6),
    Row("L2", "-2 again", "CG-LEAVE-RELEASE-AGAIN/release-again", 7),
    Row("L3-good", "-1 of a wrong id with a mapped instance", _LEAVES_FOR, 6),
    Row("L3-while", "-2 of a wrong id with a mapped instance", _LEAVES_FOR, 7),
    Row("L3-member", "-2 of another member with a mapped instance", _LEAVES_FOR, 8),
    Row(
        "L3-empty",
        "-2 without id, version 0",
        "CG-LEAVE-INSTANCE-FENCED/release-without-id",
        2,
    ),
    Row("L4-good", "-1 with an unmapped instance", _OTHERS_INSTANCE, 6),
    Row("L4-while", "-2 with an unmapped instance", _OTHERS_INSTANCE, 7),
    Row("L4-dynamic", "-2 of a dynamic member", _OTHERS_INSTANCE, 8),
    Row("L4-alone", "-1 of an unknown id", "CG-LEAVE-UNKNOWN-MEMBER/unknown-member", 2),
    Row("L5", "-1", "CG-LEAVE-FOR-GOOD/leave-for-good", 6),
    Row("L5-alone", "-1 by the id alone", "CG-LEAVE-FOR-GOOD/leave-for-good-by-its-id", 6),
    Row("L5-released", "-1 after -2", "CG-LEAVE-FOR-GOOD/leave-for-good-after-a-release", 7),
    Row(
        "L6",
        "-1 of a member that is behind",
        "CG-LEAVE-FOR-GOOD/leave-while-others-reconcile",
        7,
    ),
    # offsets
    Row("O1", "commit", "CG-COMMIT-MEMBER/commit-with-the-current-epoch", 6),
    Row(
        "O1-wrong-instance",
        "commit with another's instance",
        "CG-COMMIT-INSTANCE-IGNORED/commit-with-a-wrong-instance",
        6,
    ),
    Row(
        "O1-unmapped-instance",
        "commit with an unmapped instance",
        "CG-COMMIT-INSTANCE-IGNORED/commit-with-a-wrong-instance",
        7,
    ),
    Row(
        "O2",
        "commit with a newer epoch",
        "CG-COMMIT-EPOCH-NEWER/commit-with-a-newer-epoch",
        2,
    ),
    Row(
        "O3-anothers",
        "commit with an older epoch for partitions that left",
        _OLDER,
        12,
    ),
    Row(
        "O3-held",
        "commit with an older epoch for partitions that stay",
        "CG-COMMIT-EPOCH-OLDER/commit-with-an-older-epoch",
        5,
    ),
    Row(
        "O3-before",
        "commit with an epoch before the assignment",
        "CG-COMMIT-EPOCH-OLDER/commit-before-the-assignment",
        7,
    ),
    Row("O3-returned", "commit with epoch 0 after a return", _RETURNED, 8),
    Row("O3-returned-negative", "commit with epoch -1 after a return", _RETURNED, 12),
    Row("O4", "commit of a replaced id", "CG-COMMIT-UNKNOWN-MEMBER/zombie-commits", 8),
    Row(
        "O4-released",
        "commit of a replaced id with epoch -2",
        "CG-COMMIT-UNKNOWN-MEMBER/zombie-commits",
        9,
    ),
    Row("O5-old", "commit of a released member with its last epoch", _RELEASED_COMMITS, 7),
    Row("O5-none", "commit of a released member with epoch -1", _RELEASED_COMMITS, 8),
    Row("O5", "commit of a released member with epoch -2", _RELEASED_COMMITS, 9),
    Row("O6", "commit below version 9", "CG-COMMIT-VERSION/commit-below-version-9", 2),
    Row(
        "O7",
        "commit of nobody while a released member is there",
        "CG-COMMIT-UNKNOWN-MEMBER/commit-without-member",
        4,
    ),
    Row(
        "O7-empty",
        "commit of nobody to an Empty group",
        "CG-COMMIT-EMPTY-GROUP/commit-to-an-empty-group",
        3,
    ),
    Row("O8", "fetch", _FETCHES, 5),
    Row("O8-newer", "fetch with a newer epoch", _FETCHES, 6),
    Row("O8-older", "fetch with an older epoch", _FETCHES, 7),
    Row("O8-unknown", "fetch of an unknown id", "CG-FETCH-UNKNOWN-MEMBER/fetch-by-a-stranger", 2),
    Row("O8-anybody", "fetch of nobody", "CG-FETCH-ANYBODY/fetch-without-member", 3),
    Row("O9", "transaction of nobody", "CG-TXN-COMMIT-ANONYMOUS/transaction-of-nobody", 2),
    Row(
        "O9-instance",
        "transaction with another's instance",
        "CG-TXN-COMMIT-INSTANCE-IGNORED/transaction-with-a-wrong-instance",
        6,
    ),
    Row(
        "O9-unmapped-instance",
        "transaction with an unmapped instance",
        "CG-TXN-COMMIT-INSTANCE-IGNORED/transaction-with-an-unmapped-instance",
        2,
    ),
    Row(
        "O9-released",
        "transaction of a released member with epoch -2",
        "CG-TXN-COMMIT-RELEASED/transaction-of-a-released-member",
        7,
    ),
    Row(
        "O9-older",
        "transaction with an older epoch for partitions that stay",
        "CG-TXN-COMMIT-PARTITION-HELD/transaction-for-partitions-that-stay",
        4,
    ),
    Row(
        "O9-older-anothers",
        "transaction with an older epoch, also for partitions that left",
        "CG-TXN-COMMIT-EPOCH-OLDER/transaction-with-an-older-epoch",
        5,
    ),
    Row(
        "O9-newer",
        "transaction with a newer epoch",
        "CG-TXN-COMMIT-EPOCH-NEWER/transaction-with-a-newer-epoch",
        2,
    ),
    Row(
        "O9-unknown",
        "transaction of a replaced id",
        "CG-TXN-COMMIT-UNKNOWN-MEMBER/transaction-of-a-zombie",
        8,
    ),
    # timers
    Row(
        "T1",
        "second process just before the session of a silent member ends",
        "CG-JOIN-UNRELEASED/refused-until-the-session-ends",
        3,
    ),
    Row(
        "T1-over",
        "second process just after it",
        "CG-JOIN-UNRELEASED/refused-until-the-session-ends",
        5,
    ),
    Row(
        "T1-errors",
        "heartbeat after a session in which all others failed",
        "CG-SESSION-EXPIRED/errors-restart-no-timer",
        5,
    ),
    Row("T2", "-2 again, one session after the last heartbeat", _EXPIRES, 13),
    Row("T3", "others after a released member expired", _EXPIRES, 12),
    Row(
        "T4",
        "others while a released member is away",
        "CG-LEAVE-RELEASE/others-wait-for-a-released-member",
        9,
    ),
    Row("T5", "heartbeat of a member that gave nothing up within R", _NO_REVOCATION, 5),
    # epochs, failover, administration
    Row("E1", "first epoch of a group", "CG-DESCRIBE-GROUP/epochs-of-a-new-group", 2),
    Row(
        "E1-idle",
        "member that subscribes to nothing joins while a target is due",
        "CG-JOIN-DYNAMIC-NEW-IDLE/empty-subscription-after-a-leave",
        5,
    ),
    Row("E2", "epochs of an Empty group", "CG-DESCRIBE-GROUP/epochs-of-an-empty-group", 3),
    Row(
        "F1",
        "second process of a live member after a failover",
        "CG-FAILOVER-GROUP/live-member-after-a-failover",
        9,
    ),
    Row(
        "F2",
        "next process of a member that was released before a failover",
        "CG-FAILOVER-GROUP/sessions-begin-anew-after-a-failover",
        11,
    ),
    Row(
        "F4",
        "others after a failover, R later: a member was released while it gave up",
        "CG-REBALANCE-EXPIRED-RELEASED/released-while-giving-up-before-a-failover",
        8,
    ),
    Row(
        "F5",
        "somebody brings the old instance of a live member after a failover",
        "CG-FAILOVER-GROUP/changed-instance-after-a-failover",
        5,
    ),
    Row(
        "A1-instance",
        "removal by instance",
        "CG-REMOVE-BY-INSTANCE/removal-by-instance",
        6,
    ),
    Row(
        "A1-released",
        "removal of a released member",
        "CG-REMOVE-BY-INSTANCE/removal-of-a-released-member",
        7,
    ),
    Row(
        "A1-wrong-id",
        "removal with a wrong id",
        "CG-REMOVE-INSTANCE-FENCED/removal-with-a-wrong-id",
        6,
    ),
    Row(
        "A1-unmapped",
        "removal of an unmapped instance",
        "CG-REMOVE-INSTANCE-UNMAPPED/removal-of-an-unmapped-instance",
        2,
    ),
    Row("A1-id", "removal by member id", "CG-REMOVE-MEMBER/removal-by-id", 6),
    Row("A1-batch", "removal of several", "CG-REMOVE-ROWS/removal-of-several", 12),
    Row(
        "A2",
        "deletion of a group with a released member alone",
        "CG-DELETE-MEMBERS/deletion-of-a-group-with-a-released-member",
        4,
    ),
    Row(
        "A3",
        "description of a released member",
        "CG-DESCRIBE-GROUP/description-of-a-released-member",
        7,
    ),
    Row("A4", "DescribeGroups", "CG-DESCRIBE-CLASSIC/description-as-a-classic-group", 2),
    Row(
        "A5",
        "description of a member with partitions to give up",
        "CG-DESCRIBE-GROUP/description-while-partitions-move",
        5,
    ),
    Row(
        "B1",
        "next process of a released member with other topics, within the assignment interval",
        "CG-JOIN-RETURN-CHANGED/restart-within-the-interval",
        3,
    ),
)
