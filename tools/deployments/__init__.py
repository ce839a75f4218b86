"""Perform scenarios of the simulator on a real Kafka with real consumers, and compare."""
