"""The language of the rules: features, guards, effects, errors, and what a table is."""
