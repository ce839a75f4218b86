"""Hypothesis: state machines, strategies, and the profiles that say how long to search."""
