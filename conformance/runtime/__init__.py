"""Serve a run: event loop, signals, processor time, tools that are missing."""
