"""Audit large request logs in parts, with metrics."""
