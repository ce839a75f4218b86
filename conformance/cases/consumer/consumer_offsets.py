"""Offsets in the consumer protocol: commits, commits in transactions, and fetches, by epoch."""

from __future__ import annotations

from fencepost.conformance.cases.consumer.consumer_script import (
    ALL,
    NOBODY,
    ConsumerScript,
)
from fencepost.model.plans.steps import EpochOf

CASES = ConsumerScript.registry()
case = CASES.case


@case("CG-COMMIT-MEMBER", "CG-FETCH-MEMBER")
def commit_with_the_current_epoch(s: ConsumerScript) -> None:
    """A member commits and fetches with its epoch."""
    s.reconciled("A1", "B1")
    s.commit("A1", instance="A")
    s.fetch("A1")


@case("CG-COMMIT-INSTANCE-IGNORED")
def commit_with_a_wrong_instance(s: ConsumerScript) -> None:
    """The instance in a commit is ignored: that of another member, and an unmapped one."""
    s.reconciled("A1", "B1")
    s.commit("A1", instance="B")
    s.commit("A1", instance="C")
    s.fetch("A1")


@case("CG-COMMIT-EPOCH-NEWER")
def commit_with_a_newer_epoch(s: ConsumerScript) -> None:
    """A commit has an epoch that nobody was given."""
    s.reconciled("A1")
    s.commit("A1", epoch=EpochOf("A1", plus=7))


@case("CG-COMMIT-EPOCH-OLDER", "CG-COMMIT-PARTITION-STALE")
def commit_for_one_stale_partition(s: ConsumerScript) -> None:
    """A commit of an older epoch is refused whole, if one partition wasn't the member's then."""
    s.advanced()
    s.commit("A1", epoch=EpochOf("A1", back=1), parts=ALL)
    s.fetch("A1", parts=ALL)


@case("CG-COMMIT-EPOCH-OLDER")
def commit_with_an_older_epoch(s: ConsumerScript) -> None:
    """A commit of an older epoch counts for partitions that were the member's at that epoch."""
    s.advanced()
    for number in ALL:
        s.commit("A1", epoch=EpochOf("A1", back=1), parts=(number,))
    s.beat("B1")
    for number in ALL:
        s.commit("A1", epoch=EpochOf("A1", back=1), parts=(number,))


def _older_epoch(s: ConsumerScript) -> None:
    """Let the epoch of a member grow, while it keeps all its partitions."""
    s.join("A1")
    s.join("B1", topics=("u",))
    s.beat("A1")


@case("CG-COMMIT-PARTITION-HELD")
def commit_for_partitions_that_stay(s: ConsumerScript) -> None:
    """A member commits with an older epoch for partitions that it has, and is to give up."""
    _older_epoch(s)
    s.commit("A1", epoch=EpochOf("A1", back=1), parts=ALL)
    s.fetch("A1", parts=ALL)
    s.join("C1")
    s.beat("A1")
    for number in ALL:
        s.commit("A1", epoch=EpochOf("A1", back=1), parts=(number,))


@case("CG-COMMIT-EPOCH-OLDER")
def commit_before_the_assignment(s: ConsumerScript) -> None:
    """A commit has an epoch at which the partitions were not yet the member's."""
    s.reconciled("A1", "B1")
    s.commit("A1", epoch=0, parts=ALL)
    s.commit("B1", epoch=EpochOf("A1", back=2), parts=ALL)


@case("CG-COMMIT-EPOCH-OLDER")
def commit_after_a_return(s: ConsumerScript) -> None:
    """After a return each older epoch from 0 on counts for the member's partitions."""
    s.returned("B1")
    for number in ALL:
        s.commit("A2", epoch=0, parts=(number,))
    s.commit("A2", epoch=-1, parts=ALL)


@case("CG-COMMIT-UNKNOWN-MEMBER")
def zombie_commits(s: ConsumerScript) -> None:
    """A replaced process commits, with its old epoch and with -2."""
    s.returned("B1")
    s.commit("A1", instance="A", epoch=EpochOf("A1", back=1))
    s.commit("A1", instance="A", epoch=-2)
    s.commit("x", member_id=NOBODY, epoch=2)


