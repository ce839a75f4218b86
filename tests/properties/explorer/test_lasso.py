"""Lassos: found where a fair run shuns the goal, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable

from fencepost.properties.explorer.exploration import Graph
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.explorer.lasso import Component, find_lasso


def graph_of(*edges: str, initial: int = 1) -> Graph[str, str]:
    """Edges written "from action to"; the first states named are the initial ones."""
    split = [tuple(edge.split()) for edge in edges]
    states = list(dict.fromkeys(s for source, _, target in split for s in (source, target)))
    index = {state: i for i, state in enumerate(states)}
    return Graph(states, [(index[s], a, index[t]) for s, a, t in split], initial)


def always(_: Component[str, str]) -> bool:
    return True


def is_goal(state: str) -> bool:
    return state.startswith("goal")


def names(steps: Iterable[tuple[object, str]]) -> list[str]:
    return [state for _, state in steps]


def test_there_is_none_where_every_way_meets_the_goal() -> None:
    graph = graph_of("a x b", "b y goal", "goal z a", "a w goal")
    assert find_lasso(graph, is_goal, always) is None


def test_a_cycle_beside_the_goal_is_found_with_its_stem() -> None:
    graph = graph_of("a x goal", "goal y b", "b z c", "c w b", "c v goal")
    lasso = find_lasso(graph, is_goal, always)
    assert lasso is not None
    assert lasso.stem == ((None, "a"), ("x", "goal"), ("y", "b"))
    assert lasso.cycle == (("z", "c"), ("w", "b"))
    assert lasso.component.members() == ["b", "c"]


def test_a_stem_may_be_told_to_shun_the_goal_too() -> None:
    graph = graph_of("a x goal", "goal y b", "b z b")
    assert find_lasso(graph, is_goal, always) is not None
    assert find_lasso(graph, is_goal, always, stem_through_goals=False) is None


def test_a_state_where_nothing_happens_is_the_end_of_a_run() -> None:
    lasso = find_lasso(graph_of("a x goal", "a y end"), is_goal, always)
    assert lasso is not None
    assert (names(lasso.stem), lasso.cycle) == (["a", "end"], ())
    alone: Graph[str, str] = Graph(["only"], [])
    assert find_lasso(alone, is_goal, always) is not None
    assert find_lasso(alone, lambda _: True, always) is None


def test_self_loops_are_cycles_only_if_they_are_fair() -> None:
    graph = graph_of("a wait a", "a go goal", "goal stay goal")

    def goes(component: Component[str, str]) -> bool:
        """`go` is enabled all the time, so it is taken."""
        return "go" in component.actions

    lasso = find_lasso(graph, is_goal, always)
    assert lasso is not None
    assert lasso.cycle == (("wait", "a"),)
    assert find_lasso(graph, is_goal, goes) is None


def test_a_self_loop_that_is_not_allowed_keeps_nobody() -> None:
    graph = graph_of("a wait a", "a go goal")
    assert find_lasso(graph, is_goal, always, allowed=lambda _, a, __: a != "wait") is None
    # Where nothing else can be done, a run stands still.
    stuck = graph_of("a wait a")
    assert find_lasso(stuck, is_goal, always, allowed=lambda _, a, __: a != "wait") is not None


def test_a_passing_state_is_no_cycle() -> None:
    asked = []

    def fair(component: Component[str, str]) -> bool:
        asked.append(component.members())
        return True

    assert find_lasso(graph_of("a x b", "b y goal", "goal z goal"), is_goal, fair) is None
    assert asked == []


def test_edges_that_must_not_recur_are_taken_out_before_components_are_formed() -> None:
    graph = graph_of("a crash b", "b up a", "b beat b")

    def quiet(component: Component[str, str]) -> bool:
        return "crash" not in component.actions

    assert find_lasso(graph, is_goal, quiet) is None, "the larger component hides the smaller"
    lasso = find_lasso(graph, is_goal, quiet, allowed=lambda _, a, __: a != "crash")
    assert lasso is not None
    assert names(lasso.stem) == ["a", "b"], "it may happen on the way there"
    assert lasso.cycle == (("beat", "b"),)


def test_what_cannot_be_reached_does_not_count() -> None:
    graph = graph_of("a x goal", "goal y goal", "far z far")
    assert find_lasso(graph, is_goal, always) is None


def test_the_nearest_component_is_told_and_the_cycle_takes_each_action() -> None:
    graph = graph_of(
        *("a x far1", "far1 x far2", "far2 y far2"),
        *("a z n1", "n1 p n2", "n2 q n1", "n2 r n3", "n3 q n2"),
    )
    lasso = find_lasso(graph, is_goal, always)
    assert lasso is not None
    assert names(lasso.stem) == ["a", "n1"]
    assert {action for action, _ in lasso.cycle} == {"p", "q", "r"}
    assert lasso.cycle[-1][1] == "n1"
    edges = {(graph.states[s], a, graph.states[t]) for s, a, t in graph.edges}
    before = "n1"
    for action, after in lasso.cycle:
        assert (before, action, after) in edges
        before = after


class Lights:
    """Two processes take turns or not, and a lamp that only the second one lights."""

    def initial(self) -> list[tuple[int, bool]]:
        return [(0, False)]

    def successors(self, state: tuple[int, bool]) -> list[tuple[str, tuple[int, bool]]]:
        turns, lit = state
        return [("first", ((turns + 1) % 3, lit)), ("second", (turns, True))]


def test_a_scheduler_that_starves_one_is_found_and_ruled_out_by_fairness() -> None:
    graph = explore(Lights(), keep_graph=True).graph
    assert graph is not None
    starved = find_lasso(graph, lambda s: s[1], lambda _: True)
    assert starved is not None
    assert [action for action, _ in starved.cycle] == ["first"] * 3
    assert find_lasso(graph, lambda s: s[1], lambda c: c.actions == {"first", "second"}) is None
