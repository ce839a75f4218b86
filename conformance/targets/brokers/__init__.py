"""Targets that start themselves: Apache Kafka from its jars, and kfake from its source."""
