"""Run all searches in a given time, and report what is new."""
