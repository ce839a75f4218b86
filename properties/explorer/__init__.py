"""Exhaustive exploration of a transition system: breadth first, with any number of processes."""