@case("CG-COMMIT-UNKNOWN-MEMBER", "CG-COMMIT-EPOCH-NEWER", "CG-FETCH-MEMBER")
def refused_commits_store_nothing(s: ConsumerScript) -> None:
    """Commits of a replaced process, of nobody and with an epoch of the future store no offset."""
    s.returned("B1")
    s.commit("A1", epoch=EpochOf("A1", back=1))
    s.commit("x", member_id=NOBODY, epoch=2)
    s.commit("A2", epoch=EpochOf("A2", plus=7))
    s.fetch("A2")


@case("CG-COMMIT-RELEASED", "CG-COMMIT-EPOCH-NEWER")
def released_member_commits(s: ConsumerScript) -> None:
    """A released member commits: -2 is its epoch, and its old one is newer than that."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.commit("A1", epoch=EpochOf("A1", back=1))
    s.commit("A1", epoch=-1)
    s.commit("A1", epoch=-2)
    s.fetch("A1", epoch=-2)


@case("CG-COMMIT-VERSION")
def commit_below_version_9(s: ConsumerScript) -> None:
    """Below version 9 a commit has no member epoch."""
    s.reconciled("A1")
    s.commit("A1", version=8)


@case("CG-COMMIT-UNKNOWN-MEMBER")
def commit_without_member(s: ConsumerScript) -> None:
    """A commit without a member is refused while there is one, even if it is released."""
    s.join("A1")
    s.commit("x", member_id="", epoch=-1)
    s.release("A1")
    s.commit("x", member_id="", epoch=-1)


@case("CG-COMMIT-EMPTY-GROUP")
def commit_to_an_empty_group(s: ConsumerScript) -> None:
    """A commit without a member sets offsets of a group without members."""
    s.join("A1")
    s.leave("A1")
    s.commit("x", member_id="", epoch=-1)
    s.fetch("x", member_id=None, epoch=-1)


@case("CG-COMMIT-GROUP-ABSENT")
def commit_to_an_absent_group(s: ConsumerScript) -> None:
    """A commit without a member makes a group with offsets; a member may join it then."""
    s.commit("x", member_id="", epoch=-1)
    s.fetch("x", member_id=None, epoch=-1)
    s.join("A1")


@case("CG-FETCH-SIMPLE")
def fetch_by_a_stranger_from_a_group_of_offsets(s: ConsumerScript) -> None:
    """A group that a commit made asks nobody for a member id, nor for an epoch."""
    s.commit("x", member_id="", epoch=-1)
    s.fetch("x", member_id=NOBODY, epoch=7)
    s.beat("x", member_id=NOBODY, epoch=1)


@case("CG-COMMIT-GROUP-NOT-FOUND")
def commit_of_a_stranger_to_an_absent_group(s: ConsumerScript) -> None:
    """A commit with an epoch to a group that doesn't exist."""
    s.commit("x", member_id=NOBODY, epoch=1)


@case("CG-COMMIT-GROUP-ABSENT-GENERATION")
def commit_below_9_to_an_absent_group(s: ConsumerScript) -> None:
    """Below version 9 the same commit names a generation of a group that doesn't exist."""
    s.commit("x", member_id=NOBODY, epoch=1, version=8)


@case("CG-COMMIT-TOPICS-UNKNOWN", features=("missing-topics",))
def commit_for_a_missing_topic(s: ConsumerScript) -> None:
    """A commit for a topic that doesn't exist."""
    s.reconciled("A1")
    s.commit("A1", topic="missing")


@case("CG-FETCH-MEMBER", "CG-FETCH-STALE")
def fetch_with_another_epoch(s: ConsumerScript) -> None:
    """A fetch has the member's epoch, a newer one, and an older one."""
    s.advanced()
    s.fetch("A1")
    s.fetch("A1", epoch=EpochOf("A1", plus=7))
    s.fetch("A1", epoch=EpochOf("A1", back=1))


@case("CG-FETCH-ANYBODY")
def fetch_without_member(s: ConsumerScript) -> None:
    """A client that names no member may read."""
    s.reconciled("A1")
    s.commit("A1")
    s.fetch("x", member_id=None, epoch=-1)


@case("CG-FETCH-UNKNOWN-MEMBER")
def fetch_of_an_epoch_without_a_member(s: ConsumerScript) -> None:
    """A fetch names an epoch, but no member: it is refused."""
    s.reconciled("A1")
    s.fetch("x", member_id=None, epoch=1)
    s.fetch("A1")


