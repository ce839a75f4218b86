"""Scenarios of the simulator, performed on a real Kafka with real consumers, and held to it."""
