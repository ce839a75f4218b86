"""Topics that are deleted take their offsets with them, and nothing else."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fencepost.model.classic.group import Group, Offset
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.history.events import TopicsDeleted
from fencepost.model.machine import Machine
from fencepost.model.messages.messages import CommitPartition, CommitTopic, OffsetCommitRequest
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.work import Incoming, Span

MACHINE = Machine(KAFKA_4)
GONE, NOW = TopicsDeleted(7, ("own", "other")), Span(7, 9)
OWN, KEPT = Offset("own", 0, 5, None), Offset("t", 1, 6, None)
USED = Group(GroupState.STABLE, 3, offsets=(OWN, KEPT))


@pytest.mark.parametrize("state", [s for s in GroupState if s is not GroupState.EMPTY])
def test_a_group_in_use_loses_their_offsets_alone(state: GroupState) -> None:
    group = replace(USED, state=state, stored=Group(generation_id=2))
    (outcome,) = MACHINE.operate(group, GONE, NOW)
    assert outcome.group == replace(group, offsets=(KEPT,))
    assert (outcome.emissions, outcome.rules) == ((), ("TOPICS-DELETED",))


def test_an_empty_group_is_kept_by_other_offsets() -> None:
    group = replace(USED, state=GroupState.EMPTY)
    (outcome,) = MACHINE.operate(group, GONE, NOW)
    assert outcome.group == replace(group, offsets=(KEPT,))


@pytest.mark.parametrize("offsets", [(OWN,), ()])
def test_an_empty_group_without_others_stays_or_is_cleaned(offsets: tuple[Offset, ...]) -> None:
    group = Group(generation_id=3, pending=("p",), offsets=offsets)
    kept, cleaned = MACHINE.operate(group, GONE, NOW)
    assert kept.group == replace(group, offsets=())
    assert (cleaned.group, cleaned.rules) == (None, ("TOPICS-DELETED", "CLEANUP-UNUSED"))


def test_a_group_that_is_absent_does_not_come_to_exist() -> None:
    (outcome,) = MACHINE.operate(None, GONE, NOW)
    assert outcome.group is None


def test_a_commit_finds_no_deleted_topic() -> None:
    part = (CommitPartition(partition_index=0, committed_offset=1),)
    topics = tuple(CommitTopic(name=name, partitions=part) for name in ("own", "t"))
    commit = OffsetCommitRequest(group_id="g", topics=topics)
    asked = Incoming("r1", "c", "OffsetCommit", 8, commit, "", frozenset({"own"}))
    (outcome,) = MACHINE.handle(None, asked, NOW)
    (emission,) = outcome.emissions
    assert emission.message is not None
    rows = emission.message.to_body(8)["topics"]
    assert [row["partitions"][0]["errorCode"] for row in rows] == [3, 0]
    assert outcome.group is not None
    assert [o.topic for o in outcome.group.offsets] == ["t"]
