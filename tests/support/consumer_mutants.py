"""Find the property that a mutant of the consumer protocol violates first."""

from __future__ import annotations

from fencepost.model.revision import Revision
from fencepost.properties.checking.checking import stops_of, with_stops
from fencepost.properties.checking.evaluator import EXCUSED, Evaluator, is_quiet
from fencepost.properties.claims.property_registry import CONSUMER_PROPERTIES
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.worlds.consumer_scope import CHECK_SCOPES
from fencepost.properties.worlds.scope import NamedScope
from fencepost.properties.worlds.world import Worlds

STATES = 350
"""The most worlds of each scope."""
_SMALL = (
    "one process",
    "rivals",
    "lost answers of two",
    "a full group",
    "offsets",
    "old versions",
    "changed instances",
)
SCOPES: tuple[NamedScope, ...] = tuple(
    sorted(CHECK_SCOPES, key=lambda named: named.name not in _SMALL)
)
"""The scopes of `check`, small ones first."""


def first_broken(revision: Revision, scopes: tuple[NamedScope, ...] = SCOPES) -> str:
    """Return the property that is violated first in these scopes; "" for none."""
    judging = Evaluator(with_stops(tuple(CONSUMER_PROPERTIES.values()), revision), revision)
    for named in scopes:
        worlds = Worlds(revision, named.scope, judging.judge)
        checks = [c for c in judging.checks(worlds) if not c.name.startswith(EXCUSED)]
        found = explore(
            worlds,
            checks,
            max_states=STATES,
            stop_at_first=True,
            quiet=is_quiet,
            stops=stops_of(revision),
        )
        for name in found.violations:
            return name
    return ""
