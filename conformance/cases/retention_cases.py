"""Retention of offsets: commits of versions 2 to 4 may ask for one of their own.

Once it is over, the offset goes, unless a member may read it: one of a group that rebalances, or a
static one that is away.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.limits import CLEANED
from fencepost.conformance.cases.offset_cases import OTHER, OWN, OWN_TOPIC, commit_by_hand
from fencepost.conformance.cases.script import Script
from fencepost.model.plans.steps import Ms

CASES = Registry()
_LAST = 4
"""The last version of OffsetCommit that carries a retention."""
case = partial(CASES.case, apis=(("OffsetCommit", _LAST),), config=CLEANED)

_OVER_MS, _LONG_MS = 1, 600_000


def commit_for(s: Script, who: str, ms: int, *, offset: int, **fields: Any) -> None:
    """Commit as a member, with a retention in ms; these versions name no instance."""
    s.commit(who, offset=offset, retention_time_ms=ms, at_most=_LAST, instance=None, **fields)


def nobody_commits_for(s: Script, ms: int, *, offset: int, **fields: Any) -> None:
    """Commit as an administrator's tool does, with a retention in ms."""
    commit_by_hand(s, offset, retention_time_ms=ms, at_most=_LAST, **fields)


def passes(s: Script) -> None:
    """Let the cleaner pass by several times."""
    s.pause("short rebalance")


@case("RETENTION-EMPTY", "FETCH-ANYBODY")
def retention_of_no_members(s: Script) -> None:
    """An offset was committed from outside: it is removed after its retention, not before."""
    nobody_commits_for(s, _LONG_MS, offset=5)
    nobody_commits_for(s, _OVER_MS, offset=6, metadata=("", ""))
    nobody_commits_for(s, _LONG_MS, offset=7)
    passes(s)
    s.fetch("admin", partitions=(0, 1))


@case("COMMIT-EMPTY-GROUP", "FETCH-ANYBODY")
def later_commit_without_a_retention(s: Script) -> None:
    """A second commit has another retention than the first: the second counts."""
    s.stable("A1")
    s.leave("A1")
    nobody_commits_for(s, _OVER_MS, offset=5)
    commit_by_hand(s, 6)
    passes(s)
    s.fetch("admin")
    s.describe()


@case("RETENTION-EMPTY", "COMMIT-STABLE", "FETCH-ANYBODY")
def retention_of_a_group_that_everybody_left(s: Script) -> None:
    """All members have left: an offset stays for its retention, and keeps the group."""
    s.stable("A1")
    commit_for(s, "A1", _LONG_MS, offset=5, metadata=("", ""))
    commit_for(s, "A1", _OVER_MS, offset=6)
    s.leave("A1")
    passes(s)
    s.fetch("admin", partitions=(0, 1))
    s.describe()


@case("RETENTION-SUBSCRIBED", "COMMIT-STABLE", "FETCH-ANYBODY", features=OWN_TOPIC)
def retention_of_a_topic_that_a_member_reads(s: Script) -> None:
    """The retention of a topic that a member subscribes to is over: the offset stays."""
    s.stable("a", protocols=OWN)
    commit_for(s, "a", _OVER_MS, offset=5, topic="own")
    passes(s)
    s.fetch("a", topic="own")
    s.beat("a")


@case("RETENTION-SUBSCRIBED", "JOIN-STATIC-EMPTY-STABLE", "FETCH-ANYBODY", features=OWN_TOPIC)
def retention_while_a_static_member_is_away(s: Script) -> None:
    """A static member is absent longer than the retention: its restart finds the offset."""
    s.stable("A1", protocols=OWN)
    commit_for(s, "A1", _OVER_MS, offset=5, topic="own")
    s.disconnect("A1")
    passes(s)
    s.join("A2", protocols=OWN, wait=True)
    s.fetch("A2", topic="own")


@case("RETENTION-SUBSCRIBED", "JOIN-STATIC-EMPTY-STABLE", "FETCH-ANYBODY", features=OWN_TOPIC)
def retention_when_a_restart_reads_another_topic(s: Script) -> None:
    """A restart subscribes to another topic: the offsets of the generation's topics stay."""
    s.stable("A1", protocols=OWN)
    commit_for(s, "A1", _OVER_MS, offset=5, topic="own")
    s.join("A2", protocols=OTHER, wait=True)
    passes(s)
    s.fetch("A2", topic="own")


@case("RETENTION-SUBSCRIBED", "FAILOVER-STABLE", "FETCH-ANYBODY", features=(*OWN_TOPIC, "restart"))
def retention_after_a_failover(s: Script) -> None:
    """The retention is over after a failover: stored subscriptions still keep their offsets."""
    s.stable("A1", protocols=OWN)
    commit_for(s, "A1", _OVER_MS, offset=5, topic="own")
    s.restart()
    passes(s)
    s.fetch("A1", topic="own")


@case("SESSION-EXPIRED", "RETENTION-EMPTY", "FETCH-ANYBODY", features=OWN_TOPIC)
def retention_when_the_session_of_a_static_member_ended(s: Script) -> None:
    """An absent static member expires: offsets whose retention is over are removed."""
    s.says("A1", session=Ms("short session"))
    s.stable("A1", protocols=OWN)
    commit_for(s, "A1", _OVER_MS, offset=5, topic="own")
    s.commit("A1", offset=6)
    s.disconnect("A1")
    s.pause("short session")
    passes(s)
    s.fetch("admin", topic="own")
    s.fetch("admin")


@case("RETENTION-UNSUBSCRIBED", "COMMIT-STABLE", "FETCH-ANYBODY")
def retention_of_a_topic_that_no_member_reads(s: Script) -> None:
    """The retention of a topic that no member subscribes to is over: the offset is removed."""
    s.stable("a", protocols=OTHER)
    commit_for(s, "a", _OVER_MS, offset=5, metadata=("", ""))
    commit_for(s, "a", _LONG_MS, offset=6)
    passes(s)
    s.fetch("a", partitions=(0, 1))
    s.beat("a")


@case(
    "RETENTION-REBALANCING",
    "COMMIT-PREPARING",
    "JOIN-PHASE-ALL-JOINED",
    "FETCH-ANYBODY",
    features=OWN_TOPIC,
)
def retention_while_a_group_rebalances(s: Script) -> None:
    """The retention is over while a group rebalances: all offsets stay (KAFKA-13636)."""
    s.stable("a", "b", protocols=OWN)
    s.enter("n", protocols=OWN, settle=True)
    s.pause()
    commit_for(s, "a", _OVER_MS, offset=5)
    commit_for(s, "b", _OVER_MS, offset=6, topic="own")
    passes(s)
    s.fetch("a")
    s.fetch("b", topic="own")
    s.join("a", "b", protocols=OWN, wait=("a", "b", "n"))
    passes(s)
    s.fetch("a")
    s.fetch("b", topic="own")


@case("RETENTION-TYPE", "FETCH-ANYBODY")
def retention_of_members_that_are_no_consumers(s: Script) -> None:
    """The retention is over in a group of another protocol type: the offset stays."""
    s.completing("a", protocol_type="connect")
    s.sync("a", protocol_type="connect", at_most=4, wait=True)
    commit_for(s, "a", _OVER_MS, offset=5)
    passes(s)
    s.fetch("a")
    s.enter("b", protocol_type="connect")
    passes(s)
    s.fetch("a")
    s.join("a", protocol_type="connect", wait=("a", "b"))
    passes(s)
    s.fetch("a")
