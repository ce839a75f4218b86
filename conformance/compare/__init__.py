"""Compare: run the same plans against two targets, and report where they differ."""
