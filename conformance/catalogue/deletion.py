"""Topics are deleted that a group has committed offsets for: the offsets go, the members stay."""

from __future__ import annotations

from fencepost.conformance.catalogue.registry import Registry
from fencepost.conformance.catalogue.script import Script

CASES = Registry()
case = CASES.case

_DELETES = ("delete-topics",)
_CLEANER = {"offsets.retention.check.interval.ms": 600_000}
"""Kafka's default.  Its old coordinator removes all groups that nobody uses when a topic goes, so
that brokers on which topics are deleted are those that may remove unused groups."""


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
    s.commit("admin", topic="own", offset=5, member_id="", generation=-1, instance=None)
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
