"""List the situations of groups with classic members that were measured, each with its case.

The page about them is made by `consumer_rows_page`.  The ids are those of the measurements.
"""

from __future__ import annotations

from tools.docs.consumer_rows import Row

_OF_CLASSIC = "CG-BEAT-GROUP-ABSENT/heartbeats-in-a-classic-group"
_RELEASED = "CG-LEAVE-RELEASE/release-of-a-classic-member"
_COMMITS = "MG-COMMIT/commits-of-a-classic-member"
_FETCHES = "MG-FETCH/fetches-of-a-classic-member"
_WRONG_REMOVALS = "CG-REMOVE-INSTANCE-FENCED/wrong-removals-of-a-classic-member"
_UPGRADED = "MG-UPGRADE/upgrade-by-a-restarted-member"
_LIVE = "MG-JOIN-REPLACE/classic-process-replaces-a-live-member"
_RETURN = "MG-DOWNGRADE-REPLACED/downgrade-by-a-return"
_CHANGED = "MG-DOWNGRADE-CHANGED/downgrade-with-another-subscription"
_ANOTHER = "MG-JOIN-REPLACE/classic-process-replaces-another"
_ALONE = "MG-HEARTBEAT-UNKNOWN-MEMBER/replaced-id-without-instance"
_CONSUMER = "MG-SYNC-CONSUMER-MEMBER/requests-of-a-consumer-member"
_FULL = "MG-JOIN-GROUP-FULL/replacement-in-a-full-group"
_DISABLED = "MG-JOIN-POLICY/classic-join-where-migration-is-disabled"
_GENERATION = "MG-SYNC-ILLEGAL-GENERATION/other-generation"
_UNMAPPED = "MG-SYNC-INSTANCE-UNMAPPED/unmapped-instance"
_LEFT = "MG-DOWNGRADE-LEFT/downgrade"
_REFUSED = "MG-UPGRADE-POLICY/upgrade"
_REJOIN = "MG-HEARTBEAT-REJOIN"

