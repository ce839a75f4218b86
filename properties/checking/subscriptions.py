"""Follows which clients have changed their subscription and were in no generation since.

A world doesn't say so: it knows what a client offers now, and not since when.  So each world is
followed together with the clients whose change waits, and a promise about changes can be put to
the test (`fencepost.properties.checking.liveness`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from fencepost.properties.explorer.exploration import Graph
from fencepost.properties.explorer.lasso import Component, Lasso
from fencepost.properties.worlds.world import Act, World, Worlds


class Followed(NamedTuple):
    """A world, and the clients (by index) that changed their subscription and wait for it."""

    world: World
    changed: frozenset[int]


class Subscriptions:
    """Worlds, each with the changes of subscriptions that no generation has taken up."""

    def __init__(self, worlds: Worlds) -> None:
        self._worlds = worlds

    def initial(self) -> Iterable[Followed]:
        """Return the initial worlds, where nobody has changed anything."""
        return [Followed(world, frozenset()) for world in self._worlds.initial()]

    def successors(self, state: Followed) -> Iterator[tuple[Act, Followed]]:
        """Yield every enabled act with what it leads to."""
        for act, after in self._worlds.successors(state.world):
            yield act, Followed(after, self._changed(state, act, after))

    def _changed(self, state: Followed, act: Act, after: World) -> frozenset[int]:
        """Whose change waits after an act; a client that is no member any more waits for none."""
        group, changed = after.group, state.changed
        if group is None:
            return frozenset()
        if act.kind == "change" and self._is_member(state.world, act.client):
            changed |= {act.client}
        begun = self._begins(state.world, act)
        members = ((i, group.member(after.clients[i].member_id)) for i in changed)
        return frozenset(i for i, m in members if m is not None and not (begun and m.owes_sync))

    @staticmethod
    def _is_member(world: World, index: int) -> bool:
        """Whether a client is a member; what another one offers first is no change."""
        group = world.group
        return group is not None and group.member(world.clients[index].member_id) is not None

    def _begins(self, world: World, act: Act) -> bool:
        """Whether a generation begins in an act."""
        if act.kind in {"restart", "drop"}:
            return False
        done = self._worlds.transitions(world, act.kind, act.client)[act.choice]
        return any(
            view.after is not None
            and view.after.generation_id > (view.before.generation_id if view.before else 0)
            for view in done.views
        )


def of_worlds(lasso: Lasso[Followed, Act]) -> Lasso[World, Act]:
    """Return the same lasso among the worlds alone."""
    found = lasso.component
    worlds = [followed.world for followed in found.graph.states]
    graph = Graph(worlds, found.graph.edges, found.graph.initial)
    return Lasso(
        tuple((act, followed.world) for act, followed in lasso.stem),
        tuple((act, followed.world) for act, followed in lasso.cycle),
        Component(graph, found.states, found.edges),
    )
