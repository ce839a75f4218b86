"""Advise settings for a consumer group, from facts that are given or from its logs."""
