"""Define the actions on a client in a test: steps, scenarios, faults, and their catalogue."""
