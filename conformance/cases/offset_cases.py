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
    """A topic that doesn't exist is refused before the group is looked at: nobody is fenced."""
    s.stable("A1")
    s.join("A2", wait=True)
    s.commit("A1", topic="missing-t")
    s.commit("A2", topic="missing-t")


@case("COMMIT-TOPICS-UNKNOWN", "HEARTBEAT-STABLE", features=("missing-topics",))
def missing_topic_of_dynamic_members(s: Script) -> None:
    """A topic that doesn't exist is refused before the member is looked at."""
    s.stable("a")
    s.commit("a", topic="missing-t", at_most=6)
    s.commit("x", topic="missing-t", member_id=NOBODY, generation=1, at_most=6)
    s.beat("a")


@case("COMMIT-GROUP-ABSENT-GENERATION", "FETCH-ANYBODY")
def generation_without_a_group(s: Script) -> None:
    """A group that doesn't exist has no generation: a member of long ago can't commit."""
    s.commit("a", member_id=NOBODY, generation=3, version=7)
    s.commit("A1", member_id=NOBODY, generation=0, version=7)
    s.fetch("a")


@case("COMMIT-GROUP-ABSENT-GENERATION", "FETCH-ANYBODY")
def generation_without_a_group_in_old_versions(s: Script) -> None:
    """A group that doesn't exist has no generation, whether an id is named or not."""
    s.commit("a", member_id=NOBODY, generation=3, at_most=6)
    s.commit("a", member_id="", generation=0, at_most=6)
    s.fetch("a")


@case("COMMIT-GROUP-NOT-FOUND", apis=(("OffsetCommit", 9),))
def group_that_is_not_found(s: Script) -> None:
    """From version 9 on a member of long ago is told that its group is gone."""
    s.commit("a", member_id=NOBODY, generation=3, version=9)
    s.commit("A1", member_id=NOBODY, generation=0, version=9)


@case("COMMIT-GROUP-ABSENT", "FETCH-ANYBODY")
def offsets_without_a_group(s: Script) -> None:
    """Without a generation offsets are stored, though there is no group."""
    commit_by_hand(s, 7)
    s.fetch("admin")


@case("COMMIT-EMPTY-GROUP", "FETCH-ANYBODY")
def offsets_of_an_empty_group(s: Script) -> None:
    """While nobody is a member an administrator may set offsets."""
    s.stable("a")
    s.commit("a", offset=5)
    s.leave("a")
    commit_by_hand(s, 2)
    s.fetch("admin")


@case("COMMIT-ANONYMOUS", "FETCH-ANYBODY")
def nobody_commits_while_there_are_members(s: Script) -> None:
    """While there are members nobody else may commit, whatever state the group is in."""
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
    """A member that speaks for an instance without a holder can't commit."""
    s.stable("a")
    s.commit("a", offset=4)
    s.commit("a", offset=5, instance="X")
    s.commit("a", offset=6, instance="X", generation=-1, member_id="")
    s.fetch("a")


@case("COMMIT-INSTANCE-FENCED", "FETCH-ANYBODY", "COMMIT-STABLE")
def instance_of_another(s: Script) -> None:
    """A wrong or unknown id with a held instance is fenced, whatever generation it names."""
    s.stable("A1", "b")
    s.commit("A1", offset=4)
    s.commit("b", offset=5, instance="A")
    s.commit("b", offset=6, instance="A", member_id=NOBODY)
    s.commit("b", offset=7, instance="A", member_id="", generation=-1)
    s.commit("b", offset=8, instance="A", generation=GenerationOf("b", plus=9))
    s.fetch("b")


@case("COMMIT-INSTANCE-FENCED", "FETCH-ANYBODY")
def zombie_in_every_state(s: Script) -> None:
    """A replaced process can't commit: stable, rebalancing, or before the sync; it may read."""
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
    """Unknown, empty and pending ids can't commit, whatever generation they name."""
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
    """Who left can't commit any more, not even to the group that is Empty since."""
    s.stable("a")
    s.commit("a", offset=4)
    s.leave("a")
    s.commit("a", offset=5)
    s.fetch("a")


@case("COMMIT-ILLEGAL-GENERATION", "FETCH-ANYBODY")
def wrong_generation(s: Script) -> None:
    """A member of another generation can't commit, nor can one that names none."""
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
    """Between join and sync nobody can commit: the partitions are not given yet."""
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
    """Between join and sync a wrong id or generation is told so, and nothing else (KAFKA-8487)."""
    s.completing("a", "B1")
    s.commit("a", member_id=NOBODY)
    s.commit("a", generation=GenerationOf("a", plus=1))
    s.commit("B1", generation=-1)
    s.commit("a", instance="B")
    s.commit("a", instance="X")


@case("COMMIT-PREPARING", "FETCH-ANYBODY")
def before_partitions_are_given_away(s: Script) -> None:
    """While a rebalance is prepared members may save their progress."""
    s.preparing("a", "B1")
    s.pause()
    s.commit("a", offset=5)
    s.commit("B1", offset=6)
    s.fetch("a")
    s.join("a", "B1", wait=("a", "B1", "n"))


@case("COMMIT-STABLE", "FETCH-ANYBODY")
def in_a_stable_group(s: Script) -> None:
    """Members commit in a stable group; the last offset counts, and anybody may read it."""
    s.stable("a", "B1")
    s.commit("a", offset=5)
    s.commit("B1", offset=6)
    s.commit("a", offset=3)
    s.fetch("admin")


@case("COMMIT-STABLE", "FETCH-ANYBODY")
def static_member_without_its_instance(s: Script) -> None:
    """A static member may commit by its id alone."""
    s.stable("A1", "B1")
    s.commit("B1", offset=6, instance=None)
    s.fetch("A1")


