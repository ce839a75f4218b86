"""Search with Hypothesis: state machines, strategies, profiles."""
