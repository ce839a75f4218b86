"""Worlds as numbers are the same worlds, and any number of processes learns the same."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from fencepost.model.revisions import revisions
from fencepost.properties.checking.evaluator import Evaluator, is_quiet
from fencepost.properties.claims.property_registry import PROPERTIES
from fencepost.properties.explorer.exploration import Exploration
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.worlds.canonical import named, unchanged
from fencepost.properties.worlds.compact_worlds import CompactWorlds
from fencepost.properties.worlds.scope import ACTS, Scope
from fencepost.properties.worlds.world import World, Worlds

EVERYTHING = tuple(ACTS)
SCOPES = {
    "one instance": Scope(clients=2, members=2),
    "zombies": Scope(clients=2, zombies=1, members=2),
    "two instances": Scope(
        clients=2, instances=2, members=2, acts=("join", "sync", "heartbeat", "restart", "tick")
    ),
    "failover": Scope(
        clients=2,
        members=2,
        generations=2,
        acts=("join", "sync", "heartbeat", "restart", "tick", "failover"),
    ),
    "everything": Scope(
        clients=2, dynamic=1, members=2, offers=2, generations=2, acts=EVERYTHING, delay_ticks=1
    ),
}
LIMIT = 300
DEPTH = 6


class Plain:
    """Worlds without their compact form."""

    def __init__(self, worlds: Worlds) -> None:
        self.initial = worlds.initial
        self.successors = worlds.successors


def facts(found: Exploration[Any, Any]) -> dict[str, object]:
    return {
        name: getattr(found, name)
        for name in ("states", "transitions", "levels", "complete", "violations", "witnesses")
    }


@pytest.mark.slow
@pytest.mark.parametrize("fold", [True, False])
@pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES)
@pytest.mark.parametrize("name", ["kafka-4", "comment-table-2", "tuple-list-leave-draft"])
def test_numbers_stand_for_the_same_worlds_acts_and_order(
    name: str, scope: Scope, fold: bool
) -> None:
    revision = revisions.find(name)
    scope = replace(scope, fold=fold)
    judging = Evaluator(PROPERTIES.values(), revision)
    worlds = Worlds(revision, scope, judging.judge)
    checks = judging.checks(worlds)
    plain = explore(Plain(worlds), checks, keep_graph=True, max_states=LIMIT)

    compact = explore(worlds, checks, keep_graph=True, quiet=is_quiet, max_states=LIMIT)

    assert facts(compact) == facts(plain)
    assert compact.graph is not None
    assert plain.graph is not None
    assert compact.graph.states == plain.graph.states
    assert compact.graph.edges == plain.graph.edges


@pytest.mark.slow
@pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES)
def test_processes_that_learn_apart_find_the_same(scope: Scope) -> None:
    revision = revisions.find("comment-table-1")
    judging = Evaluator(PROPERTIES.values(), revision)
    worlds = Worlds(revision, scope, judging.judge)
    checks = judging.checks(worlds)
    runs = [
        explore(worlds, checks, keep_graph=True, quiet=is_quiet, max_depth=DEPTH, jobs=jobs)
        for jobs in (1, 2, 3)
    ]

    assert facts(runs[1]) == facts(runs[2]) == facts(runs[0])
    assert runs[1].graph == runs[2].graph == runs[0].graph


def keys(system: CompactWorlds, levels: int) -> Iterator[int]:
    level = list(system.initial())
    for _ in range(levels):
        yield from level
        level = list(dict.fromkeys(key for old in level for _, key in system.successors(old)))


def test_what_a_worker_learnt_makes_its_numbers_understood() -> None:
    worlds = Worlds(revisions.find("kafka-4"), Scope(clients=2, dynamic=1, members=2))
    parent = worlds.compact()
    parent.closed(World(None, worlds.scope.newcomers()))
    translation = parent.translation()
    worker = Worlds(worlds.revision, worlds.scope).compact()
    worker.closed(World(None, worlds.scope.newcomers()))
    worker.begin()
    for other in keys(parent, 4):  # what the parent meets meanwhile has other numbers
        parent.opened(other)
    assert sum(1 for _ in keys(worker, 6)) > 100
    translation.adopt(pickle.loads(pickle.dumps(worker.learnt())))
    asked = len(parent.moves)

    expanded = set(keys(worker, 5))
    for key in keys(worker, 6):
        own = translation.state(key)
        assert parent.opened(own) == worker.opened(key)
        steps = [(translation.action(a), translation.state(k)) for a, k in worker.successors(key)]
        if key in expanded:
            assert list(parent.successors(own)) == steps
            assert [parent.act(a) for a, _ in steps] == [
                worker.act(a) for a, _ in worker.successors(key)
            ]
    assert len(parent.moves) == asked, "the model is not asked again what a worker knows"


@cache
def everything(name: str, scope: Scope) -> tuple[Worlds, tuple[World, ...]]:
    """What a revision comes to in seven steps; once for the tests that ask something of it."""
    worlds = Worlds(revisions.find(name), scope)
    system = worlds.compact()
    return worlds, tuple(system.opened(key) for key in keys(system, 7))


@pytest.mark.parametrize("name", ["kafka-4", "comment-table-1", "kip-345"])
def test_the_canonical_form_of_a_canonical_form_is_itself(name: str) -> None:
    for scope in SCOPES.values():
        keeps = "failover" in scope.acts
        for world in everything(name, scope)[1]:
            again = named(world.group, keep_generations=keeps)
            assert again.group == world.group
            assert again.shift == 0
            assert dict(again.ids) == dict(unchanged(world.group).ids)


@pytest.mark.parametrize("name", ["kafka-4", "comment-table-1", "kip-345", "kafka-2.3"])
def test_only_a_failover_ends_a_group(name: str) -> None:
    """Generations are shifted from one group to the same group later: there is no second one."""
    for scope in SCOPES.values():
        if "failover" in scope.acts:
            continue
        worlds, found = everything(name, scope)
        for world in found:
            if world.group is not None:
                assert all(after.group is not None for _, after in worlds.successors(world))


@pytest.mark.parametrize("name", ["kafka-4", "comment-table-1", "kip-345"])
def test_no_client_is_ahead_of_its_group_where_generations_are_shifted(name: str) -> None:
    """What is cut off at "earlier" is only ever asked whether it is the present one."""
    for scope in SCOPES.values():
        if "failover" in scope.acts:
            continue
        for world in everything(name, scope)[1]:
            now = 0 if world.group is None else world.group.generation_id
            assert all(client.generation <= now for client in world.clients)
