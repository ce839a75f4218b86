"""Build cover suites: the fewest walks over every transition, or pair of rules, of a scope."""
