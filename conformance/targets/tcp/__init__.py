"""Brokers at an address: connections, Kafka's wire format, security, cleaning up."""
