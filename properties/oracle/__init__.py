"""Decide whether some run of the model explains a history."""
