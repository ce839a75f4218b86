"""The engine: what it counts, what it finds first, and what becomes of those that misbehave."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from properties.systems import Cell, Dying, Grid, Raising, Wide

from fencepost.properties import explorer_parallel
from fencepost.properties.explorer import Check, Exploration, Progress, explore
from fencepost.properties.explorer_parallel import WorkerLostError
from fencepost.properties.kip345_invariants import invariants
from fencepost.properties.kip345_small import CONFIGURATIONS, Fault, SmallSystem

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


class Unpicklable(Exception):
    def __init__(self, first: str, second: str) -> None:
        super().__init__(first + second)


@JOBS
@pytest.mark.parametrize("where", [(0, 0), (37, 37)])
def test_what_a_system_raises_is_raised_with_its_state(jobs: int, where: Cell) -> None:
    with pytest.raises(ZeroDivisionError, match="oh") as caught:
        explore(Raising(BIG, where, ZeroDivisionError("oh")), jobs=jobs)
    assert any(repr(where) in note for note in caught.value.__notes__)
    assert not multiprocessing.active_children()


def test_an_exception_that_cannot_leave_its_process_is_told() -> None:
    with pytest.raises(RuntimeError, match="Unpicklable: ab") as caught:
        explore(Raising(BIG, (37, 37), Unpicklable("a", "b")), jobs=2)
    assert any("(37, 37)" in note for note in caught.value.__notes__)


def test_of_two_that_raise_the_first_in_the_order_is_told() -> None:
    class Both(Grid):
        def successors(self, state: Cell) -> Any:
            if state in {(50, 22), (22, 50)}:
                raise ValueError(str(state))
            return super().successors(state)

    for jobs in (1, 2):
        with pytest.raises(ValueError, match=r"\(50, 22\)"):
            explore(Both(BIG), jobs=jobs)


def test_states_that_cannot_be_pickled_are_named() -> None:
    class Local:
        def initial(self) -> Any:
            return range(200)

        def successors(self, state: Any) -> Any:
            if isinstance(state, int):
                yield "wrap", lambda: state

    with pytest.raises(Exception, match="pickle"):
        explore(Local(), jobs=2)


def test_a_worker_that_dies_is_missed() -> None:
    with pytest.raises(WorkerLostError, match=r"exit code 7"):
        explore(Dying(BIG, (37, 37)), jobs=2)
    assert not multiprocessing.active_children()


class Stuck(Wide):
    """In a worker, does something else in the first states, and never ends in the others."""

    def __init__(self, first: Callable[[], object]) -> None:
        super().__init__(1_000)
        self.first = first
        self.home = os.getpid()

    def successors(self, state: int) -> Iterator[tuple[int, int]]:
        if os.getpid() != self.home:
            if state > 20:
                signal.pause()
            self.first()
        return super().successors(state)


def test_a_worker_that_dies_is_missed_while_others_never_end() -> None:
    with pytest.raises(WorkerLostError, match="exit code 7"):
        explore(Stuck(lambda: os._exit(7)), jobs=2)
    assert not multiprocessing.active_children()


def test_a_worker_that_just_leaves_is_missed() -> None:
    class Leaving(Wide):
        def successors(self, state: int) -> Iterator[tuple[int, int]]:
            if state:
                os._exit(0)
            return super().successors(state)

    with pytest.raises(WorkerLostError, match="must not"):
        explore(Leaving(1_000), jobs=2)


def test_a_failure_while_filing_ends_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> object:
        assert multiprocessing.active_children()
        raise KeyboardInterrupt

    monkeypatch.setattr(explorer_parallel, "_received", interrupted)

    def failing() -> None:
        raise ValueError("so that there is a message")

    with pytest.raises(KeyboardInterrupt):
        explore(Stuck(failing), jobs=2)
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_their_parent(tmp_path: Path, number: signal.Signals) -> None:
    """The workers hold the write end of a pipe: it is closed once all of them are gone."""
    script = tmp_path / "endless.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, sys
            from fencepost.properties.explorer import explore

            class Endless:
                def initial(self):
                    return range(10_000)

                def successors(self, state):
                    if os.getpid() != home:
                        os.write(held, b"x")
                    return [("add", state + 10_000)]

            home, held = os.getpid(), int(sys.argv[1])
            explore(Endless(), jobs=2)
            """
        ),
        "utf-8",
    )
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [sys.executable, str(script), str(writer)],
        pass_fds=[writer],
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    os.close(writer)
    with process, os.fdopen(reader, "rb", buffering=0) as pipe:
        assert pipe.read(1) == b"x"
        process.send_signal(number)
        while pipe.read(4096):
            pass
        assert process.wait() == -number
