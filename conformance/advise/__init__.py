"""What to set for a consumer group, from what is known about it or from its logs."""
