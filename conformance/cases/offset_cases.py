"""OffsetCommit, OffsetFetch, OffsetDelete: who may write and delete offsets in each state; reads.

When a topic is deleted, all groups' offsets for it go, and the members stay.
"""

from __future__ import annotations

from typing import Any

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.script import NOBODY, Script, subscription
from fencepost.model.plans.steps import GenerationOf, IdOf, Ms

CASES = Registry()
case = CASES.case


def commit_by_hand(s: Script, offset: int = 1, **fields: Any) -> None:
    """Commit without member, instance and generation, as an administrator's tool does."""
    s.commit("admin", offset=offset, member_id="", generation=-1, instance=None, **fields)


@case("COMMIT-TOPICS-UNKNOWN", features=("missing-topics",))
def missing_topic(s: Script) -> None:
    """A zombie commits to a topic that doesn't exist: the topic is checked before the group."""
    s.stable("A1")
    s.join("A2", wait=True)
    s.commit("A1", topic="missing-t")
    s.commit("A2", topic="missing-t")


@case("COMMIT-TOPICS-UNKNOWN", "HEARTBEAT-STABLE", features=("missing-topics",))
def missing_topic_of_dynamic_members(s: Script) -> None:
    """A dynamic member commits to a topic that doesn't exist: the topic is checked first."""
    s.stable("a")
    s.commit("a", topic="missing-t", at_most=6)
    s.commit("x", topic="missing-t", member_id=NOBODY, generation=1, at_most=6)
    s.beat("a")


@case("COMMIT-GROUP-ABSENT-GENERATION", "FETCH-ANYBODY")
def generation_without_a_group(s: Script) -> None:
    """A commit names a generation of a group that doesn't exist: ILLEGAL_GENERATION."""
    s.commit("a", member_id=NOBODY, generation=3, version=7)
    s.commit("A1", member_id=NOBODY, generation=0, version=7)
    s.fetch("a")


@case("COMMIT-GROUP-ABSENT-GENERATION", "FETCH-ANYBODY")
def generation_without_a_group_in_old_versions(s: Script) -> None:
    """A commit below version 9 names a generation, and no group exists: ILLEGAL_GENERATION."""
    s.commit("a", member_id=NOBODY, generation=3, at_most=6)
    s.commit("a", member_id="", generation=0, at_most=6)
    s.fetch("a")


@case("COMMIT-GROUP-NOT-FOUND", apis=(("OffsetCommit", 9),))
def group_that_is_not_found(s: Script) -> None:
    """A commit of version 9 names a generation, and no group exists: GROUP_ID_NOT_FOUND."""
    s.commit("a", member_id=NOBODY, generation=3, version=9)
    s.commit("A1", member_id=NOBODY, generation=0, version=9)


@case("COMMIT-GROUP-ABSENT", "FETCH-ANYBODY")
def offsets_without_a_group(s: Script) -> None:
    """A commit names no generation, and no group exists: the offsets are stored."""
    commit_by_hand(s, 7)
    s.fetch("admin")


@case("COMMIT-EMPTY-GROUP", "FETCH-ANYBODY")
def offsets_of_an_empty_group(s: Script) -> None:
    """An administrator commits to an Empty group: the offsets are stored."""
    s.stable("a")
    s.commit("a", offset=5)
    s.leave("a")
    commit_by_hand(s, 2)
    s.fetch("admin")


@case("COMMIT-ANONYMOUS", "FETCH-ANYBODY")
def nobody_commits_while_there_are_members(s: Script) -> None:
    """A stranger commits to a group with members: it is unknown in each state."""
    s.stable("a", "B1")
    s.commit("a", offset=5)
    commit_by_hand(s, 1)
    s.enter("n", settle=True)
    commit_by_hand(s, 2)
    s.join("a", "B1", wait=("a", "B1", "n"))
    commit_by_hand(s, 3)
    s.fetch("admin")


@case("COMMIT-INSTANCE-UNMAPPED", "FETCH-ANYBODY")
def instance_that_nobody_holds(s: Script) -> None:
    """A member commits with an unmapped instance: it is unknown."""
    s.stable("a")
    s.commit("a", offset=4)
    s.commit("a", offset=5, instance="X")
    s.commit("a", offset=6, instance="X", generation=-1, member_id="")
    s.fetch("a")


