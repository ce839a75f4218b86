"""Decide heartbeats, leaves and timers of the consumer protocol: a table for each."""
