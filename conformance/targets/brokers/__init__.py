"""Brokers that are started here: Apache Kafka, kfake, tansu, the mock of librdkafka."""
