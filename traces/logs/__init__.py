"""Readers of request logs: dates, lines, and the exchanges (a request with its answer) in them."""
