"""What an operator asks of a log: rebalances and their causes, fencing, restarts, timeouts."""
