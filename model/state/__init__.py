"""A group as the coordinator knows it, and the work of one step on it."""
