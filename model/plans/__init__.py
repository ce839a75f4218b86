"""Describe what a case sends and awaits: steps, plans, their JSON and words, order, binding."""
