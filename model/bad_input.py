"""The base of all errors that say: what the user gave can't be used."""

from __future__ import annotations


class BadInputError(ValueError):
    """A file, name or address can't be used (exit code 64).  `str()` names it and the remedy."""
