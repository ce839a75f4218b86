"""Requests and answers: Kafka's field names, and the exact shape of every version."""
