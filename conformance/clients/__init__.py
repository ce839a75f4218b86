"""Client libraries under test: drivers that run them, and the names that clients have."""
