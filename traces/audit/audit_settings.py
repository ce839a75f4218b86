"""Define the settings of an audit, and classify the lines that the model judges.

The settings are the revision, the broker's configuration, and the requests that a log may lack.

Errors of storage, of access, of partitions, and of settings that the log does not show are not part
of the group protocol: such lines say nothing about the group's state.  After "not coordinator" and
similar errors the group may have another state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from fencepost.model.coordinator import Config
from fencepost.model.messages.errors import Error
from fencepost.model.revision import Revision
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.traces.files.bounded import LINE_LIMIT
from fencepost.traces.logs.log_dates import DEFAULT_PATTERN, LogDates
from fencepost.traces.logs.request_log import LoggedExchange

DELAY = "group.initial.rebalance.delay.ms"


class Gaps(Enum):
    """The requests that may be missing from a log.

    NONE: none.  DEFAULT: joins and syncs that were never answered, because their connection closed
    or the log ends first.  ANY: all that would explain the lines.
    """

    NONE = "none"
    DEFAULT = "default"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """The settings of an audit.

    `config`: the broker's settings that are known, Kafka's names; a log has none, so others count
    as unknown.  `lag_ms`: the longest delay of a coordinator that takes a request in or lets a
    timer fire.  `limit`: the most states to try for one answer.
    """

    revision: Revision = KAFKA_4
    config: Config = field(default_factory=dict)
    gaps: Gaps = Gaps.DEFAULT
    lag_ms: int = 500
    limit: int = 8_000

    @property
    def knows_delay(self) -> bool:
        """Return True if it is known how long a rebalance from Empty waits."""
        return self.config.get(DELAY) is not None

    def machine_config(self) -> Config:
        """Return the settings for the model; an unknown limit is no limit."""
        return {
            DELAY: 0,
            "group.min.session.timeout.ms": 0,
            "group.max.session.timeout.ms": 2**31 - 1,
            "group.max.size": None,
            "offsets.retention.check.interval.ms": 600_000,
            **self.config,
        }


@dataclass(frozen=True)
class LogOptions:
    """The options of `fencepost audit`: how a log is read and judged."""

    revision: str = "kafka-4"
    gaps: str = Gaps.DEFAULT.value
    lag_ms: int = 500
    config: Mapping[str, int] = field(default_factory=dict)
    skew: Mapping[str, int] = field(default_factory=dict)
    date_pattern: str = DEFAULT_PATTERN
    timezone: str = "UTC"
    groups: tuple[str, ...] = ()
    line_limit: int = LINE_LIMIT

    def settings(self) -> AuditSettings:
        """Return the settings of the audit.  Raises KeyError for an unknown revision."""
        return AuditSettings(
            find_revision(self.revision), dict(self.config), Gaps(self.gaps), self.lag_ms
        )

    def dates(self) -> LogDates:
        """Return the reader of dates.  Raises DatePatternError."""
        return LogDates(self.date_pattern, self.timezone)


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
    """The treatment of a line."""

    JUDGED = "checked against the model"
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
        answer_body={**exchange.answer_body, "topics": [{"name": "t", "partitions": [code]}]},
    )


def error_of(exchange: LoggedExchange) -> Any:
    """Return the error code of an answer; of a commit the group's, or None if it has none."""
    body = exchange.answer_body
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
        for topic in exchange.answer_body.get("topics") or ()
        for partition in topic.get("partitions") or ()
    }
    about = codes & _GROUP_ERRORS
    if not about:
        return None
    return next(iter(about)) if len(about) == 1 else max(about, key=lambda code: code != 0)
