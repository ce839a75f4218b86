"""Search for violations: draw, run, confirm, shrink, report."""