ROWS = (
    Row("C6-classic-beat", "heartbeat to a classic group", _OF_CLASSIC, 3),
    Row("C6-classic-leave", "leave from a classic group", _OF_CLASSIC, 4),
    Row("C6-classic-release", "-2 to a classic group", _OF_CLASSIC, 5),
    Row("C7-policy", "upgrade, migration disabled", f"{_REFUSED}-that-is-disabled", 11),
    Row(
        "C7-downgrade",
        "upgrade, policy downgrade",
        f"{_REFUSED}-where-only-downgrades-are-allowed",
        11,
    ),
    Row(
        "C7-type",
        "upgrade of a group of no consumers",
        "MG-UPGRADE-PROTOCOL-TYPE/upgrade-of-other-workers",
        3,
    ),
    Row(
        "C7-size",
        "upgrade of a group that is too large",
        "MG-UPGRADE-SIZE/upgrade-of-a-group-that-is-too-large",
        15,
    ),
    Row(
        "C7-data",
        "upgrade, user data in an assignment",
        "MG-UPGRADE-ASSIGNOR/upgrade-of-a-group-whose-assignor-has-data",
        11,
    ),
    Row(
        "C7-subscription",
        "upgrade, user data in subscriptions alone",
        "MG-UPGRADE/upgrade-of-a-group-whose-subscriptions-have-data",
        11,
    ),
    Row(
        "J12",
        "join with the instance of a classic member",
        "CG-JOIN-TAKE-CLASSIC/consumer-process-replaces-a-classic-member",
        8,
    ),
    Row(
        "H10",
        "heartbeat of a classic member",
        "CG-BEAT-ALIVE/heartbeat-of-the-other-protocol",
        12,
    ),
    Row("L7", "-2 of a classic member", _RELEASED, 8),
    Row("L7-heartbeat", "its next Heartbeat", _RELEASED, 9),
    Row("L8", "Heartbeat after the last other member left", f"{_LEFT}-by-a-leave", 9),
    Row("L8-older", "the same, older generation", f"{_LEFT}-with-an-older-generation", 8),
    Row("O6-classic", "commit below version 9 of a classic member", _COMMITS, 8),
    Row(
        "O6-consumer",
        "commit below version 9 of a member of the consumer protocol",
        "CG-COMMIT-VERSION/commit-of-a-consumer-member-below-9",
        8,
    ),
    Row("O8-classic", "fetch of a classic member", _FETCHES, 8),
    Row("O8-classic-other", "fetch of a classic member, another generation", _FETCHES, 9),
    Row(
        "T6",
        "Heartbeat after a silence of its session",
        "CG-SESSION-EXPIRED/silent-classic-member",
        13,
    ),
    Row(
        "T7-heartbeat",
        "Heartbeat R after a call to rejoin by Heartbeat",
        "MG-JOIN-EXPIRED/call-to-rejoin-is-not-followed",
        11,
    ),
    Row(
        "T7-sync",
        "Heartbeat R after a call to rejoin by SyncGroup",
        "MG-JOIN-EXPIRED/sync-that-calls-to-rejoin-is-not-followed",
        11,
    ),
    Row("T8", "Heartbeat R after a join without sync", "MG-SYNC-EXPIRED/sync-that-never-comes", 8),
    Row(
        "F3",
        "Heartbeat after a failover and a silence of the group's session",
        "CG-FAILOVER-GROUP/session-of-a-classic-member-after-a-failover",
        17,
    ),
    Row(
        "A1-classic-instance",
        "removal of a classic member by instance",
        "CG-REMOVE-BY-INSTANCE/removal-of-a-classic-member",
        8,
    ),
    Row("A1-classic-wrong-id", "the same with a wrong id", _WRONG_REMOVALS, 8),
    Row("A1-classic-unmapped", "the same, unmapped instance", _WRONG_REMOVALS, 9),
    Row(
        "A1-classic-id",
        "removal of a classic member by member id",
        "CG-REMOVE-MEMBER/classic-member-leaves",
        8,
    ),
    Row("A4-classic", "ConsumerGroupDescribe of a classic group", _OF_CLASSIC, 6),
    Row("K1", "join with the instance of a classic group", _UPGRADED, 11),
    Row("K1-others", "Heartbeat of another classic member", _UPGRADED, 13),
    Row("K1-topics", "K1 with another topic", "MG-UPGRADE/upgrade-with-another-subscription", 11),
    Row("K2", "K1 under the holder's own id", "MG-UPGRADE/upgrade-under-the-same-id", 11),
    Row("K3", "JoinGroup, instance of a live member", _LIVE, 6),
    Row("K3-holder", "heartbeat of that member", _LIVE, 9),
    Row(
        "K4",
        "JoinGroup, instance of a released member",
        "MG-JOIN-REPLACE/classic-process-replaces-a-released-member",
        7,
    ),
    Row("K5", "K4, no other member of the consumer protocol", _RETURN, 3),
    Row("K5-id", "heartbeat of the id before", _RETURN, 6),
    Row("K5-topics", "K5 with another topic", _CHANGED, 3),
    Row("K6", "JoinGroup, instance of a classic member", _ANOTHER, 8),
    Row(
        "K7",
        "JoinGroup, unknown id and mapped instance",
        "MG-JOIN-INSTANCE-FENCED/unknown-id-brings-a-mapped-instance",
        8,
    ),
    Row(
        "K8-unmapped",
        "JoinGroup, known id and unmapped instance",
        "MG-JOIN-INSTANCE-UNMAPPED/known-id-brings-an-unmapped-instance",
        8,
    ),
    Row(
        "K8-alone",
        "JoinGroup, a static member's id alone",
        "MG-JOIN-AGAIN/member-joins-again",
        9,
    ),
    Row("K9-heartbeat", "Heartbeat of a replaced id", _ANOTHER, 10),
    Row("K9-sync", "SyncGroup of a replaced id", _ANOTHER, 12),
    Row("K9-heartbeat-alone", "Heartbeat of a replaced id alone", _ALONE, 10),
    Row("K9-sync-alone", "SyncGroup of a replaced id alone", _ALONE, 11),
    Row("K10-generation", "Heartbeat, wrong generation", _GENERATION, 9),
    Row("K10-consumer", "Heartbeat of a member of the consumer protocol", _CONSUMER, 9),
    Row("K10-unmapped", "Heartbeat, unmapped instance", _UNMAPPED, 9),
    Row("K11", "Heartbeat, newer target", f"{_REJOIN}/newer-epoch", 9),
    Row("K11-revoke", "Heartbeat, partitions to give up", f"{_REJOIN}/partitions-to-give-up", 8),
    Row("K11-free", "Heartbeat, free partitions", f"{_REJOIN}/partitions-that-became-free", 8),
    Row(
        "K11-epoch",
        "Heartbeat, newer epoch and no target yet",
        f"{_REJOIN}/newer-epoch-without-a-target",
        15,
    ),
    Row("K11-sync", "SyncGroup, newer target", "MG-SYNC-REJOIN/sync-in-a-newer-epoch", 8),
    Row(
        "K11-sync-epoch",
        "SyncGroup, newer epoch and no target yet",
        "MG-SYNC/sync-in-a-newer-epoch-without-a-target",
        14,
    ),
    Row(
        "K12-new",
        "JoinGroup, new instance, full group",
        "MG-JOIN-GROUP-FULL/newcomers-to-a-full-group",
        8,
    ),
    Row("K12-live", "JoinGroup, instance of a live member, full group", _FULL, 6),
    Row("K13-new", "JoinGroup, new instance, migration disabled", _DISABLED, 6),
    Row("K13-live", "JoinGroup, instance of a live member, migration disabled", _DISABLED, 7),
    Row(
        "K14",
        "JoinGroup, broken subscription",
        "MG-JOIN-SUBSCRIPTION-BROKEN/broken-subscription",
        6,
    ),
)
