"""Search a coordinator from pytest or Hypothesis with random programs."""
