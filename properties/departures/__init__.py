"""Describe known departures of coordinators from the model, and attribute violations to them."""
