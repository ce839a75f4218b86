"""How far revisions are compared where nobody says otherwise: several small worlds.

Decides which crowds of clients are worth comparing.  A difference shows in a small one or, nearly
always, in none; which one, differs by rule.
"""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.properties.worlds.scope import ActKind, Scope


@dataclass(frozen=True, slots=True)
class Bounds:
    """A scope, and how many steps are compared at most; None: as many as there are."""

    scope: Scope
    max_depth: int | None = None


_OFTEN: tuple[ActKind, ...] = ("join", "sync", "leave")
_MUCH: tuple[ActKind, ...] = (*_OFTEN, "restart", "change", "stranger", "remove")
SMALL: tuple[Bounds, ...] = (
    Bounds(Scope(clients=2, members=2, offers=3, acts=_MUCH), 5),
    Bounds(Scope(clients=1, members=1, acts=("join", "sync", "heartbeat", "restart", "tick"))),
    Bounds(Scope(clients=2, members=2, offers=2, instances=2, acts=("join", "sync", "change")), 6),
    Bounds(Scope(clients=2, members=2, dynamic=1, acts=(*_OFTEN, "restart")), 6),
    Bounds(Scope(clients=2, members=2, dynamic=2, old=1, acts=_OFTEN), 7),
    Bounds(Scope(clients=1, generations=2, acts=("join", "sync", "commit", "restart", "failover"))),
)
"""A holder of an instance and who else wants it; time; two instances; one of each kind; dynamic
members alone, one of them with an old join; a coordinator that fails over."""
