"""Join both protocols: groups with members of both, and their conversion in both directions."""
