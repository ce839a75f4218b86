"""Name the broker's settings that the consumer protocol knows, and Kafka's defaults."""

from __future__ import annotations

from fencepost.model.coordinator import (
    CONFIG_DEFAULTS,
    MIGRATION_POLICY,
    NAMED_VALUES,
    PARTITIONS,
    Config,
)

SESSION_TIMEOUT = "group.consumer.session.timeout.ms"
HEARTBEAT_INTERVAL = "group.consumer.heartbeat.interval.ms"
ASSIGNMENT_INTERVAL = "group.consumer.assignment.interval.ms"
MAX_SIZE = "group.consumer.max.size"
SETTINGS: Config = {
    SESSION_TIMEOUT: 45_000,
    HEARTBEAT_INTERVAL: 5_000,
    ASSIGNMENT_INTERVAL: 1_000,
    MAX_SIZE: None,
    MIGRATION_POLICY: NAMED_VALUES[MIGRATION_POLICY].index("bidirectional"),
    PARTITIONS: 1,
}
"""Kafka's settings that this protocol knows, and their defaults; None: no limit."""
ALL_SETTINGS: Config = {**CONFIG_DEFAULTS, **SETTINGS}
"""Those of the classic protocol, too."""
BROKER_SETTINGS: Config = {k: v for k, v in ALL_SETTINGS.items() if k != PARTITIONS}
"""Those that are a broker's."""