@case("COMMIT-STABLE", "FETCH-ANYBODY", apis=(("OffsetCommit", 6),))
def legacy_commits(s: Script) -> None:
    """Up to version 6 a commit has no instance; the id decides alone."""
    s.stable("a")
    s.commit("a", offset=5, version=6)
    s.commit("a", offset=6, version=6, generation=GenerationOf("a", plus=1))
    s.fetch("a", at_most=5)


@case("COMMIT-STABLE", "FETCH-ANYBODY")
def offsets_pass_to_the_next_process(s: Script) -> None:
    """What a static member committed is there for the process that replaces it."""
    s.stable("A1", "B1")
    s.commit("B1", offset=6)
    s.join("B2", wait=True)
    s.fetch("B2")
    s.commit("B2", offset=8)
    s.fetch("B2")


@case("FETCH-ANYBODY")
def nothing_stored(s: Script) -> None:
    """Where nothing is stored the offset is -1, in a group that exists and in one that doesn't."""
    s.fetch("admin")
    s.stable("A1")
    s.fetch("admin")


@case("FETCH-ANYBODY", "COMMIT-STABLE", apis=(("OffsetFetch", 8),))
def groups_in_one_fetch(s: Script) -> None:
    """From version 8 on a fetch names its groups."""
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
    """The offsets of a deleted topic are gone, those of another stay, and so does the group."""
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
    """With its last offsets a group that everybody left is gone, or it is left to be cleaned."""
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
    """Offsets that an administrator set are gone with their topic."""
    commit_by_hand(s, 5, topic="own")
    s.delete_topics("own")
    s.pause()
    s.fetch("admin", topic="own")
    s.list_groups()


@case("TOPICS-DELETED", "FETCH-ANYBODY", "DESCRIBE-UNSTABLE", features=_DELETES, config=_CLEANER)
def offsets_of_another_topic_keep_an_empty_group(s: Script) -> None:
    """A group that everybody left is kept by the offsets of another topic, with its generation."""
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
    """A commit to a deleted topic is refused, whoever sends it; others are stored as before."""
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
    """A rebalance goes on while offsets are removed: joins wait, and are answered as ever."""
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
    """Offsets that were removed with their topic are not there after a failover, others are."""
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
    """A group that doesn't exist is not found, whether the topic exists or not."""
    s.delete_offsets("t")
    s.delete_offsets("missing-t")


@case("OFFSET-DELETE-GROUP-ID-INVALID", apis=_OFFSET_DELETE, features=("missing-topics",))
def offsets_of_the_group_of_no_name(s: Script) -> None:
    """The group of no name has no offsets to delete, whether the topic exists or not."""
    s.delete_offsets("t", group="")
    s.delete_offsets("missing-t", group="")


@case("OFFSET-DELETE-EMPTY", "FETCH-ANYBODY", apis=_OFFSET_DELETE)
def one_offset_of_two(s: Script) -> None:
    """Without members the offset that is named goes, and the other stays."""
    commit_by_hand(s, 7, metadata=("", ""))
    s.delete_offsets("t")
    s.fetch("admin", partitions=(0, 1))


@case("OFFSET-DELETE-LAST", "FETCH-ANYBODY", apis=_OFFSET_DELETE)
def last_offset_of_no_members(s: Script) -> None:
    """With its last offset the group is gone, or it is left to be cleaned up."""
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
    """An offset can be deleted once its static member has left; a restart finds none then."""
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
    """A topic that doesn't exist is refused, and the offset of the other one goes."""
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
    """A topic that doesn't exist is refused before the subscription is looked at."""
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
    """The members read another topic, so an offset of an earlier subscription goes."""
    s.stable("a", protocols=OTHER)
    s.commit("a", offset=5)
    s.delete_offsets("t")
    s.fetch("a")
    s.beat("a")


@case("OFFSET-DELETE-UNSUBSCRIBED", apis=_OFFSET_DELETE)
def members_that_read_another_topic_in_each_state(s: Script) -> None:
    """Nobody reads the topic: its offset goes, also while the group rebalances."""
    s.completing("a", protocols=OTHER)
    s.delete_offsets("t")
    s.synced("a")
    s.delete_offsets("t")
    s.enter("b", protocols=OTHER)
    s.settle()
    s.delete_offsets("t")


@case("OFFSET-DELETE-TYPE", apis=_OFFSET_DELETE, features=("missing-topics",))
def members_that_are_no_consumers(s: Script) -> None:
    """Nobody knows what members of another protocol type read, so no offset goes."""
    s.completing("a", protocol_type="connect")
    s.delete_offsets("t")
    s.delete_offsets("missing-t")
    s.enter("b", protocol_type="connect")
    s.settle()
    s.delete_offsets("t")


@case("OFFSET-DELETE-TYPE", "HEARTBEAT-STABLE", apis=(*_OFFSET_DELETE, ("SyncGroup", 5)))
def stable_group_of_no_consumers(s: Script) -> None:
    """No offset goes of a stable group of another protocol type, and its members go on."""
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
    """An offset of a topic that a member reads stays, in each state."""
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
    """An absent static member still reads its topic: it finds its offset when it is back."""
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
    """An absent static member that expired reads no topic any more."""
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
    """A restart is no new generation, so the group still reads what its generation read."""
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
    """The next coordinator knows from the stored members what they read."""
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
    """While members join, what the last generation read counts, and not what a newcomer reads."""
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
    """An offset that was deleted is not loaded by the next coordinator."""
    commit_by_hand(s, 7, metadata=("", ""))
    s.delete_offsets("t")
    s.restart()
    s.fetch("admin", partitions=(0, 1))
