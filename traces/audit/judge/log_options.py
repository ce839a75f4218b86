"""What a request log is read and judged by, in words: the options of whoever audits one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fencepost.properties.mutants.catalogue import find_revision
from fencepost.traces.audit.judge.settings import Gaps, Settings
from fencepost.traces.logs.log_dates import DEFAULT_PATTERN, LogDates


@dataclass(frozen=True)
class LogOptions:
    """How a log is read and judged, in words; as the options of `fencepost audit`."""

    revision: str = "kafka-4"
    gaps: str = Gaps.DEFAULT.value
    lag_ms: int = 500
    config: Mapping[str, int] = field(default_factory=dict)
    skew: Mapping[str, int] = field(default_factory=dict)
    date_pattern: str = DEFAULT_PATTERN
    timezone: str = "UTC"
    groups: tuple[str, ...] = ()

    def settings(self) -> Settings:
        """For the judge.  Raises KeyError for a revision that there isn't."""
        return Settings(
            find_revision(self.revision), dict(self.config), Gaps(self.gaps), self.lag_ms
        )

    def dates(self) -> LogDates:
        """For the reader.  Raises DatePatternError."""
        return LogDates(self.date_pattern, self.timezone)
