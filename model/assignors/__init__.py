"""Assignors: who in a group reads which partition, and how members tell each other."""
