"""Search a target with plans drawn at random."""
