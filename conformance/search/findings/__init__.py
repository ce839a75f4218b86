"""Confirm a failure, shrink it, and keep its trace."""
