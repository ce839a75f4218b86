"""Answer what an operator asks of a log: rebalances and causes, fencing, restarts."""
