"""Classify lines: those that the model judges, and those that say nothing about the group's state.

Errors of storage, of access, of partitions, and of settings that the log does not show are not part
of the group protocol.  After "not coordinator" and similar errors the group may have another state.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Any

from fencepost.model.messages.errors import Error
from fencepost.traces.audit.audit_settings import AuditSettings
from fencepost.traces.logs.logged_exchange import LoggedExchange

_MOVED = frozenset(
    {
        Error.NOT_COORDINATOR.value,
        Error.COORDINATOR_LOAD_IN_PROGRESS.value,
        Error.COORDINATOR_NOT_AVAILABLE.value,
    }
)
_GROUP_ERRORS = frozenset({0, -1, 14, 15, 16, 22, 23, 24, 25, 27, 42, 82})
BEYOND = frozenset({1, 2, 3, 5, 6, 7, 12, 13, 28, 29, 30, 31, 35, 56, 100})
"""Errors that say nothing about a group: of storage, of access, of a single partition."""

_EPOCH_SINCE = 6
_JUDGED = frozenset(
    {"JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "DescribeGroups"}
)


class LineKind(Enum):
    """How a line is treated."""

    JUDGED = "held to the model"
    MOVED = "the coordinator is not there"
    NEUTRAL = "says nothing of the group"


def kind(exchange: LoggedExchange, settings: AuditSettings) -> LineKind:
    """Return how a line about one group is treated."""
    if exchange.api not in _JUDGED:
        return LineKind.NEUTRAL
    code = error_of(exchange)
    if code is None:
        return LineKind.NEUTRAL
    if code in _MOVED:
        return LineKind.MOVED
    unset = {
        Error.INVALID_SESSION_TIMEOUT.value: "group.min.session.timeout.ms",
        Error.GROUP_MAX_SIZE_REACHED.value: "group.max.size",
    }.get(code)
    if unset is not None and settings.config.get(unset) is None:
        return LineKind.NEUTRAL
    return LineKind.NEUTRAL if code in BEYOND else LineKind.JUDGED


def judged(exchange: LoggedExchange) -> LoggedExchange:
    """Return the exchange as the model judges it: a commit without its offsets."""
    if exchange.api != "OffsetCommit":
        return exchange
    part: dict[str, Any] = {"partitionIndex": 0, "committedOffset": 0, "committedMetadata": ""}
    if exchange.version >= _EPOCH_SINCE:
        part["committedLeaderEpoch"] = -1
    if exchange.version == 1:
        part["commitTimestamp"] = -1
    code = {"partitionIndex": 0, "errorCode": commit_error(exchange)}
    return replace(
        exchange,
        request_body={**exchange.request_body, "topics": [{"name": "t", "partitions": [part]}]},
        response_body={**exchange.response_body, "topics": [{"name": "t", "partitions": [code]}]},
    )


def error_of(exchange: LoggedExchange) -> Any:
    """Return the error code of an answer; of a commit the group's, or None if it has none."""
    body = exchange.response_body
    if exchange.api == "OffsetCommit":
        return commit_error(exchange)
    if exchange.api == "DescribeGroups":
        groups = body.get("groups") or [{}]
        return groups[0].get("errorCode", 0) if isinstance(groups[0], dict) else 0
    return body.get("errorCode", 0)


def commit_error(exchange: LoggedExchange) -> Any:
    """Return the group's error code in a commit: 0 if a partition was stored, None if unknown."""
    codes = {
        partition.get("errorCode")
        for topic in exchange.response_body.get("topics") or ()
        for partition in topic.get("partitions") or ()
    }
    about = codes & _GROUP_ERRORS
    if not about:
        return None
    return next(iter(about)) if len(about) == 1 else max(about, key=lambda code: code != 0)
