"""Mutants: revisions that are wrong on purpose; and known departures of real coordinators."""