@case("CG-FETCH-UNKNOWN-MEMBER")
def fetch_by_a_stranger(s: ConsumerScript) -> None:
    """A fetch names an id that is no member's."""
    s.reconciled("A1")
    s.fetch("x", member_id=NOBODY, epoch=2)


@case("CG-FETCH-GROUP-ABSENT")
def fetch_from_an_absent_group(s: ConsumerScript) -> None:
    """A group that doesn't exist has no offsets."""
    s.fetch("x", member_id=None, epoch=-1)


@case("CG-TXN-COMMIT-ANONYMOUS")
def transaction_of_nobody(s: ConsumerScript) -> None:
    """A commit in a transaction needs no member."""
    s.reconciled("A1")
    s.transact("x", member_id="", epoch=-1)
    s.fetch("x", member_id=None, epoch=-1)


@case("CG-TXN-COMMIT-MEMBER")
def transaction_of_a_member(s: ConsumerScript) -> None:
    """A member commits in a transaction with its epoch."""
    s.reconciled("A1")
    s.transact("A1", instance="A")
    s.fetch("A1")


@case("CG-TXN-COMMIT-INSTANCE-IGNORED")
def transaction_with_a_wrong_instance(s: ConsumerScript) -> None:
    """A commit in a transaction may have any instance: another member's, and an unmapped one."""
    s.reconciled("A1", "B1")
    s.transact("A1", instance="B")
    s.transact("A1", instance="C")
    s.fetch("A1")


@case("CG-TXN-COMMIT-INSTANCE-IGNORED")
def transaction_with_an_unmapped_instance(s: ConsumerScript) -> None:
    """The instance in a commit in a transaction is ignored, also if nobody has it."""
    s.join("A1")
    s.transact("A1", instance="C")
    s.fetch("A1")


@case("CG-TXN-COMMIT-RELEASED")
def transaction_of_a_released_member(s: ConsumerScript) -> None:
    """A released member commits in a transaction with -2, its epoch."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.transact("A1", epoch=-2)
    s.fetch("A1")


@case("CG-TXN-COMMIT-EPOCH-NEWER")
def transaction_with_a_newer_epoch(s: ConsumerScript) -> None:
    """A commit in a transaction has an epoch that nobody was given."""
    s.reconciled("A1")
    s.transact("A1", epoch=EpochOf("A1", plus=7))


@case("CG-TXN-COMMIT-UNKNOWN-MEMBER")
def transaction_of_a_zombie(s: ConsumerScript) -> None:
    """A replaced process, and an unknown id, commit in transactions."""
    s.returned("B1")
    s.transact("A1", instance="A", epoch=EpochOf("A1", back=1))
    s.transact("x", member_id=NOBODY, epoch=2)


@case("CG-TXN-COMMIT-UNKNOWN-MEMBER", "CG-TXN-COMMIT-EPOCH-NEWER", "CG-FETCH-MEMBER")
def refused_transactions_store_nothing(s: ConsumerScript) -> None:
    """The same commits, in transactions."""
    s.returned("B1")
    s.transact("A1", epoch=EpochOf("A1", back=1))
    s.transact("x", member_id=NOBODY, epoch=2)
    s.transact("A2", epoch=EpochOf("A2", plus=7))
    s.fetch("A2")


@case("CG-TXN-COMMIT-EPOCH-OLDER")
def transaction_with_an_older_epoch(s: ConsumerScript) -> None:
    """A commit in a transaction has an older epoch."""
    s.advanced()
    s.transact("A1", epoch=EpochOf("A1", back=1), parts=ALL)


@case("CG-TXN-COMMIT-PARTITION-HELD")
def transaction_for_partitions_that_stay(s: ConsumerScript) -> None:
    """A commit in a transaction with an older epoch counts for partitions that stay."""
    _older_epoch(s)
    s.transact("A1", epoch=EpochOf("A1", back=1), parts=ALL)
    s.fetch("A1", parts=ALL)


@case("CG-TXN-COMMIT-PARTITION-STALE")
def transaction_for_one_stale_partition(s: ConsumerScript) -> None:
    """A commit in a transaction is refused whole, if one partition wasn't the member's then."""
    s.advanced()
    s.transact("A1", epoch=EpochOf("A1", back=1), parts=ALL)
    s.fetch("A1", parts=ALL)


@case("CG-TXN-COMMIT-GROUP-ABSENT")
def transaction_for_an_absent_group(s: ConsumerScript) -> None:
    """A commit in a transaction without a member makes a group with offsets."""
    s.transact("x", member_id="", epoch=-1)
    s.fetch("x", member_id=None, epoch=-1)


@case("CG-TXN-COMMIT-GROUP-ABSENT-GENERATION")
def transaction_of_a_stranger_for_an_absent_group(s: ConsumerScript) -> None:
    """A commit in a transaction with an epoch for a group that doesn't exist."""
    s.transact("x", member_id=NOBODY, epoch=1)


