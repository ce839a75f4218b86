"""The end of an offset's own retention: what removes it, what keeps it, and what it is read by."""

from __future__ import annotations

import struct

import pytest
from msgspec.structs import replace

from fencepost.model.classic.group import Group, Member, Offset
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.machine import Machine
from fencepost.model.messages.messages import (
    CommitPartition,
    CommitTopic,
    FetchTopic,
    JoinProtocol,
    OffsetCommitRequest,
    OffsetFetchRequest,
)
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.revisions.revisions import find
from fencepost.model.work import CLEANUP, RETENTION, Incoming, Outcome, Span, Timer

CLEANS = {"offsets.retention.check.interval.ms": 50}
SUBSCRIPTION = struct.pack(">hi", 0, 1) + struct.pack(">h", 1) + b"t" + struct.pack(">i", -1)
MEMBER = Member(
    "m", "A", "app", 6000, 6000, (JoinProtocol(name="range", metadata=SUBSCRIPTION),), new=False
)
READ, UNREAD = Offset("t", 0, 5, "", 20), Offset("u", 0, 6, "", 30)
MEMBERS = Group(
    state=GroupState.STABLE,
    generation_id=1,
    protocol_type="consumer",
    protocol_name="range",
    leader="m",
    members=(MEMBER,),
    static=(("A", "m"),),
    offsets=(READ, UNREAD),
)
NOBODY = Group(generation_id=2, offsets=(READ, UNREAD))


def machine(revision: str = "kafka-4") -> Machine:
    return Machine(find(revision), CLEANS)


def kept(group: Group, topic: str, at_ms: int, revision: str = "kafka-4") -> list[list[str]]:
    """The topics whose offsets are left, of each outcome of a pass at a time."""
    outcomes = machine(revision).expire(
        group, Timer(RETENTION, topic, at_ms, at_ms), Span(at_ms, at_ms)
    )
    return [
        [o.topic for o in outcome.group.offsets] if outcome.group else [] for outcome in outcomes
    ]


def committed(retention_ms: int, version: int = 4) -> Group:
    part = CommitPartition(partition_index=0, committed_offset=7)
    commit = OffsetCommitRequest(
        group_id="g",
        member_id="",
        generation_id=-1,
        retention_time_ms=retention_ms,
        topics=(CommitTopic(name="t", partitions=(part,)),),
    )
    incoming = Incoming("r", "app", "OffsetCommit", version, commit, "")
    (outcome,) = machine().handle(None, incoming, Span(100, 120), group_id="g")
    group: Group = outcome.group
    return group


def fetched(group: Group, at_ms: int, revision: str = "kafka-4") -> Outcome:
    fetch = OffsetFetchRequest(group_id="g", topics=(FetchTopic(name="t", partition_indexes=(0,)),))
    (outcome,) = machine(revision).handle(
        group, Incoming("r", "app", "OffsetFetch", 7, fetch, ""), Span(at_ms, at_ms), group_id="g"
    )
    return outcome


def test_a_commit_may_ask_for_a_retention_which_begins_with_it() -> None:
    assert committed(10).offsets == (Offset("t", 0, 7, "", 110),)
    assert committed(-1).offsets == (Offset("t", 0, 7, "", None),)


def test_a_pass_may_remove_what_has_expired_by_then_and_nothing_else() -> None:
    assert machine().cleaned(NOBODY) == (
        Timer(RETENTION, "t", 20, 20),
        Timer(RETENTION, "u", 30, 30),
    )
    assert kept(NOBODY, "t", 20) == [["u"]]
    assert kept(NOBODY, "t", 19) == [["t", "u"]]


def test_with_its_last_offset_a_group_without_members_may_go() -> None:
    last = replace(NOBODY, offsets=(READ,))
    outcomes = machine().expire(last, Timer(RETENTION, "t", 20, 20), Span(20, 20))
    assert [o.group is None for o in outcomes] == [False, True]
    assert outcomes[1].rules == ("RETENTION-EMPTY", "CLEANUP-UNUSED")


def test_nothing_expires_where_nothing_cleans() -> None:
    assert Machine(KAFKA_4).cleaned(NOBODY) == ()
    assert Machine(KAFKA_4).cleaned(Group()) == ()
    assert machine().cleaned(Group()) == (Timer(CLEANUP, "", 0, 0),)


def test_what_a_member_reads_stays_and_the_rest_goes() -> None:
    assert kept(MEMBERS, "t", 99) == [["t", "u"]]
    assert kept(MEMBERS, "u", 99) == [["t"]]
    others = replace(MEMBERS, protocol_type="connect")
    assert kept(others, "u", 99) == [["t", "u"]]


@pytest.mark.parametrize("state", [GroupState.PREPARING, GroupState.COMPLETING])
def test_while_a_group_rebalances_everything_stays_unless_the_release_has_kafka_13636(
    state: GroupState,
) -> None:
    stored = replace(MEMBERS, offsets=())
    rebalancing = replace(MEMBERS, state=state, stored=stored)
    for revision in ("kafka-4", "kafka-3.0", "kafka-3.1", "kafka-2.3"):
        assert kept(rebalancing, "u", 99, revision) == [["t", "u"]]
    for revision in ("kafka-2.8", "kafka-3.0.0", "kafka-3.1.0"):
        assert kept(rebalancing, "u", 99, revision) == [["t"]]
        assert kept(rebalancing, "t", 99, revision) == [["t", "u"]]


def test_an_offset_that_is_kept_is_read_by_the_rule_that_keeps_it() -> None:
    outcome = fetched(MEMBERS, 25)
    assert outcome.rules == ("FETCH-ANYBODY", "RETENTION-SUBSCRIBED")
    assert outcome.emissions[0].rule == "RETENTION-SUBSCRIBED"
    assert fetched(MEMBERS, 19).rules == ("FETCH-ANYBODY",)
    assert fetched(NOBODY, 99).rules == ("FETCH-ANYBODY",)
