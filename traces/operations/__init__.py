"""Report rebalances and their causes, fencing and restarts in a log, for operators."""
