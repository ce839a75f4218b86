"""Start brokers: Apache Kafka, kfake, tansu, three others, librdkafka's mock."""
