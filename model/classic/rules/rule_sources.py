"""Names for the sources of rules: sections of KIP-345 and other KIPs, and Kafka's behaviour."""

from __future__ import annotations

KIP_BACKGROUND = 'KIP-345 "Background of Consumer Rebalance"'
KIP_JOIN = 'KIP-345 "Join Group Logic Change"'
KIP_LEAVE = 'KIP-345 "Leave Group Logic Change"'
KIP_COMMAND = 'KIP-345 "Command Line API for Membership Management"'
KIP_ROLLING = 'KIP-345 "Rolling Bounce"'
KIP_SCALE_DOWN = 'KIP-345 "Scale Down"'
KIP_FAULT = 'KIP-345 "Fault-tolerance of Static Membership"'
KIP_SWITCH = 'KIP-345 "Switching from Static Member to Dynamic Member"'
KIP_CLIENT = 'KIP-345 "Client Behavior Changes"'
KIP_SERVER_CONFIG = 'KIP-345 "Server Side Changes"'
KIP_PUBLIC = 'KIP-345 "Public Interfaces"'
KIP_NON_GOAL = 'KIP-345 "Non Goal", update of 2/12'
KIP_FUTURE = 'KIP-345 "Future Works"'
KIP_134 = "KIP-134 (initial rebalance delay)"
KIP_389 = "KIP-389 (group.max.size)"
KIP_394 = "KIP-394 (a member id is required)"
KIP_814 = "KIP-814 (a static leader skips assignment)"
KAFKA_CHECKS = "Kafka: order of checks before a request is handled"
KAFKA_JOIN = "Kafka: handling of joins by state"
KAFKA_VALIDATE = "Kafka: validation of member and instance, fencing first"
KAFKA_SYNC = "Kafka: handling of syncs by state"
KAFKA_HEARTBEAT = "Kafka: handling of heartbeats by state"
KAFKA_COMMIT = "Kafka: handling of commits by state"
KAFKA_ADMIN = "Kafka: administration of groups"
KAFKA_TIMERS = "Kafka: timers of the group coordinator"
KAFKA_FAILOVER = "Kafka: loading of groups by a new coordinator"
KAFKA_CLEANUP = "Kafka: cleaning of groups (offsets.retention.check.interval.ms)"
KAFKA_DELETION = "Kafka: removal of the offsets of deleted topics"
KAFKA_STORING = "Kafka: what can't be written (message.max.bytes); seen on 2.8.0 to 4.3.0"
KAFKA_METADATA = "Kafka: metadata of offsets (offset.metadata.max.bytes)"
KAFKA_9801 = "KAFKA-9801"
KAFKA_10134 = "KAFKA-10134, since 2.6.1"
KAFKA_12890 = "KAFKA-12890, since 2.8.1"
KAFKA_8487 = "KAFKA-8487"

NEVER_DEAD = "no request of these APIs leaves a group Dead; it is gone at once"
