"""Model the classic protocol: a group, its features, the machine, the effects, the answers."""
