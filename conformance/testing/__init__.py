"""For users of pytest and Hypothesis: random programs that are run against a target."""
