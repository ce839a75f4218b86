"""Findings: confirm a failure, shrink it to the smallest that still fails, and keep its trace."""