@case("COMMIT-INSTANCE-FENCED", "FETCH-ANYBODY", "COMMIT-STABLE")
def instance_of_another(s: Script) -> None:
    """A wrong id commits with a mapped instance: it is fenced in any generation."""
    s.stable("A1", "b")
    s.commit("A1", offset=4)
    s.commit("b", offset=5, instance="A")
    s.commit("b", offset=6, instance="A", member_id=NOBODY)
    s.commit("b", offset=7, instance="A", member_id="", generation=-1)
    s.commit("b", offset=8, instance="A", generation=GenerationOf("b", plus=9))
    s.fetch("b")


@case("COMMIT-INSTANCE-FENCED", "FETCH-ANYBODY")
def zombie_in_every_state(s: Script) -> None:
    """A zombie commits in each state of the group: it is fenced; it may fetch offsets."""
    s.stable("A1", "B1")
    s.commit("B1", offset=4)
    s.join("B2", wait=True)
    s.commit("B1", offset=5)
    s.enter("n", settle=True)
    s.commit("B1", offset=6)
    s.join("A1", "B2", wait=("A1", "B2", "n"))
    s.commit("B1", offset=7)
    s.fetch("B1")


@case("COMMIT-UNKNOWN-MEMBER", "FETCH-ANYBODY")
def unknown_members(s: Script) -> None:
    """An unknown, empty or pending id commits: it is unknown in any generation."""
    s.stable("a")
    s.commit("a", offset=4)
    s.commit("a", offset=5, member_id=NOBODY)
    s.commit("a", offset=6, member_id="")
    s.commit("a", offset=7, member_id=NOBODY, generation=-1)
    s.commit("a", offset=8, member_id=NOBODY, generation=GenerationOf("a", plus=1))
    s.join("n", member_id="", wait=True)
    s.commit("a", offset=9, member_id=IdOf("n"))
    s.fetch("a")


@case("COMMIT-UNKNOWN-MEMBER", "FETCH-ANYBODY")
def member_that_left(s: Script) -> None:
    """A member that left commits: it is unknown, in an Empty group, too."""
    s.stable("a")
    s.commit("a", offset=4)
    s.leave("a")
    s.commit("a", offset=5)
    s.fetch("a")


@case("COMMIT-ILLEGAL-GENERATION", "FETCH-ANYBODY")
def wrong_generation(s: Script) -> None:
    """A member commits with another generation or none: it is refused."""
    s.stable("a", "B1")
    s.commit("a", offset=4)
    s.commit("a", offset=5, generation=GenerationOf("a", plus=-1))
    s.commit("a", offset=6, generation=GenerationOf("a", plus=1))
    s.commit("a", offset=7, generation=-1)
    s.commit("B1", offset=8, generation=GenerationOf("B1", plus=1))
    s.commit("B1", offset=9, generation=-1)
    s.fetch("a")


@case("COMMIT-COMPLETING", "FETCH-ANYBODY")
def between_join_and_sync(s: Script) -> None:
    """A member commits in the sync phase: the answer is REBALANCE_IN_PROGRESS."""
    s.completing("a", "B1")
    s.commit("a", offset=5)
    s.commit("B1", offset=6)
    s.fetch("a")
    s.synced("a", "B1")


@case(
    "COMMIT-UNKNOWN-MEMBER",
    "COMMIT-ILLEGAL-GENERATION",
    "COMMIT-INSTANCE-FENCED",
    "COMMIT-INSTANCE-UNMAPPED",
)
def errors_between_join_and_sync(s: Script) -> None:
    """A commit with a wrong id or generation in the sync phase gets that error (KAFKA-8487)."""
    s.completing("a", "B1")
    s.commit("a", member_id=NOBODY)
    s.commit("a", generation=GenerationOf("a", plus=1))
    s.commit("B1", generation=-1)
    s.commit("a", instance="B")
    s.commit("a", instance="X")


