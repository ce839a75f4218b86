"""Run scenarios: brokers, drivers, and what is waited for."""
