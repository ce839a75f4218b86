"""Confirm a failure, shrink it, name its cause, and keep its trace in the corpus."""
