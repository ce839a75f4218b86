"""The cover suite walks what it says, with as few steps as it says; judged by other means."""

from __future__ import annotations

from collections import Counter
from itertools import count, pairwise
from typing import Any

import pytest

from fencepost.conformance.cases.cover.cover import (
    LENGTH,
    START,
    ControllableGraph,
    Stride,
    Suite,
    Walk,
    controllable_graph,
    cover,
    pairs,
    pairs_of,
)
from fencepost.model.revisions import revisions
from fencepost.properties.worlds.scope import COVER_SCOPES, NamedScope, Scope
from fencepost.properties.worlds.world import Act, World, Worlds

RATIO = 1.2
TINY = Scope(clients=1, members=1, acts=("join", "sync", "heartbeat", "restart"))


@pytest.fixture(scope="module", params=COVER_SCOPES, ids=lambda cast: cast.name)
def walked(request: pytest.FixtureRequest) -> ControllableGraph:
    cast: NamedScope = request.param
    return controllable_graph(Worlds(revisions.find("kafka-4"), cast.scope))


@pytest.fixture(scope="module")
def suite(walked: ControllableGraph) -> Suite:
    return cover(walked)


@pytest.fixture(scope="module")
def paired(walked: ControllableGraph) -> Suite:
    return pairs(walked)


def outcomes(worlds: Worlds, world: World) -> dict[tuple[str, int], list[tuple[Act, World]]]:
    """What comes of each act, whoever chooses, asked of the system itself."""
    found: dict[tuple[str, int], list[tuple[Act, World]]] = {}
    for act, after in worlds.successors(world):
        found.setdefault((act.kind, act.client), []).append((act, after))
    return found


Step = tuple[World, str, object]
AllSteps = tuple[set[Step], set[Step], set[World], set[World]]
"""Forced steps, steps of a choice, worlds that are forced, worlds behind a choice alone."""


def done(worlds: Worlds, world: World, kind: str, client: int) -> Step:
    """What is done; by whom only as far as clients of one kind can be told apart."""
    if client < 0:
        return world, kind, None
    seat = worlds.seats[client]
    return world, kind, (seat.instance, tuple(seat.versions.items()), world.clients[client])


def replayed(worlds: Worlds, walks: tuple[Walk, ...]) -> tuple[set[Step], set[Step]]:
    """What was done where: with one outcome, and with several.

    Goes by the acts alone; fails where the way depends on a choice.
    """
    forced: set[Step] = set()
    chosen: set[Step] = set()
    for walk in walks:
        (world,) = worlds.initial()
        for stride in walk:
            kind, client = stride.act.kind, stride.act.client
            found = outcomes(worlds, world)[kind, client]
            if len(found) > 1:
                chosen.add(done(worlds, world, kind, client))
                assert stride is walk[-1], "a walk goes on though nobody knows where it is"
            else:
                forced.add(done(worlds, world, kind, client))
                world = found[0][1]
    return forced, chosen


def all_steps(worlds: Worlds) -> AllSteps:
    """The same of everything that can be come to without a choice of the coordinator's."""
    forced: set[Step] = set()
    chosen: set[Step] = set()
    queue = list(worlds.initial())
    known = set(queue)
    behind: set[World] = set()
    for world in queue:
        for (kind, client), found in outcomes(worlds, world).items():
            if len(found) > 1:
                chosen.add(done(worlds, world, kind, client))
                behind |= {after for _, after in found}
                continue
            forced.add(done(worlds, world, kind, client))
            if found[0][1] not in known:
                known.add(found[0][1])
                queue.append(found[0][1])
    return forced, chosen, known, behind - known


@pytest.fixture(scope="module")
def stepped(walked: ControllableGraph) -> AllSteps:
    return all_steps(walked.worlds)


@pytest.mark.slow
def test_every_transition_that_can_be_forced_is_walked_and_every_open_act_done(
    suite: Suite, stepped: AllSteps
) -> None:
    assert replayed(suite.graph.worlds, suite.walks) == stepped[:2]


def test_what_can_not_be_forced_is_counted(walked: ControllableGraph, stepped: AllSteps) -> None:
    forced, chosen, known, beyond = stepped

    assert len(walked.forced) == len(forced)
    assert walked.unforced == walked.transitions - len(walked.forced)
    assert walked.unforced >= len(chosen)
    assert {*walked.states} == known
    assert walked.beyond == len(beyond)


def test_the_steps_are_near_the_bound(suite: Suite) -> None:
    assert suite.bound <= suite.steps <= RATIO * suite.bound


def test_no_walk_is_long(suite: Suite, paired: Suite) -> None:
    deepest = max(suite.graph.depth.values())
    assert max(map(len, suite.walks)) <= LENGTH + deepest
    assert max(map(len, paired.walks)) <= LENGTH


