"""Brokers that are started here: Apache Kafka, kfake, the mock of librdkafka."""
