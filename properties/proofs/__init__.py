"""Prove with Z3 that every step keeps the invariants, for any number of members."""
