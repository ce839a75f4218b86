"""Model the consumer protocol: a group, its features, the performed effects, the answers."""
