"""Compare two revisions: find the shortest sequence whose answers differ."""
