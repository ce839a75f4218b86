"""Judges: for each obligation a pure function from evidence to a verdict."""
