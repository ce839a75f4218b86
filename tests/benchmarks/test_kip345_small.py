"""kip345-small: the published counts, in each way of exploring, and the seeded faults."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from benchmarks.kip345_frontier import SmallFrontierSystem, frontier_invariants
from benchmarks.kip345_invariants import invariants
from benchmarks.kip345_packed import PackedSystem, packed_invariants
from benchmarks.kip345_small import CONFIGURATIONS, Fault, Rules, SmallSystem, State
from fencepost.properties.explorer.explorer import Check, Exploration, explore
from fencepost.properties.explorer.frontier import FrontierCheck, Words

WAYS = pytest.mark.parametrize("way", ["singly", "packed", "frontier"])
# How many actions lead to the first violation, and of which invariant.
DEPTHS = {
    Fault.KEEP_OLD: ("I1", 2),
    Fault.KEEP_STATIC: ("I2", 2),
    Fault.KEEP_LEADER: ("I3", 2),
    Fault.ANY_GENERATION: ("I4", 7),
}
LEVELS = {
    "A": (1, 2, 8, 18, 33, 58, 82, 109, 63, 25, 10, 2),
    "B": (
        *(1, 3, 15, 55, 172, 498, 1343, 3280, 6569, 10995, 13277, 11853, 8580, 4783, 1959, 641),
        *(163, 23, 1),
    ),
    "D": (*(1, 3, 14, 49, 159, 456, 1085, 2190, 3891, 5980, 7823, 8169, 5585, 2680, 829, 143, 12),),
}


def explored(
    way: str, name: str, fault: Fault | None = None, **options: Any
) -> Exploration[Any, Any]:
    configuration = CONFIGURATIONS[name]
    if way == "singly":
        return explore(SmallSystem(configuration, fault), invariants(), **options)
    if way == "packed":
        packed = PackedSystem(configuration, fault)
        return explore(packed, packed_invariants(packed.packing), **options)
    system = SmallFrontierSystem(configuration, fault)
    return explore(system, frontier_invariants(system), **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "name"),
    [("singly", "A"), ("singly", "D"), *product(("packed", "frontier"), LEVELS)],
)
def test_counts_are_those_published(way: str, name: str) -> None:
    result = explored(way, name)
    published = CONFIGURATIONS[name]
    assert (result.states, result.transitions) == (published.states, published.transitions)
    assert result.levels == LEVELS[name]
    assert len(result.levels) == published.levels
    assert result.complete
    assert result.violations == {}


@WAYS
@pytest.mark.parametrize("fault", Fault)
def test_each_fault_is_found_at_its_depth_and_its_trace_is_a_run(way: str, fault: Fault) -> None:
    result = explored(way, "B", fault, stop_at_first=True)
    name, depth = DEPTHS[fault]
    violation = result.violations[name]
    assert violation.depth == depth
    system = SmallSystem(CONFIGURATIONS["B"], fault)
    trace = [(action, decoded(way, fault, state)) for action, state in violation.trace]
    assert trace[0] == (None, *system.initial())
    for (_, before), (action, after) in pairwise(trace):
        assert (action, after) in list(system.successors(before))
    holds = next(check.state for check in invariants() if check.name == name)
    assert holds is not None
    assert [holds(state) is None for _, state in trace] == [True] * depth + [False]
    assert holds(trace[-1][1]) == violation.sentence


def decoded(way: str, fault: Fault, state: Any) -> State:
    """The state of a trace; integers mean something to the system that made them."""
    if way != "packed":
        assert isinstance(state, State)
        return state
    # Numbers are given out in the order of the search, which another search repeats.
    system = PackedSystem(CONFIGURATIONS["B"], fault)
    explore(system, packed_invariants(system.packing), stop_at_first=True)
    return system.packing.decode(state)


def test_transitions_by_action_and_states_by_phase_are_those_published() -> None:
    actions: Counter[str] = Counter()
    graph = explored("singly", "A", keep_graph=True).graph
    assert graph is not None
    actions.update(action[0] for _, action, _ in graph.edges)
    assert actions == {
        "join": 672,
        "sync": 530,
        "leave": 822,
        "restart": 530,
        "expire": 180,
        "complete": 68,
    }
    phases = Counter(state.server.phase.name for state in graph.states)
    assert phases == {"EMPTY": 102, "PREPARING": 129, "COMPLETING": 54, "STABLE": 126}
    assert sum(source == target for source, _, target in graph.edges) == 1_018


def test_ways_have_the_same_graph() -> None:
    singly = explored("singly", "A", keep_graph=True).graph
    frontier = explored("frontier", "A", keep_graph=True).graph
    assert singly is not None
    assert frontier is not None
    assert set(frontier.states) == set(singly.states)
    named = [
        Counter((g.states[s], a, g.states[t]) for s, a, t in g.edges) for g in (singly, frontier)
    ]
    assert named[0] == named[1]


def test_threads_change_nothing() -> None:
    one, two = (explored("frontier", "B", Fault.ANY_GENERATION, jobs=jobs) for jobs in (1, 2))
    assert (one.states, one.transitions, one.levels) == (two.states, two.transitions, two.levels)
    assert one.violations == two.violations
    assert explored("frontier", "D", jobs=2).levels == LEVELS["D"]


@pytest.mark.parametrize("options", [{"max_depth": 7}, {"max_states": 3_000}])
def test_limits_of_frontiers_are_those_of_single_states(options: dict[str, Any]) -> None:
    singly, frontier = (explored(way, "B", **options) for way in ("singly", "frontier"))
    assert not frontier.complete
    assert frontier.states == singly.states
    assert frontier.levels == singly.levels


def test_frontiers_are_judged_one_by_one_if_that_is_how_a_check_asks() -> None:
    system = SmallFrontierSystem(CONFIGURATIONS["A"])
    late: Check[State, Any] = Check(
        "late",
        state=lambda s: "generation 2" if s.server.generation == 2 else None,
        witness=lambda s: s.server.generation == 1,
    )
    result = explore(system, [late])
    other = explore(SmallSystem(CONFIGURATIONS["A"]), [late])
    assert result.violations["late"].depth == other.violations["late"].depth
    assert result.witnesses == other.witnesses


def test_checks_that_do_not_fit_are_refused() -> None:
    def broken(words: Words) -> Any:
        return np.zeros(words.size, np.bool_)

    many: FrontierCheck[Any] = FrontierCheck("many", broken, str)
    with pytest.raises(ValueError, match="FrontierCheck"):
        explore(SmallSystem(CONFIGURATIONS["A"]), [many])
    step: Check[Any, Any] = Check("step", step=lambda *_: None)
    with pytest.raises(ValueError, match="'step' judges steps"):
        explore(SmallFrontierSystem(CONFIGURATIONS["A"]), [step])


def test_a_wrong_rule_is_seen_in_the_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Rules.client_steps

    def without_restart(self: Rules, server: Any, instance: int, client: Any) -> Any:
        return (s for s in right(self, server, instance, client) if s[0] != "restart")

    monkeypatch.setattr(Rules, "client_steps", without_restart)
    for way in ("singly", "packed", "frontier"):
        assert explored(way, "A").transitions != CONFIGURATIONS["A"].transitions