@case("CG-TXN-COMMIT-EMPTY-GROUP")
def transaction_for_an_empty_group(s: ConsumerScript) -> None:
    """A commit in a transaction for a group without members."""
    s.join("A1")
    s.leave("A1")
    s.transact("x", member_id="", epoch=-1)
    s.fetch("x", member_id=None, epoch=-1)


@case("CG-TXN-COMMIT-TOPICS-UNKNOWN", features=("missing-topics",))
def transaction_for_a_missing_topic(s: ConsumerScript) -> None:
    """A commit in a transaction for a topic that doesn't exist."""
    s.reconciled("A1")
    s.transact("A1", topic="missing")


@case("CG-TXN-COMMIT-UNKNOWN-MEMBER")
def transaction_of_nobody_with_an_epoch_below(s: ConsumerScript) -> None:
    """A commit in a transaction names no member, and an epoch below -1: it is refused."""
    s.reconciled("A1")
    s.transact("x", member_id="", epoch=-2)


@case("CG-TXN-COMMIT-GROUP-ID-INVALID")
def transaction_for_no_group_name(s: ConsumerScript) -> None:
    """A commit in a transaction has the group id "": it is refused."""
    s.transact("x", member_id="", epoch=-1, group="")
    s.transact("x", member_id=NOBODY, epoch=1, group="")


BY_IDS: tuple[tuple[str, int], ...] = (("OffsetCommit", 10), ("OffsetFetch", 10))


@case("CG-COMMIT-MEMBER", "CG-FETCH-MEMBER", apis=BY_IDS)
def commit_by_ids(s: ConsumerScript) -> None:
    """From version 10 on a commit and a fetch name topics by their ids; older ones see the same."""
    s.reconciled("A1", "B1")
    s.commit("A1", version=10, topic=("t", "u"))
    s.fetch("A1", version=10, topic=("t", "u"), parts=(0, 1))
    s.fetch("A1", version=10, topic=None)
    s.fetch("A1", topic=None)


@case("CG-COMMIT-TOPIC-IDS-UNKNOWN", features=("missing-topics",), apis=BY_IDS)
def commit_by_an_unknown_id(s: ConsumerScript) -> None:
    """An id that no topic has is refused before any look at the group, the member and the epoch."""
    s.commit("x", member_id=NOBODY, epoch=1, topic="missing", version=10)
    s.reconciled("A1")
    s.commit("A1", topic="missing", version=10)
    s.commit("A1", topic="missing", epoch=EpochOf("A1", plus=7), version=10)
    s.commit("x", member_id=NOBODY, epoch=1, topic="missing", version=10)


@case("CG-COMMIT-MEMBER", features=("missing-topics",), apis=BY_IDS)
def commit_by_a_known_id_and_an_unknown_one(s: ConsumerScript) -> None:
    """Of two topics one has an id that no topic has: the other one is committed."""
    s.reconciled("A1")
    s.commit("A1", topic=("missing", "t"), version=10)
    s.commit("A1", topic=("missing", "t"), epoch=EpochOf("A1", plus=7), version=10)
    s.fetch("A1", topic=None)


@case("CG-COMMIT-EPOCH-NEWER", "CG-COMMIT-UNKNOWN-MEMBER", apis=BY_IDS)
def refused_commits_by_ids(s: ConsumerScript) -> None:
    """A commit by ids has a newer epoch, an unknown member, or a group that doesn't exist."""
    s.commit("x", member_id=NOBODY, epoch=1, version=10)
    s.reconciled("A1")
    s.commit("A1", epoch=EpochOf("A1", plus=7), version=10)
    s.commit("x", member_id=NOBODY, epoch=1, version=10)
    s.release("A1")
    s.commit("A1", epoch=-2, version=10)
    s.fetch("A1", epoch=-2, version=10)


