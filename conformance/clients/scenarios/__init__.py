"""Scenarios: what is done to a client, as data."""