@case("COMMIT-PREPARING", "FETCH-ANYBODY")
def before_partitions_are_given_away(s: Script) -> None:
    """A member commits in the join phase: the offsets are stored."""
    s.preparing("a", "B1")
    s.pause()
    s.commit("a", offset=5)
    s.commit("B1", offset=6)
    s.fetch("a")
    s.join("a", "B1", wait=("a", "B1", "n"))


@case("COMMIT-STABLE", "FETCH-ANYBODY")
def in_a_stable_group(s: Script) -> None:
    """Members commit in a stable group: the last offset counts, and any client can fetch it."""
    s.stable("a", "B1")
    s.commit("a", offset=5)
    s.commit("B1", offset=6)
    s.commit("a", offset=3)
    s.fetch("admin")


@case("COMMIT-STABLE", "FETCH-ANYBODY")
def static_member_without_its_instance(s: Script) -> None:
    """A static member commits with its member id alone: the offsets are stored."""
    s.stable("A1", "B1")
    s.commit("B1", offset=6, instance=None)
    s.fetch("A1")


@case("COMMIT-STABLE", "FETCH-ANYBODY", apis=(("OffsetCommit", 6),))
def legacy_commits(s: Script) -> None:
    """A member commits in version 6 or below: its member id alone is checked."""
    s.stable("a")
    s.commit("a", offset=5, version=6)
    s.commit("a", offset=6, version=6, generation=GenerationOf("a", plus=1))
    s.fetch("a", at_most=5)


@case("COMMIT-STABLE", "FETCH-ANYBODY")
def offsets_pass_to_the_next_process(s: Script) -> None:
    """A static member commits and is replaced: the new process fetches the offsets."""
    s.stable("A1", "B1")
    s.commit("B1", offset=6)
    s.join("B2", wait=True)
    s.fetch("B2")
    s.commit("B2", offset=8)
    s.fetch("B2")


@case("FETCH-ANYBODY")
def nothing_stored(s: Script) -> None:
    """A client fetches an offset that was never stored: it is -1, with or without a group."""
    s.fetch("admin")
    s.stable("A1")
    s.fetch("admin")


@case("FETCH-ANYBODY", "COMMIT-STABLE", apis=(("OffsetFetch", 8),))
def groups_in_one_fetch(s: Script) -> None:
    """A client fetches offsets of several groups in version 8: each group is answered."""
    s.stable("A1")
    s.commit("A1", offset=5)
    s.fetch("admin", version=8)


_DELETES = ("delete-topics",)
_CLEANER = {"offsets.retention.check.interval.ms": 600_000}
"""Kafka's default.

Its old coordinator removes all unused groups when a topic goes, so a broker on which cases delete
topics has to be one that may remove unused groups.
"""


@case("TOPICS-DELETED", "FETCH-ANYBODY", "HEARTBEAT-STABLE", features=_DELETES, config=_CLEANER)
def offsets_of_a_stable_group_go(s: Script) -> None:
    """A topic is deleted: its offsets are removed; other offsets and the group stay."""
    s.stable("A1", "b")
    s.commit("A1", topic="own", offset=5)
    s.commit("A1", offset=6)
    s.delete_topics("own")
    s.pause()
    s.fetch("A1", topic="own")
    s.fetch("A1")
    s.beat("A1", "b")
    s.describe()


@case("TOPICS-DELETED", "FETCH-ANYBODY", features=_DELETES, config=_CLEANER)
def only_offsets_of_an_empty_group_go(s: Script) -> None:
    """A topic with the last offsets of an Empty group is deleted: the group can be removed."""
    s.stable("a")
    s.commit("a", topic="own", offset=5)
    s.leave("a")
    s.delete_topics("own")
    s.pause()
    s.fetch("admin", topic="own")
    s.describe()
    s.join("A1", wait=True)


@case("TOPICS-DELETED", "FETCH-ANYBODY", features=_DELETES, config=_CLEANER)
def only_offsets_of_no_members_go(s: Script) -> None:
    """A topic is deleted whose offsets an administrator set: its offsets are removed."""
    commit_by_hand(s, 5, topic="own")
    s.delete_topics("own")
    s.pause()
    s.fetch("admin", topic="own")
    s.list_groups()


