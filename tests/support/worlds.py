"""Worlds of a revision, and runs through them."""

from __future__ import annotations

from fencepost.model.revisions import revisions
from fencepost.properties.worlds.concretise import Run, unfold
from fencepost.properties.worlds.scope import ACTS, Scope
from fencepost.properties.worlds.world import Act, World, Worlds

SCOPE = Scope(clients=3, dynamic=1, acts=tuple(ACTS), offers=2, fold=False)


NOBODY = -1


def follow(worlds: Worlds, *acts: tuple[str, int]) -> Run:
    """The run in which these clients do this, each time the first outcome."""
    (world,) = worlds.initial()
    path: list[tuple[Act | None, World]] = [(None, world)]
    for kind, client in acts:
        act, world = next(
            (act, after)
            for act, after in worlds.successors(world)
            if (act.kind, act.client) == (kind, client)
        )
        path.append((act, world))
    return unfold(worlds, path)


def worlds_of(name: str, scope: Scope = SCOPE) -> Worlds:
    return Worlds(revisions.find(name), scope)
