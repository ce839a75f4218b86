"""Which properties each mutant violates, as measured.

Decides what a run of the engines must find again: a mutant's name → ids of properties.  A mutant
that isn't here has not been measured.
"""

from __future__ import annotations

from collections.abc import Mapping

BREAKS: Mapping[str, tuple[str, ...]] = {}
