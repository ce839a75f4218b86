"""The settings of an audit: the revision, the broker's configuration, and what a log may lack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from fencepost.model.coordinator import Config
from fencepost.model.revision import Revision
from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.mutants.mutants import find_revision
from fencepost.traces.files.bounded import LINE_LIMIT
from fencepost.traces.logs.log_dates import DEFAULT_PATTERN, LogDates

DELAY = "group.initial.rebalance.delay.ms"


class Gaps(Enum):
    """Which requests may be missing from a log.

    NONE: none.  DEFAULT: joins and syncs that were never answered, because their connection closed
    or the log ends first.  ANY: whatever would explain what is there.
    """

    NONE = "none"
    DEFAULT = "default"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """The settings of an audit.

    `config`: the broker's settings that are known, Kafka's names; a log tells none, so what isn't
    given is taken to be unknown.  `lag_ms`: how late a coordinator may take a request in or let a
    timer fire.  `limit`: how many states may be looked at for one answer.
    """

    revision: Revision = KAFKA_4
    config: Config = field(default_factory=dict)
    gaps: Gaps = Gaps.DEFAULT
    lag_ms: int = 500
    limit: int = 8_000

    @property
    def knows_delay(self) -> bool:
        """Whether it is known how long a rebalance from Empty waits."""
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
