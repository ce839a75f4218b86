"""Evidence: one timeline of what a client sent, was answered, and what its users saw."""
