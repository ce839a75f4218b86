"""Worlds: a group with the clients that use it, as a transition system, within a scope."""
