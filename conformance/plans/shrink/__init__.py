"""Shrinking of a plan: the ways to make it smaller, and the search for the smallest."""
