"""The engine: what it counts, what it finds first, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
from support.systems import Cell, Grid, Raising

from benchmarks.kip345_invariants import invariants
from benchmarks.kip345_small import CONFIGURATIONS, Fault, SmallSystem
from fencepost.properties.explorer.explorer import Check, Exploration, Progress, explore

BIG = 72
"""A grid of this size has levels wide enough for two processes."""
JOBS = pytest.mark.parametrize("jobs", [1, 2])


def facts(result: Exploration[Any, Any]) -> tuple[object, ...]:
    """All but time and memory."""
    return (
        result.states,
        result.transitions,
        result.levels,
        result.complete,
        result.violations,
        result.witnesses,
        result.graph,
    )


def at(cell: Cell) -> Check[Cell, str]:
    return Check("cell", state=lambda state: f"{state} is reached" if state == cell else None)


def test_everything_is_counted_once_and_self_loops_are_transitions() -> None:
    result = explore(Grid(3))
    assert result.states == 9
    assert result.transitions == 12 + 9
    assert result.levels == (1, 2, 3, 2, 1)
    assert result.complete
    assert result.peak_bytes > 1 << 20


def test_equal_initial_states_are_one() -> None:
    class Twice(Grid):
        def initial(self) -> Any:
            return [(0, 0), (1, 1), (0, 0)]

    result = explore(Twice(2), keep_graph=True)
    assert result.levels == (2, 2)
    assert result.graph is not None
    assert result.graph.initial == 2


def test_nothing_comes_of_nothing() -> None:
    class Empty(Grid):
        def initial(self) -> Any:
            return []

    assert facts(explore(Empty(2))) == (0, 0, (), True, {}, {}, None)


@JOBS
def test_the_trace_is_shortest_and_the_first_of_its_length(jobs: int) -> None:
    result = explore(Grid(BIG), [at((70, 2))], jobs=jobs)
    violation = result.violations["cell"]
    assert violation.sentence == "(70, 2) is reached"
    assert violation.depth == 72
    assert violation.trace[0] == (None, (0, 0))
    assert [action for action, _ in violation.trace[1:]] == ["right"] * 70 + ["up"] * 2
    assert result.complete
    assert result.states == BIG**2


@JOBS
def test_a_step_is_judged_with_both_its_states(jobs: int) -> None:
    def wrong(before: Cell, action: str, after: Cell) -> str | None:
        return "climbs" if action == "up" and before == (36, 36) and after == (36, 37) else None

    violation = explore(Grid(BIG), [Check("step", step=wrong)], jobs=jobs).violations["step"]
    assert violation.trace[-2:] == (("up", (36, 36)), ("up", (36, 37)))


def test_a_wrong_state_is_nearer_than_a_wrong_step_of_its_level() -> None:
    check: Check[Cell, str] = Check(
        "both",
        state=lambda state: "state" if state == (0, 2) else None,
        step=lambda before, action, _: "step" if (before, action) == ((2, 0), "stay") else None,
    )
    for stop in (False, True):
        violation = explore(Grid(4), [check], stop_at_first=stop).violations["both"]
        assert (violation.sentence, violation.depth) == ("state", 2)


def test_a_check_that_never_fires_says_nothing_and_its_witness_says_so() -> None:
    unmet: Check[Cell, str] = Check("vacuous", state=lambda _: None, witness=lambda s: s[0] > 9)
    met: Check[Cell, str] = Check("met", witness=lambda s: s == (1, 1))
    step: Check[Cell, str] = Check("step", step_witness=lambda s, a, _: a == "up" and s == (1, 0))
    result = explore(Grid(3), [unmet, met, step])
    assert result.violations == {}
    assert result.witnesses == {"met": 2, "step": 2}


@JOBS
def test_the_first_violation_ends_it_if_so_wished(jobs: int) -> None:
    result = explore(Grid(BIG), [at((70, 2))], jobs=jobs, stop_at_first=True)
    assert not result.complete
    assert len(result.levels) == 74
    # At the first state of a level, to which all goes right, nothing of that level is expanded.
    assert explore(Grid(BIG), [at((70, 0))], jobs=jobs, stop_at_first=True).levels[-1] == 71


@JOBS
def test_limits_cut_and_say_so(jobs: int) -> None:
    by_depth = explore(Grid(BIG), [at((70, 0))], jobs=jobs, max_depth=70)
    assert by_depth.levels == tuple(range(1, 72))
    assert not by_depth.complete
    assert "cell" in by_depth.violations, "the last level is judged, though not expanded"
    by_number = explore(Grid(BIG), jobs=jobs, max_states=2_600)
    assert by_number.states == sum(by_number.levels) == 2_600
    assert not by_number.complete
    assert explore(Grid(3), jobs=jobs, max_states=9, max_depth=5).complete


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"keep_graph": True},
        {"max_states": 3_000},
        {"max_states": 3_000, "keep_graph": True},
        {"max_depth": 6, "keep_graph": True},
        {"stop_at_first": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("fault", [None, Fault.ANY_GENERATION])
def test_the_number_of_processes_changes_nothing(
    options: dict[str, Any], fault: Fault | None
) -> None:
    check: Check[Any, Any] = Check(
        "completes",
        step=lambda _, a, t: "2" if a[0] == "complete" and t.server.generation == 2 else None,
        step_witness=lambda s, _, t: s == t,
        witness=lambda s: s.server.generation == 1,
    )
    system = SmallSystem(CONFIGURATIONS["B"], fault)
    if "max_states" not in options:
        options = {"max_depth": 7, **options}
    one = explore(system, [*invariants(), check], **options)
    for jobs in (2, 3) if options == {"max_depth": 7} else (2,):
        assert facts(explore(system, [*invariants(), check], jobs=jobs, **options)) == facts(one)


def test_a_kept_graph_is_the_system() -> None:
    system = SmallSystem(CONFIGURATIONS["A"])
    graph = explore(system, keep_graph=True).graph
    assert graph is not None
    index = {state: i for i, state in enumerate(graph.states)}
    edges = [(i, a, index[t]) for i, s in enumerate(graph.states) for a, t in system.successors(s)]
    assert graph.edges == edges


def test_progress_is_told_level_by_level() -> None:
    told: list[Progress] = []
    result = explore(Grid(3), progress=told.append)
    assert [p.level for p in told] == [0, 1, 2, 3, 4]
    assert [p.frontier for p in told] == [2, 3, 2, 1, 0]
    assert told[-1].states == result.states
    assert told[-1].transitions == result.transitions


@JOBS
def test_a_state_in_which_the_system_stops_is_a_violation_and_the_others_go_on(jobs: int) -> None:
    where = (37, 37)
    stops: Check[Cell, str] = Check("stops", stops=True)
    raising = Raising(BIG, where, ZeroDivisionError("oh\nand more"))
    checks = [stops, at((70, 2))]
    result = explore(raising, checks, jobs=jobs, stops=(ZeroDivisionError,))
    assert result.violations["stops"].sentence == "the machine stops here: oh"
    assert result.violations["stops"].trace[-1][1] == where
    assert result.violations["stops"].depth == sum(where)
    assert result.violations["cell"].trace == explore(Grid(BIG), checks).violations["cell"].trace
    assert (result.stuck, result.cut, result.complete) == (1, False, False)
    first = explore(raising, checks, jobs=jobs, stops=(ZeroDivisionError,), stop_at_first=True)
    assert list(first.violations) == ["cell"]
    both = explore(raising, [stops], jobs=jobs, stops=(ZeroDivisionError,), stop_at_first=True)
    assert both.violations["stops"].depth == sum(where)
    assert both.states < result.states


@JOBS
def test_time_that_is_up_ends_it_within_a_level(jobs: int) -> None:
    result = explore(Grid(BIG), [at((0, 0))], jobs=jobs, seconds=0)
    assert result.cut
    assert not result.complete
    assert result.levels == (1, 2)
    assert "cell" in result.violations
    assert not explore(Grid(3), seconds=1e6).cut


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"jobs": 0}, "jobs is 0; give 1 or more"),
        ({"max_states": 0}, "max_states is 0"),
        ({"max_depth": -1}, "max_depth is -1; give 0 or more"),
        ({"checks": [Check("a"), Check("a")]}, "two checks are called 'a'"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        explore(Grid(2), **options)
