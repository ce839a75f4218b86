"""Decide requests of classic members in a consumer group, and conversions of groups."""