def test_the_same_walks_come_each_time(walked: ControllableGraph) -> None:
    again = controllable_graph(Worlds(revisions.find("kafka-4"), walked.worlds.scope))

    assert again.strides == walked.strides
    assert cover(again).walks == cover(walked).walks
    assert pairs(again).walks == pairs(walked).walks


@pytest.mark.parametrize("name", ["kip-345", "member-name-draft"])
def test_other_revisions_are_covered_as_well(name: str) -> None:
    for cast in COVER_SCOPES:
        suite = cover(controllable_graph(Worlds(revisions.find(name), cast.scope)))
        assert {stride for walk in suite.walks for stride in walk} == {*suite.graph.strides}
        assert suite.steps <= RATIO * suite.bound


def feasible_pairs(graph: ControllableGraph) -> set[tuple[str, str]]:
    """By another way: which rules can have decided last in a world, grown until nothing changes."""
    last: dict[int, set[str]] = {START: {""}}
    found: set[tuple[str, str]] = set()
    grows = True
    while grows:
        grows = False
        for stride in graph.forced:
            before = last.get(stride.source, set())
            rules = stride.rules
            if not stride.certain:
                after = {""} if before else set()
            else:
                found |= {(a, b) for b in rules[:1] for a in before if a}
                found |= set(pairwise(rules)) if before else set()
                after = ({rules[-1]} if rules else before) if before else set()
            if not after <= last.setdefault(stride.target, set()):
                last[stride.target] |= after
                grows = True
    return found


def test_every_pair_that_can_be_shown_is_shown(paired: Suite) -> None:
    shown = {pair for walk in paired.walks for pair in pairs_of(walk)}

    assert shown == feasible_pairs(paired.graph)
    assert paired.bound <= paired.steps
    assert not any(stride.is_open for walk in paired.walks for stride in walk)


def test_pairs_need_fewer_steps_than_transitions(suite: Suite, paired: Suite) -> None:
    assert paired.steps < suite.steps


# The bound, against every suite there could be.


def small_ground(*edges: tuple[int, int], open_at: tuple[int, ...] = ()) -> ControllableGraph:
    """A graph that is no group's: transitions between numbered worlds."""
    number = count()
    strides = [Stride(a, Act(f"act {next(number)}"), b, ()) for a, b in edges]
    strides += [Stride(a, Act("open"), START, (), is_open=True, certain=False) for a in open_at]
    worlds: Any = None
    states: Any = tuple({START: None} | {w: None for edge in edges for w in edge})
    return ControllableGraph(worlds, states, tuple(strides), len(strides), 0)


def fewest_steps(graph: ControllableGraph) -> int:
    """Breadth first over what is still to be walked; to begin anew costs nothing."""
    full = (1 << len(graph.strides)) - 1
    leaving: dict[int, list[tuple[int, Stride]]] = {}
    for i, stride in enumerate(graph.strides):
        leaving.setdefault(stride.source, []).append((i, stride))
    known = {(START, 0)}
    frontier = list(known)
    for steps in count():
        if any(done == full for _, done in frontier):
            return steps
        found = []
        for world, done in frontier:
            for at in {world, START}:
                for i, stride in leaving.get(at, ()):
                    after = (stride.target, done | 1 << i)
                    if after not in known:
                        known.add(after)
                        found.append(after)
        frontier = found
    raise AssertionError


@pytest.mark.parametrize(
    "made",
    [
        small_ground((0, 1), (1, 0)),
        small_ground((0, 1), (0, 1), (1, 2), (2, 2)),
        small_ground((0, 1), (1, 2), (2, 3), (3, 1), (3, 2), (2, 0)),
        small_ground((0, 1), (1, 2), (1, 3), (2, 1), (3, 2), (3, 3), (2, 3)),
        small_ground((0, 1), (1, 2), (2, 3), (3, 4), (4, 1), (4, 2), (4, 3)),
        small_ground((0, 1), (1, 2), (2, 1), (0, 2), open_at=(2, 1)),
    ],
    ids=["loop", "parallel", "back", "knot", "far", "open"],
)
def test_the_bound_is_the_fewest_steps_there_can_be(made: ControllableGraph) -> None:
    suite = cover(made)

    assert suite.bound == fewest_steps(made)
    assert suite.steps == suite.bound
    assert Counter(s for walk in suite.walks for s in walk).keys() == {*made.strides}


def test_the_bound_of_a_real_graph_is_the_fewest_steps_there_can_be() -> None:
    made = controllable_graph(Worlds(revisions.find("kafka-4"), TINY))

    assert 10 <= len(made.strides) <= 20
    assert cover(made).bound == fewest_steps(made)
