"""Define what is done to a client in a test: steps, scenarios, faults, and their catalogue."""
