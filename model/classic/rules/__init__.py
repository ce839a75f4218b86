"""Decide requests and timers: the decision table, a module for each API."""
