"""Known failures as the fuzzer meets them: by rule and by what was seen, in whatever plan.

Decides when a failure is one of those listed.  Lists are about the catalogue's cases; a plan that
was drawn is none of them.  So the rule must be the same, and so must what was seen once names and
numbers are left out.
"""

from __future__ import annotations

from collections.abc import Iterable

from fencepost.conformance.known_failures import KnownFailure
from fencepost.conformance.looks import Look, seen_in

LISTED = "listed"
"""Instead of a rule, where what follows is the reason of a listed failure."""


def known_looks(entries: Iterable[KnownFailure]) -> dict[Look, KnownFailure]:
    """What the listed failures look like, each with the first entry that is so."""
    looks: dict[Look, KnownFailure] = {}
    for entry in entries:
        looks.setdefault((entry.rule, seen_in(entry.observed)), entry)
    return looks
