"""Assignors held to what they promise: groups to try, promises, and the best there is."""
