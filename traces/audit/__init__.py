"""Audits of request logs: `run` a whole log, `judge` the answers, `operations` for the operator."""