@case("TOPICS-DELETED", "FETCH-ANYBODY", "DESCRIBE-UNSTABLE", features=_DELETES, config=_CLEANER)
def offsets_of_another_topic_keep_an_empty_group(s: Script) -> None:
    """A topic of an Empty group is deleted: offsets of another topic keep group and generation."""
    s.stable("a")
    s.commit("a", topic="own", offset=5)
    s.commit("a", offset=6)
    s.leave("a")
    s.delete_topics("own")
    s.pause()
    s.fetch("admin", topic="own")
    s.fetch("admin")
    s.describe()
    s.join("A1", wait=True)


@case(
    "TOPICS-DELETED",
    "COMMIT-TOPICS-UNKNOWN",
    "COMMIT-STABLE",
    features=_DELETES,
    config=_CLEANER,
)
def commit_to_a_deleted_topic(s: Script) -> None:
    """A client commits to a deleted topic: that row is refused, and other rows are stored."""
    s.stable("A1")
    s.commit("A1", topic="own", offset=5)
    s.join("A2", wait=True)
    s.delete_topics("own")
    s.pause()
    s.commit("A2", topic="own", offset=6)
    s.commit("A1", topic="own", offset=7)
    s.commit("A2", offset=8)
    s.fetch("A2", topic="own")
    s.fetch("A2")


@case(
    "TOPICS-DELETED",
    "JOIN-PHASE-ALL-JOINED",
    "FETCH-ANYBODY",
    features=_DELETES,
    config=_CLEANER,
)
def topic_is_deleted_during_a_rebalance(s: Script) -> None:
    """A topic is deleted in the join phase: its offsets are removed, and the rebalance goes on."""
    s.preparing("A1", "b")
    s.commit("A1", topic="own", offset=5)
    s.delete_topics("own")
    s.pause()
    s.fetch("A1", topic="own")
    s.beat("A1")
    s.join("A1", "b", wait=("A1", "b", "n"))
    s.synced("A1", "b", "n")


@case("TOPICS-DELETED", "FAILOVER-STABLE", features=(*_DELETES, "restart"), config=_CLEANER)
def removed_offsets_stay_away(s: Script) -> None:
    """A topic is deleted before a failover: its offsets stay removed, and others are kept."""
    s.stable("A1")
    s.commit("A1", topic="own", offset=5)
    s.commit("A1", offset=6)
    s.delete_topics("own")
    s.pause()
    s.fetch("A1", topic="own")
    s.restart()
    s.fetch("A1", topic="own")
    s.fetch("A1")


# Offsets are deleted for topics that no member reads; an absent static member still reads its own.

_OFFSET_DELETE = (("OffsetDelete", 0),)
OWN = (("range", subscription("own")),)
_MISSING = (("range", subscription("missing-t")),)
OTHER = (("range", subscription("other")),)
OWN_TOPIC = ("delete-topics",)
"""Cases with a topic of their own, which subscriptions name, need a target that can have one."""


@case("OFFSET-DELETE-ABSENT", apis=_OFFSET_DELETE, features=("missing-topics",))
def no_group_to_delete_offsets_of(s: Script) -> None:
    """OffsetDelete names a group that doesn't exist: GROUP_ID_NOT_FOUND, whatever the topic."""
    s.delete_offsets("t")
    s.delete_offsets("missing-t")


@case("OFFSET-DELETE-GROUP-ID-INVALID", apis=_OFFSET_DELETE, features=("missing-topics",))
def offsets_of_the_group_of_no_name(s: Script) -> None:
    """OffsetDelete has the group id "": it is refused, whatever the topic."""
    s.delete_offsets("t", group="")
    s.delete_offsets("missing-t", group="")


@case("OFFSET-DELETE-EMPTY", "FETCH-ANYBODY", apis=_OFFSET_DELETE)
def one_offset_of_two(s: Script) -> None:
    """OffsetDelete names one of two offsets of an Empty group: that one is deleted."""
    commit_by_hand(s, 7, metadata=("", ""))
    s.delete_offsets("t")
    s.fetch("admin", partitions=(0, 1))


