"""Name the sources of the consumer protocol's rules: KIPs, tickets, and measured brokers.

The KIP and Kafka disagree on some rules, and on some Kafka changes its mind: these are MAY.
"""

from __future__ import annotations

_ALL = "seen on 4.0.1 to 4.4.0"
KIP_JOIN = f"KIP-848 (joining with epoch 0); {_ALL}"
KIP_STATIC = f"KIP-848 (static members); {_ALL}"
KIP_HEARTBEAT = f"KIP-848 (heartbeats and epochs); {_ALL}"
KIP_LEAVE = f"KIP-848 (leaving with -1 or -2); {_ALL}"
KIP_TIMERS = f"KIP-848 (session and rebalance timeout); {_ALL}"
KAFKA_VALIDATE = f"Kafka: validation of ConsumerGroupHeartbeat; {_ALL}"
KIP_IDS = f"KIP-1082 (ids made by clients); {_ALL}"
KAFKA_SIZE = "Kafka: group.consumer.max.size; seen on 4.0.1 to 4.3.1"
KAFKA_CHECKS = "Kafka: order of checks before a request is handled"
KAFKA_19233 = "KAFKA-19233, since 4.2; seen on 4.2.0 to 4.4.0"
KAFKA_DANGLING = "KAFKA-20747; seen on 4.0.1 to 4.3.1"
KAFKA_STATIC = f"Kafka: members that change their instance; {_ALL}"
KIP_OFFSETS = f"KIP-848 (OffsetCommit and OffsetFetch version 9); {_ALL}"
KIP_1251 = "KIP-1251 (commits of an older epoch), since 4.3; seen on 4.3.0 to 4.4.0"
KIP_447 = f"KIP-447 (TxnOffsetCommit version 3); {_ALL}"
KAFKA_COMMIT = "Kafka: handling of commits and fetches"
KAFKA_REMOVAL = f"KIP-345 and KIP-848 (administration); {_ALL}"
KAFKA_ADMIN = f"KIP-848 (ConsumerGroupDescribe); {_ALL}"
KAFKA_DELETING = f"KIP-229 (DeleteGroups); {_ALL}"
KIP_1043 = f"KIP-1043 (administration of groups); {_ALL}"
KAFKA_FAILOVER = f"Kafka: loading of groups by a new coordinator; {_ALL}"
KAFKA_20641 = f"KAFKA-20641; {_ALL}"
KAFKA_CLEANUP = "Kafka: cleaning of groups (offsets.retention.check.interval.ms)"
