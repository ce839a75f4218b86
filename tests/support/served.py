"""A served model for tests: its settings, and how long an answer may take."""

from __future__ import annotations

QUICK = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 100}


PATIENCE_S = 60
