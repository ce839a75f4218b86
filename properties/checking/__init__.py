"""Checks of a revision: exhaustive, by random walks, and of what comes in the end (liveness)."""
