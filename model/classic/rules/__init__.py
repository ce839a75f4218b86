"""Decide what a request or a timer does: the decision table, a module for each API."""
