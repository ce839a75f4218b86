"""What an audit is told beforehand, and what it may assume of a log."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from fencepost.model.coordinator import Config
from fencepost.model.revision import Revision
from fencepost.model.revisions.base import KAFKA_4

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
class Settings:
    """How an audit judges.

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
        """The settings for the model: what is unknown refuses nobody."""
        return {
            DELAY: 0,
            "group.min.session.timeout.ms": 0,
            "group.max.session.timeout.ms": 2**31 - 1,
            "group.max.size": None,
            **self.config,
        }