@case("CG-COMMIT-EPOCH-OLDER", "CG-COMMIT-PARTITION-HELD", apis=BY_IDS)
def commit_by_ids_with_an_older_epoch(s: ConsumerScript) -> None:
    """A commit by ids with an older epoch counts for partitions that were the member's then."""
    _older_epoch(s)
    s.commit("A1", epoch=EpochOf("A1", back=1), parts=ALL, version=10)
    s.fetch("A1", parts=ALL, version=10)


@case("CG-FETCH-MEMBER", "CG-FETCH-STALE", features=("missing-topics",), apis=BY_IDS)
def fetch_by_an_unknown_id(s: ConsumerScript) -> None:
    """A fetch refuses an id that no topic has by itself, and only after the member's epoch."""
    s.reconciled("A1")
    s.commit("A1")
    s.fetch("A1", topic=("t", "missing"), version=10)
    s.fetch("A1", topic="missing", version=10)
    s.fetch("A1", topic="missing", epoch=EpochOf("A1", plus=7), version=10)
    s.fetch("x", member_id=NOBODY, epoch=1, topic="missing", version=10)
    s.fetch("x", member_id=None, epoch=-1, topic=("t", "missing"), version=10)


@case("CG-OFFSET-DELETE-SUBSCRIBED", "CG-OFFSET-DELETE-UNSUBSCRIBED")
def deletion_of_offsets_by_subscription(s: ConsumerScript) -> None:
    """Offsets of a topic to which a member subscribes stay; those of another are deleted."""
    s.join("A1")
    s.commit("A1", topic=("t", "u"), parts=(0, 1))
    s.delete_offsets("t", "u")
    s.fetch("A1", topic=("t", "u"), parts=(0, 1))
    s.release("A1")
    s.delete_offsets("t")


@case("CG-OFFSET-DELETE-UNSUBSCRIBED")
def deletion_of_offsets_after_another_subscription(s: ConsumerScript) -> None:
    """The subscription counts at once, before its partitions are given up."""
    s.reconciled("A1")
    s.commit("A1")
    s.beat("A1", subscribed_topic_names=("u",), owns=None)
    s.delete_offsets("t", "u")
    s.fetch("x", member_id=None, epoch=-1)


@case("CG-OFFSET-DELETE-EMPTY")
def deletion_of_offsets_of_an_empty_group(s: ConsumerScript) -> None:
    """All offsets of a group without members can be deleted; the group stays."""
    s.join("A1")
    s.commit("A1", parts=(0, 1))
    s.leave("A1")
    s.delete_offsets("t")
    s.fetch("x", member_id=None, epoch=-1, parts=(0, 1))
    s.delete_offsets("t", partitions=(1,))
    s.describe()


@case("CG-OFFSET-DELETE-EMPTY")
def deletion_of_offsets_of_a_group_of_offsets(s: ConsumerScript) -> None:
    """The last offset of a group that a commit made is deleted; the group is still listed."""
    s.commit("x", member_id="", epoch=-1)
    s.delete_offsets("t", partitions=(0, 1))
    s.fetch("x", member_id=None, epoch=-1)
    s.list_groups()


@case("CG-OFFSET-DELETE-TOPIC-UNKNOWN", features=("missing-topics",))
def deletion_of_offsets_of_a_missing_topic(s: ConsumerScript) -> None:
    """A topic that doesn't exist is refused, also one to which a member subscribes."""
    s.join("A1", topics=("t", "missing"))
    s.delete_offsets("missing", "t", "u")
    s.delete_offsets("u", partitions=(99,))


@case("CG-OFFSET-DELETE-ABSENT")
def deletion_of_offsets_of_an_absent_group(s: ConsumerScript) -> None:
    """A deletion of offsets names a group that doesn't exist, whatever the topics."""
    s.delete_offsets("t")
    s.delete_offsets("missing")
    s.delete_offsets()


@case("CG-OFFSET-DELETE-GROUP-ID-INVALID")
def deletion_of_offsets_without_a_group_name(s: ConsumerScript) -> None:
    """A deletion of offsets has the group id ""."""
    s.delete_offsets("t", group="")