@case("OFFSET-DELETE-LAST", "FETCH-ANYBODY", apis=_OFFSET_DELETE)
def last_offset_of_no_members(s: Script) -> None:
    """OffsetDelete names the last offset of an Empty group: the group can be removed."""
    commit_by_hand(s, 7)
    s.delete_offsets("t")
    s.fetch("admin")
    s.join("A1", wait=True)


@case(
    "OFFSET-DELETE-LAST",
    "COMMIT-STABLE",
    "FETCH-ANYBODY",
    apis=(*_OFFSET_DELETE, ("LeaveGroup", 3)),
)
def last_offset_after_a_leave(s: Script) -> None:
    """A static member leaves, and its offset is deleted: a restart fetches no offset."""
    s.stable("A1")
    s.commit("A1", offset=5)
    s.leave("A1")
    s.delete_offsets("t")
    s.join("A2", wait=True)
    s.sync("A2", wait=True)
    s.fetch("A2")


@case(
    "OFFSET-DELETE-TOPIC-UNKNOWN",
    "OFFSET-DELETE-LAST",
    "FETCH-ANYBODY",
    apis=_OFFSET_DELETE,
    features=("missing-topics",),
)
def missing_topic_beside_another(s: Script) -> None:
    """OffsetDelete names a missing topic and another: one is refused, the other is deleted."""
    commit_by_hand(s, 7, metadata=("", ""))
    s.delete_offsets("missing-t", "t")
    s.delete_offsets("missing-t", "t", partitions=(1,))
    s.fetch("admin", partitions=(0, 1))


@case(
    "OFFSET-DELETE-TOPIC-UNKNOWN",
    "HEARTBEAT-STABLE",
    apis=_OFFSET_DELETE,
    features=("missing-topics",),
)
def missing_topic_of_members(s: Script) -> None:
    """OffsetDelete names a missing topic: the topic is checked before the subscription."""
    s.completing("a", protocols=_MISSING)
    s.delete_offsets("missing-t")
    s.synced("a")
    s.delete_offsets("missing-t")
    s.beat("a")
    s.enter("b", protocols=_MISSING)
    s.settle()
    s.delete_offsets("missing-t")


@case("OFFSET-DELETE-UNSUBSCRIBED", "COMMIT-STABLE", "FETCH-ANYBODY", apis=_OFFSET_DELETE)
def topic_that_no_member_reads(s: Script) -> None:
    """OffsetDelete names a topic that no member subscribes to any more: the offset is deleted."""
    s.stable("a", protocols=OTHER)
    s.commit("a", offset=5)
    s.delete_offsets("t")
    s.fetch("a")
    s.beat("a")


@case("OFFSET-DELETE-UNSUBSCRIBED", apis=_OFFSET_DELETE)
def members_that_read_another_topic_in_each_state(s: Script) -> None:
    """OffsetDelete names a topic that no member subscribes to: it is deleted in each state."""
    s.completing("a", protocols=OTHER)
    s.delete_offsets("t")
    s.synced("a")
    s.delete_offsets("t")
    s.enter("b", protocols=OTHER)
    s.settle()
    s.delete_offsets("t")


@case("OFFSET-DELETE-TYPE", apis=_OFFSET_DELETE, features=("missing-topics",))
def members_that_are_no_consumers(s: Script) -> None:
    """OffsetDelete names a group of another protocol type: no offset is deleted."""
    s.completing("a", protocol_type="connect")
    s.delete_offsets("t")
    s.delete_offsets("missing-t")
    s.enter("b", protocol_type="connect")
    s.settle()
    s.delete_offsets("t")


@case("OFFSET-DELETE-TYPE", "HEARTBEAT-STABLE", apis=(*_OFFSET_DELETE, ("SyncGroup", 5)))
def stable_group_of_no_consumers(s: Script) -> None:
    """OffsetDelete names a stable group of another protocol type: nothing changes."""
    s.completing("A1", protocol_type="connect")
    s.sync("A1", protocol_type="connect", wait=True)
    s.delete_offsets("t")
    s.beat("A1")


