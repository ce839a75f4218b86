"""Audit of a broker's logs: report which recorded answers were wrong, and write their traces."""
