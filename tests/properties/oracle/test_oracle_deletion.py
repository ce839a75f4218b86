"""Deleted topics: their offsets go within a window, from each group, whatever is under way."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.model.coordinator import Answer, Send
from fencepost.model.history.events import Answered, Event, Handled, Passed, Sent, TopicsDeleted
from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.oracle.oracle import Oracle, judge
from fencepost.properties.oracle.witness import run_beside

LAG = 50
GONE, STORED = -1, 5


def commit(rid: str, topic: str = "own") -> Send:
    part = {"partitionIndex": 0, "committedOffset": STORED, "committedMetadata": ""}
    topics = [{"name": topic, "partitions": [part]}]
    return Send(rid, rid, "c", "OffsetCommit", 2, {**NOBODY, "topics": topics})


NOBODY: dict[str, Any] = {
    "groupId": "g",
    "generationIdOrMemberEpoch": -1,
    "memberId": "",
    "retentionTimeMs": -1,
}


def committed(rid: str, at_ms: int, code: int = 0, topic: str = "own") -> Answered:
    rows = [{"name": topic, "partitions": [{"partitionIndex": 0, "errorCode": code}]}]
    return Answered(Answer(rid, at_ms, {"topics": rows}))


def fetch(rid: str, topic: str = "own") -> Send:
    topics = [{"name": topic, "partitionIndexes": [0]}]
    return Send(rid, rid, "c", "OffsetFetch", 1, {"groupId": "g", "topics": topics})


def fetched(rid: str, at_ms: int, offset: int, topic: str = "own") -> Answered:
    row = {"partitionIndex": 0, "committedOffset": offset, "metadata": "", "errorCode": 0}
    return Answered(Answer(rid, at_ms, {"topics": [{"name": topic, "partitions": [row]}]}))


def described(rid: str, at_ms: int, state: str) -> Answered:
    row = {
        "errorCode": 0,
        "groupId": "g",
        "groupState": state,
        "protocolType": "",
        "protocolData": "",
        "members": [],
    }
    return Answered(Answer(rid, at_ms, {"groups": [row]}))


DESCRIBE = Send("d", "d", "c", "DescribeGroups", 0, {"groups": ["g"]})
BEFORE: tuple[Event, ...] = (Sent(0, commit("r1")), committed("r1", 0), Handled(0))
REAL: tuple[Event, ...] = (Sent(0, commit("r1")), committed("r1", 10))


def judged(*events: Event, lag_ms: int) -> Oracle:
    return judge(KAFKA_4, {}, list(events), lag_ms=lag_ms)


def holds(*events: Event, lag_ms: int = LAG) -> bool:
    oracle = judged(*events, lag_ms=lag_ms)
    assert oracle.unknown is None
    return oracle.violation is None


@pytest.mark.parametrize(("offset", "right"), [(GONE, True), (STORED, False)])
def test_on_a_virtual_clock_they_go_at_once(offset: int, right: bool) -> None:
    after = (TopicsDeleted(3, ("own",)), Sent(3, fetch("r2")), fetched("r2", 3, offset), Handled(3))
    assert holds(*BEFORE, *after, lag_ms=0) is right


@pytest.mark.parametrize(("offset", "right"), [(STORED, True), (GONE, False)])
def test_those_of_another_topic_stay(offset: int, right: bool) -> None:
    after = (TopicsDeleted(3, ("t",)), Sent(3, fetch("r2")), fetched("r2", 3, offset), Handled(3))
    assert holds(*BEFORE, *after, lag_ms=0) is right


@pytest.mark.parametrize(
    ("at_ms", "offset", "right"),
    [
        (220, GONE, True),
        (220, STORED, True),  # the coordinator has still to learn of it
        (400, GONE, True),
        (400, STORED, False),
    ],
)
def test_on_a_real_clock_they_go_within_the_lag(at_ms: int, offset: int, right: bool) -> None:
    deleted = TopicsDeleted(100, ("own",), 200)
    after = (Sent(at_ms, fetch("r2")), fetched("r2", at_ms + 5, offset))
    assert holds(*REAL, deleted, Passed(at_ms - 1), *after) is right


def test_they_do_not_come_back() -> None:
    first = (Sent(210, fetch("r2")), fetched("r2", 215, GONE))
    again = (Sent(220, fetch("r3")), fetched("r3", 225, STORED))
    assert not holds(*REAL, TopicsDeleted(100, ("own",), 200), *first, *again)


def test_what_is_answered_while_they_are_deleted_may_come_later_or_earlier() -> None:
    asked = (*REAL, Sent(95, fetch("r2")), TopicsDeleted(100, ("own",), 200))
    assert holds(*asked, fetched("r2", 120, STORED))
    assert holds(*asked, fetched("r2", 120, GONE))


@pytest.mark.parametrize("code", [0, 3])
def test_a_commit_that_is_under_way_may_find_the_topic_or_not(code: int) -> None:
    deleted = TopicsDeleted(100, ("own", "other"), 200)
    assert holds(*REAL, Sent(95, commit("r2")), deleted, committed("r2", 130, code))


@pytest.mark.parametrize(("code", "right"), [(0, False), (3, True)])
def test_a_later_commit_finds_none(code: int, right: bool) -> None:
    deleted = TopicsDeleted(100, ("own",), 200)
    assert holds(*REAL, deleted, Sent(210, commit("r2")), committed("r2", 220, code)) is right


@pytest.mark.parametrize("state", ["Empty", "Dead"])
def test_a_group_that_nobody_uses_then_stays_or_goes(state: str) -> None:
    after = (Sent(400, DESCRIBE), described("d", 405, state))
    assert holds(*REAL, TopicsDeleted(100, ("own",), 200), Passed(399), *after)


def test_a_group_with_other_offsets_stays() -> None:
    other = (Sent(20, commit("r2", "t")), committed("r2", 30, topic="t"))
    after = (Sent(400, DESCRIBE), described("d", 405, "Dead"))
    assert not holds(*REAL, *other, TopicsDeleted(100, ("own",), 200), Passed(399), *after)


def test_the_run_beside_it_tells_which_topics_went() -> None:
    after = (TopicsDeleted(3, ("own",)), Sent(3, fetch("r2")), fetched("r2", 3, GONE), Handled(3))
    run = run_beside(KAFKA_4, {}, [*BEFORE, *after], lag_ms=0)
    assert [step.outcome.rules for step in run.steps if step.done] == [("TOPICS-DELETED",)]
