"""Cover suites: the fewest walks over every transition, or every pair of rules, of a scope."""
