"""Assign partitions to the members of a group, as Kafka's assignors do."""
