"""Offsets go when their own retention is over, at a pass of the cleaner, and not before."""

from __future__ import annotations

from typing import Any

from fencepost.model.coordinator import Answer, Send
from fencepost.model.history.events import Answered, Event, Passed, Sent
from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.oracle.oracle import Oracle, judge

LAG = 20
CONFIG = {"group.initial.rebalance.delay.ms": 0, "offsets.retention.check.interval.ms": 600_000}
RETENTIONS = {"t": 500, "u": 800}


def exchange(number: int, at_ms: int, api: str, version: int, asks: Any, says: Any) -> list[Event]:
    send = Send(f"r{number}", "c", "app", api, version, {"groupId": "g", **asks})
    return [Sent(at_ms, send, at_ms), Answered(Answer(send.id, at_ms + 1, says))]


def commit(number: int, at_ms: int, topic: str) -> list[Event]:
    part = {"partitionIndex": 0, "committedOffset": 5, "committedMetadata": ""}
    asks = {
        "generationIdOrMemberEpoch": -1,
        "memberId": "",
        "retentionTimeMs": RETENTIONS[topic],
        "topics": [{"name": topic, "partitions": [part]}],
    }
    done = {"partitionIndex": 0, "errorCode": 0}
    says = {"throttleTimeMs": 0, "topics": [{"name": topic, "partitions": [done]}]}
    return exchange(number, at_ms, "OffsetCommit", 4, asks, says)


def fetch(number: int, at_ms: int, *offsets: int) -> list[Event]:
    topics = [{"name": topic, "partitionIndexes": [0]} for topic in RETENTIONS]
    rows = [
        {
            "name": topic,
            "partitions": [
                {
                    "partitionIndex": 0,
                    "committedOffset": offset,
                    "committedLeaderEpoch": -1,
                    "metadata": "",
                    "errorCode": 0,
                }
            ],
        }
        for topic, offset in zip(RETENTIONS, offsets, strict=True)
    ]
    asks = {"topics": topics, "requireStable": False}
    says = {"throttleTimeMs": 0, "topics": rows, "errorCode": 0}
    return exchange(number, at_ms, "OffsetFetch", 7, asks, says)


def judged(*reads: tuple[int, int, int]) -> Oracle:
    """Commit both topics at 1 s, then read both at these times."""
    history = [*commit(1, 1000, "t"), *commit(2, 1002, "u")]
    for number, read in enumerate(reads, start=3):
        history += fetch(number, *read)
    return judge(KAFKA_4, CONFIG, [*history, Passed(reads[-1][0] + 100)], lag_ms=LAG)


def test_an_offset_may_be_gone_or_there_once_its_retention_is_over() -> None:
    assert judged((1600, -1, 5)).holds()
    assert judged((1600, 5, 5)).holds()
    assert "RETENTION-EMPTY" in judged((1600, -1, 5)).verdict().used


def test_it_is_there_before() -> None:
    assert not judged((1400, -1, 5)).holds()
    assert not judged((1600, 5, -1)).holds()


def test_one_pass_may_remove_several() -> None:
    assert judged((1900, -1, -1)).holds()


def test_what_is_gone_does_not_come_back() -> None:
    assert not judged((1600, -1, 5), (1700, 5, 5)).holds()
    assert judged((1600, -1, 5), (2500, -1, -1)).holds()
