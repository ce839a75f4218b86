"""Topics for consumers: logs that have always been read to their end.

A consumer that fetches is told that there is nothing after its position, whatever that is.  So it
stays in its group, commits what it likes, and asks again after the time that it is ready to wait.

Source: Kafka's message definitions, ListOffsets and Fetch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_UNKNOWN_TOPIC_OR_PARTITION = 3
_NO_READ_REPLICA = -1


def list_offsets(body: Mapping[str, Any], topics: Mapping[str, int]) -> dict[str, Any]:
    """The beginning and the end of every partition: 0."""

    def row(name: str, partition: Mapping[str, Any]) -> dict[str, Any]:
        number = partition["partitionIndex"]
        known = 0 <= number < topics.get(name, 0)
        return {
            "partitionIndex": number,
            "errorCode": 0 if known else _UNKNOWN_TOPIC_OR_PARTITION,
            "offset": 0 if known else -1,
            "leaderEpoch": 0 if known else -1,
        }

    return {
        "topics": [
            {"name": t["name"], "partitions": [row(t["name"], p) for p in t["partitions"]]}
            for t in body["topics"]
        ]
    }


def fetched(body: Mapping[str, Any], topics: Mapping[str, int]) -> dict[str, Any]:
    """No records, at whatever offset; never a fetch session."""

    def row(name: str, partition: Mapping[str, Any]) -> dict[str, Any]:
        number, at = partition["partition"], partition["fetchOffset"]
        known = 0 <= number < topics.get(name, 0)
        return {
            "partitionIndex": number,
            "errorCode": 0 if known else _UNKNOWN_TOPIC_OR_PARTITION,
            "highWatermark": at if known else -1,
            "lastStableOffset": at if known else -1,
            "logStartOffset": 0 if known else -1,
            "abortedTransactions": None,
            "preferredReadReplica": _NO_READ_REPLICA,
            "records": None,
        }

    return {
        "errorCode": 0,
        "sessionId": 0,
        "responses": [
            {"topic": t["topic"], "partitions": [row(t["topic"], p) for p in t["partitions"]]}
            for t in body["topics"]
        ],
    }


def wait_ms(answer: Mapping[str, Any], body: Mapping[str, Any]) -> int:
    """How long a fetch is parked: as long as it likes, if there is nothing to refuse."""
    rows = [row for topic in answer["responses"] for row in topic["partitions"]]
    return 0 if any(row["errorCode"] for row in rows) else max(0, body["maxWaitMs"])
