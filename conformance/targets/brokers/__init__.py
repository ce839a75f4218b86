"""Start brokers: Apache Kafka, kfake, tansu, librdkafka's mock."""
