"""Shrink a plan: edits that make it smaller, and the search for the smallest."""
