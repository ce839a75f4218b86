"""Worlds are explored in canonical form; each path must still be a run of the model."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from fencepost.model.revisions import revisions
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.oracle.oracle import judge
from fencepost.properties.worlds.concretise import unfold
from fencepost.properties.worlds.protocol_worlds import TICK_MS
from fencepost.properties.worlds.scope import ACTS, ActKind, Scope, ScopeError
from fencepost.properties.worlds.world import Act, World, Worlds

EVERYTHING = tuple(ACTS)
SCOPES = {
    "two clients of one instance": Scope(clients=2, members=2),
    "static and dynamic, old versions": Scope(clients=3, dynamic=1, members=3, old=1),
    "everything": Scope(clients=2, dynamic=1, offers=3, acts=EVERYTHING, delay_ticks=1),
}
REVISIONS = (
    "kafka-4",
    "kip-345",
    "member-name-draft",
    "two-list-leave-draft",
    "tuple-list-leave-draft",
    "comment-table-1",
    "comment-table-2",
    "kafka-2.4",
)
STEPS = 40


def walk(worlds: Worlds, seed: int) -> list[tuple[Act | None, World]]:
    chance = random.Random(seed)
    (world,) = worlds.initial()
    path: list[tuple[Act | None, World]] = [(None, world)]
    for _ in range(STEPS):
        act, world = chance.choice(list(worlds.successors(world)))
        path.append((act, world))
    return path


@pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES)
@pytest.mark.parametrize("name", REVISIONS)
def test_a_path_through_worlds_is_a_run_that_the_oracle_explains(name: str, scope: Scope) -> None:
    revision = revisions.find(name)
    worlds = Worlds(revision, scope)
    config = {"group.initial.rebalance.delay.ms": scope.delay_ticks * TICK_MS}
    for seed in range(6):
        run = unfold(worlds, walk(worlds, seed))

        verdict = judge(revision, config, list(run.events), lag_ms=0).verdict()

        assert verdict.violation is None, (seed, verdict.violation)
        assert verdict.unknown is None


def test_a_run_of_another_revision_is_not_explained() -> None:
    scope = Scope(clients=2, members=2)
    worlds = Worlds(revisions.find("comment-table-1"), scope)
    config = {"group.initial.rebalance.delay.ms": 0}
    verdicts = [
        judge(
            revisions.find("kafka-4"),
            config,
            list(unfold(worlds, walk(worlds, seed)).events),
            lag_ms=0,
        ).verdict()
        for seed in range(6)
    ]

    assert any(verdict.violation is not None for verdict in verdicts)


def everything_reached(scope: Scope) -> set[World]:
    worlds = Worlds(revisions.find("kafka-4"), scope)
    reached = set(worlds.initial())
    frontier = list(reached)
    while frontier:
        found = {world for old in frontier for _, world in worlds.successors(old)}
        frontier = sorted(found - reached, key=repr)
        reached |= found
    return reached


def test_restarts_and_generations_without_bound_are_finitely_many_worlds() -> None:
    assert len(everything_reached(Scope(clients=1, members=1))) < 100


def test_folding_loses_no_group_and_no_kind_of_crowd() -> None:
    folded = everything_reached(Scope(clients=2, members=2))
    plain = everything_reached(Scope(clients=2, members=2, fold=False))

    def crowds(worlds: set[World]) -> set[object]:
        return {(w.group, frozenset(Counter(w.clients).items())) for w in worlds}

    assert len(folded) < len(plain)
    assert {w.group for w in folded} == {w.group for w in plain}
    assert crowds(folded) <= crowds(plain)


@pytest.mark.parametrize(
    ("bounds", "value"),
    [
        ({"clients": 0}, "0 clients"),
        ({"clients": 2, "dynamic": 3}, "3 of 2"),
        ({"clients": 2, "instances": 3}, "3 instances for 2"),
        ({"members": 0}, "0 members"),
        ({"offers": 9}, "9 subscriptions"),
        ({"acts": ("change",)}, "two subscriptions"),
        ({"acts": ("jump",)}, "no act 'jump'"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(bounds: dict[str, object], value: str) -> None:
    with pytest.raises(ScopeError, match=value):
        Scope(**bounds)  # type: ignore[arg-type]


def test_a_message_that_a_revision_does_not_know_is_unknown_to_it_not_wrong() -> None:
    scope = Scope(clients=2, members=2, acts=("join", "leave"))
    worlds = Worlds(revisions.find("two-list-leave-draft"), scope)
    (world,) = worlds.initial()
    path: list[tuple[Act | None, World]] = [(None, world)]
    for kind in ("join", "leave"):
        act, world = next(pair for pair in worlds.successors(world) if pair[0].kind == kind)
        path.append((act, world))
    run = unfold(worlds, path)
    config = {"group.initial.rebalance.delay.ms": 0}

    verdict = judge(revisions.find("kafka-4"), config, list(run.events), lag_ms=0).verdict()

    assert verdict.violation is None
    assert verdict.unknown == "kafka-4 knows no LeaveGroup/two-list"


def test_the_conduct_of_clients_bounds_what_they_do() -> None:
    """A client that leaves on close is no member when it ends.

    A client that forgets its id never joins under it again.
    """
    acts: tuple[ActKind, ...] = ("join", "sync", "leave", "restart")
    scopes = {
        "as they like": Scope(clients=1, members=1, acts=acts),
        "leaves": Scope(clients=1, members=1, acts=acts, leaves_on_close=True),
        "forgets": Scope(clients=1, members=1, acts=acts, keeps_id=False),
    }
    ended: dict[str, bool] = {}
    kept: dict[str, bool] = {}
    for name, scope in scopes.items():
        worlds = Worlds(revisions.find("kafka-4"), scope)
        graph = explore(worlds, keep_graph=True).graph
        assert graph is not None
        for source, act, target in graph.edges:
            group = graph.states[source].group
            member_id = graph.states[source].clients[0].member_id
            if act.kind == "restart" and group is not None and group.member(member_id):
                ended[name] = True
            if act.kind == "leave" and graph.states[target].clients[0].member_id:
                kept[name] = True
    assert set(ended) == {"as they like", "forgets"}
    assert set(kept) == {"as they like", "leaves"}
