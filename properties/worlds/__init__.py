"""Build worlds: a group with its clients as a transition system, within a scope."""
