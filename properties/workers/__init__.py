"""Run tasks in worker processes."""
