"""Audits of large request logs in parts, with metrics."""
