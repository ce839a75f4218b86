"""Name the sources of the rules of mixed groups: KIPs, tickets, and measured brokers."""

from __future__ import annotations

_ALL = "seen on 4.0.1 to 4.4.0"
KIP_MIGRATION = f"KIP-848 (migration of groups); {_ALL}"
KAFKA_MIXED = f"Kafka: classic members of consumer groups; {_ALL}"
KAFKA_POLICY = "Kafka: group.consumer.migration.policy; seen on 4.3.1 and 4.4.0"
KAFKA_EPOCH = "Kafka: classic members and newer epochs; seen on 4.0.1 to 4.2.0"
KAFKA_BROKEN = "Kafka: subscriptions that can't be read; seen on 4.0.1 to 4.3.1"
