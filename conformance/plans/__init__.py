"""Plans: what a case sends and waits for, in order; as JSON, in words, and made smaller."""
