"""The nightly run: all searches in a given time, and one report of what is new."""