@case(
    "OFFSET-DELETE-SUBSCRIBED",
    "COMMIT-STABLE",
    "FETCH-ANYBODY",
    apis=_OFFSET_DELETE,
    features=OWN_TOPIC,
)
def topic_that_a_member_reads(s: Script) -> None:
    """OffsetDelete names a topic that a member subscribes to: the offset stays in each state."""
    s.completing("a", protocols=OWN)
    s.delete_offsets("own")
    s.synced("a")
    s.commit("a", topic="own", offset=5)
    s.delete_offsets("own")
    s.fetch("a", topic="own")
    s.enter("b", protocols=OWN)
    s.settle()
    s.delete_offsets("own")


@case(
    "OFFSET-DELETE-SUBSCRIBED",
    "JOIN-STATIC-EMPTY-STABLE",
    "FETCH-ANYBODY",
    apis=_OFFSET_DELETE,
    features=OWN_TOPIC,
)
def topic_that_an_absent_static_member_reads(s: Script) -> None:
    """OffsetDelete names the topic of an absent static member: its restart finds the offset."""
    s.stable("A1", protocols=OWN)
    s.commit("A1", topic="own", offset=5)
    s.disconnect("A1")
    s.delete_offsets("own")
    s.join("A2", protocols=OWN, wait=True)
    s.fetch("A2", topic="own")


@case(
    "OFFSET-DELETE-SUBSCRIBED",
    "SESSION-EXPIRED",
    "OFFSET-DELETE-LAST",
    "FETCH-ANYBODY",
    apis=_OFFSET_DELETE,
    features=OWN_TOPIC,
)
def topic_of_a_static_member_whose_session_ended(s: Script) -> None:
    """OffsetDelete names the topic of an expired static member: the offset is deleted."""
    s.says("A1", session=Ms("short session"))
    s.stable("A1", protocols=OWN)
    s.commit("A1", topic="own", offset=5)
    s.disconnect("A1")
    s.delete_offsets("own")
    s.pause("short session")
    s.delete_offsets("own")
    s.fetch("admin", topic="own")


@case(
    "OFFSET-DELETE-SUBSCRIBED",
    "JOIN-STATIC-EMPTY-STABLE",
    apis=_OFFSET_DELETE,
    features=OWN_TOPIC,
)
def topic_of_a_static_member_that_reads_another_now(s: Script) -> None:
    """A restart subscribes to another topic: the topics of the generation stay protected."""
    s.stable("A1", protocols=OWN)
    s.commit("A1", topic="own", offset=5)
    s.join("A2", protocols=OTHER, wait=True)
    s.delete_offsets("own")
    s.fetch("A2", topic="own")


@case(
    "OFFSET-DELETE-SUBSCRIBED",
    "FAILOVER-STABLE",
    apis=_OFFSET_DELETE,
    features=(*OWN_TOPIC, "restart"),
)
def topic_of_a_static_member_after_a_failover(s: Script) -> None:
    """OffsetDelete comes after a failover: stored subscriptions still protect their topics."""
    s.stable("A1", protocols=OWN)
    s.commit("A1", topic="own", offset=5)
    s.restart()
    s.delete_offsets("own")
    s.fetch("A1", topic="own")


@case(
    "OFFSET-DELETE-SUBSCRIBED",
    "OFFSET-DELETE-UNSUBSCRIBED",
    "JOIN-PHASE-ALL-JOINED",
    apis=_OFFSET_DELETE,
    features=OWN_TOPIC,
)
def subscriptions_while_a_rebalance_is_prepared(s: Script) -> None:
    """OffsetDelete comes in the join phase: the topics of the last generation are protected."""
    s.stable("A1", protocols=OTHER)
    s.enter("B1", protocols=OWN)
    s.settle()
    s.delete_offsets("own")
    s.join("A1", protocols=OTHER)
    s.wait("A1", "B1")
    s.delete_offsets("own")


@case(
    "OFFSET-DELETE-EMPTY",
    "FAILOVER-OFFSETS",
    "FETCH-ANYBODY",
    apis=_OFFSET_DELETE,
    features=("restart",),
)
def deleted_offset_stays_away(s: Script) -> None:
    """An offset is deleted before a failover: the new coordinator doesn't load it."""
    commit_by_hand(s, 7, metadata=("", ""))
    s.delete_offsets("t")
    s.restart()
    s.fetch("admin", partitions=(0, 1))
