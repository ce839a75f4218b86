"""Read request logs and server.log: dates, lines, exchanges."""
