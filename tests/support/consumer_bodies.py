"""Bodies of requests of the consumer protocol, for tests that send JSON or bytes."""

from __future__ import annotations

from typing import Any


def heartbeat_body(member: str, epoch: int, **changes: Any) -> dict[str, Any]:
    """Return a heartbeat of version 1 in group g: a join to topic t, if the epoch is 0."""
    full = epoch == 0
    return {
        "groupId": "g",
        "memberId": member,
        "memberEpoch": epoch,
        "instanceId": None,
        "rackId": None,
        "rebalanceTimeoutMs": 30_000 if full else -1,
        "subscribedTopicNames": ["t"] if full else None,
        "subscribedTopicRegex": None,
        "serverAssignor": None,
        "topicPartitions": [] if full else None,
        **changes,
    }


def commit_body(member: str, epoch: int, *topics: str) -> dict[str, Any]:
    """Return an OffsetCommit of version 9 in group g: offset 1 of partition 0 of each topic."""
    partition = {
        "partitionIndex": 0,
        "committedOffset": 1,
        "committedLeaderEpoch": -1,
        "committedMetadata": "",
    }
    return {
        "groupId": "g",
        "generationIdOrMemberEpoch": epoch,
        "memberId": member,
        "groupInstanceId": None,
        "topics": [{"name": name, "partitions": [partition]} for name in topics],
    }


def assigned_partitions(body: dict[str, Any]) -> dict[str, list[int]]:
    """Return the partitions in an assignment, by the id of their topic."""
    return {row["topicId"]: row["partitions"] for row in body["assignment"]["topicPartitions"]}
