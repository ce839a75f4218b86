"""Write lines of Kafka's request log, for logs made by the model.

The lines look like those of Kafka 4.3, also with the fields that nothing here reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from fencepost.model.messages.messages import APIS

_NAMES = {
    "JoinGroup": "JOIN_GROUP",
    "SyncGroup": "SYNC_GROUP",
    "Heartbeat": "HEARTBEAT",
    "LeaveGroup": "LEAVE_GROUP",
    "OffsetCommit": "OFFSET_COMMIT",
    "OffsetFetch": "OFFSET_FETCH",
    "DescribeGroups": "DESCRIBE_GROUPS",
    "ListGroups": "LIST_GROUPS",
}


def request_log_line(
    api: str,
    version: int,
    client_id: str,
    connection: str,
    arrived_ms: float,
    answered_ms: float,
    request: Mapping[str, Any],
    response: Mapping[str, Any],
    *,
    correlation_id: int = 0,
) -> bytes:
    """Return one line, with its end.  Times are ms since 1970; the date of the line is UTC."""
    took_ms = round(answered_ms - arrived_ms, 3)
    record = {
        "isForwarded": False,
        "requestHeader": {
            "requestApiKey": APIS[api].key,
            "requestApiVersion": version,
            "correlationId": correlation_id,
            "clientId": client_id,
            "requestApiKeyName": _NAMES[api],
        },
        "request": request,
        "response": response,
        "connection": connection,
        "totalTimeMs": took_ms,
        "requestQueueTimeMs": 0.1,
        "localTimeMs": took_ms,
        "remoteTimeMs": 0.0,
        "throttleTimeMs": 0,
        "responseQueueTimeMs": 0.05,
        "sendTimeMs": 0.1,
        "securityProtocol": "PLAINTEXT",
        "principal": "User:ANONYMOUS",
        "listener": "PLAINTEXT",
        "clientInformation": {"softwareName": "apache-kafka-java", "softwareVersion": "4.3.0"},
    }
    return b"[%s] DEBUG Completed request:%s (kafka.request.logger)\n" % (
        _date(answered_ms),
        orjson.dumps(record),
    )


_second: tuple[int, bytes] = (-1, b"")


def _date(at_ms: float) -> bytes:
    global _second  # noqa: PLW0603 - most lines share their second with the one before
    whole, millis = divmod(int(at_ms), 1000)
    if whole != _second[0]:
        text = datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%d %H:%M:%S")
        _second = whole, text.encode()
    return b"%s,%03d" % (_second[1], millis)
