"""Explore a system exhaustively, breadth first, and find a shortest trace to each violation.

States are visited level by level, within a level in the order of the states that they come from,
then in the order of `successors`.  Whichever process does the work, results are filed in that
order, so they and all traces are equal for any number of processes.

Per state the explorer keeps the state, its number, the state before it and the action between them.

    result = explore(system, [Check("one leader", state=one_leader)])
    result.violations["one leader"].trace

Worker processes are forked for each level, so they start with all known states, and nothing needs
to be sent to them, systems made of closures included; a state crosses a pipe once, from the worker
that discovers it.  Workers take short chunks from a common counter, and results are passed on in
the order of the chunks.
"""

from __future__ import annotations

import gc
import multiprocessing
import pickle
import time
import traceback
from array import array
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Generic, Self, cast

from fencepost.properties.explorer.chunk import (
    Expanded,
    Judge,
    Manner,
    Opened,
    Violation,
    expand_chunk,
    is_compact,
    translated,
)
from fencepost.properties.explorer.exploration import (
    A,
    Check,
    Exploration,
    FailedCheck,
    Graph,
    Progress,
    S,
    System,
    peak_bytes,
    unique_names,
)
from fencepost.properties.workers.processes import (
    END_S,
    Failure,
    Worker,
    WorkerGroup,
    WorkerLostError,
    collect_seldom,
    listen,
)

if TYPE_CHECKING:
    from fencepost.properties.explorer.frontier import FrontierCheck, FrontierSystem


_FORK = multiprocessing.get_context("fork")
_CHUNKS_EACH = 16
_SMALLEST, _LARGEST = 16, 1024
_Message = tuple[int, Expanded[S, A] | Failure]


class LevelWorkers(Generic[S, A]):
    """The workers of one level; a context manager that ends them."""

    def __init__(
        self,
        system: System[S, A],
        judge: Judge[S, A],
        frontier: Sequence[S],
        known: dict[S, int],
        manner: Manner,
        jobs: int,
    ) -> None:
        self.numbers = [array("q") for _ in range(jobs)]
        """Per worker the final numbers of its new states; the explorer writes them."""
        self._system = system
        self._judge = judge
        self._frontier = frontier
        self._known = known
        # There is no limit in a worker: it can't know how much the others have found.
        self._manner = replace(manner, limit=None)
        size = len(frontier) // (jobs * _CHUNKS_EACH)
        self._size = min(max(size, _SMALLEST), _LARGEST)
        self._chunks = -(-len(frontier) // self._size)
        self._next = _FORK.Value("q", 0)
        self._group = WorkerGroup("fork")

    def __enter__(self) -> Self:
        try:
            for _ in self.numbers:
                self._group.start(self._work)
        except BaseException:
            self._group.end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._group.end()

    def results(self) -> Iterator[tuple[int, Expanded[S, A]]]:
        """Yield the worker and the result of each chunk, in the order of the chunks.

        Raises a chunk's exception at its turn, and WorkerLostError.
        """
        workers = {worker.pipe: n for n, worker in enumerate(self._group.workers)}
        waiting: dict[int, tuple[int, Expanded[S, A] | Failure]] = {}
        for turn in range(self._chunks):
            while turn not in waiting:
                for ready in wait(list(workers)):
                    pipe = cast("Connection", ready)
                    message: _Message[S, A] | None = _received(self._group.workers[workers[pipe]])
                    if message is None:
                        del workers[pipe]
                    else:
                        waiting[message[0]] = (workers[pipe], message[1])
                if not workers and turn not in waiting:
                    raise WorkerLostError("a worker left without an error; the system must not")
            worker, result = waiting.pop(turn)
            if isinstance(result, Failure):
                raise result.error
            yield worker, result

    def _work(self, pipe: Connection) -> None:
        """Expand chunks in a worker as long as there are any."""
        gc.freeze()  # what is shared with the parent is never copied just to be looked through
        listen(pipe)
        if is_compact(self._system):
            self._system.begin()
        while (turn := self._take()) < self._chunks:
            first = turn * self._size
            chunk = self._frontier[first : first + self._size]
            try:
                result: Expanded[S, A] | Failure
                result = expand_chunk(
                    self._system, self._judge, chunk, first, self._known, self._manner
                )
                if is_compact(self._system):
                    result.learnt = self._system.learnt()
                message = pickle.dumps((turn, result), pickle.HIGHEST_PROTOCOL)
            except BaseException as error:  # noqa: BLE001 - it is raised again, in the parent
                error.add_note(f"in a worker:\n{''.join(traceback.format_exception(error))}")
                result = Failure.of(error)
                message = pickle.dumps((turn, result), pickle.HIGHEST_PROTOCOL)
            pipe.send_bytes(message)
            if isinstance(result, Failure):
                return

    def _take(self) -> int:
        with self._next.get_lock():
            turn: int = self._next.value
            self._next.value = turn + 1
        return turn


def _received(worker: Worker) -> _Message[S, A] | None:
    """Return a worker's message, or None if it has ended after its work.

    Raises WorkerLostError if it ended before: others may wait for its result for ever.
    """
    try:
        message: _Message[S, A] = worker.receive()
    except WorkerLostError as lost:
        worker.process.join(END_S)
        if worker.process.exitcode == 0:
            return None
        code = worker.process.exitcode
        raise WorkerLostError(f"{lost} (exit code {code}, negative: by a signal)") from None
    return message


__all__ = [
    "Check",
    "Exploration",
    "FailedCheck",
    "Graph",
    "Progress",
    "System",
    "explore",
]

_CHUNK = 1024
_TIMED_CHUNK = 64
"""States between two looks at the clock, where there is an end."""
_TELL_S = 1.0
"""Seconds of a long level after which its progress is told."""
_PER_PROCESS = 32
"""With fewer states for each process, a level is faster in one process."""


@collect_seldom()
def explore(
    system: System[S, A] | FrontierSystem[S, A],
    checks: Sequence[Check[S, A] | FrontierCheck[S]] = (),
    *,
    jobs: int = 1,
    max_states: int | None = None,
    max_depth: int | None = None,
    stop_at_first: bool = False,
    keep_graph: bool = False,
    progress: Callable[[Progress], None] | None = None,
    quiet: Callable[[A], bool] | None = None,
    seconds: float | None = None,
    is_over: Callable[[], bool] | None = None,
    stops: tuple[type[Exception], ...] = (),
) -> Exploration[S, A]:
    """Visit every reachable state, check it, and count it.

    `jobs`: processes, forked from this one for each level (POSIX); it pays where `successors` is
    slow.  `max_states`: the most states to keep; the level that exceeds it is the last to be
    expanded.  `max_depth`: states this many actions away are checked, but not expanded (so
    `complete` is false).  `seconds`: the time after which it ends; it ends, too, when `is_over`
    returns True.  `stop_at_first`: end at the
    first violation, the nearest one; otherwise all checks go on.  `progress` is called after each
    level, and in a long one now and then.  `quiet`: returns True if an action alone shows that no
    check of steps fails; then those are not evaluated (their witnesses are).  `stops`: exceptions
    by which the system may stop in a state: that violates the checks with `stops`, and the other
    states go on.

    A system with a compact form (`compact()`) is explored in that form.  A FrontierSystem (see
    `frontier.py`) is expanded by whole levels; `jobs` are threads then, and it has no `seconds`.

    Raises ValueError for impossible numbers and for two checks of one name, and the exceptions of
    the system or a check, with a note of the state.
    """
    for name, value, least in (
        ("jobs", jobs, 1),
        ("max_states", max_states, 1),
        ("max_depth", max_depth, 0),
    ):
        if value is not None and value < least:
            raise ValueError(f"{name} is {value}; give {least} or more")
    unique_names(check.name for check in checks)
    if not hasattr(system, "successors"):
        from fencepost.properties.explorer.frontier import FrontierExplorer  # noqa: PLC0415 - NumPy

        frontiers = FrontierExplorer(
            system, checks, jobs=jobs, stop=stop_at_first, limit=max_states
        )
        return frontiers.run(max_depth=max_depth, keep_graph=keep_graph, progress=progress)
    singly = tuple(check for check in checks if isinstance(check, Check))
    if len(singly) < len(checks):
        raise ValueError("a FrontierCheck judges words; give a System of single states a Check")
    manner = Manner(stop=stop_at_first, edges=keep_graph, limit=max_states, stops=stops)
    if hasattr(system, "compact"):
        compact = system.compact()
        opened: Opened[S, A] = Opened(compact)
        checked = tuple(opened.check(check) for check in singly)
        quiet_act = None if quiet is None else opened.quiet(quiet)
        numbers: _Explorer[int, int] = _Explorer(compact, checked, manner, jobs, quiet_act)
        return opened.result(numbers.run(max_depth, progress, seconds, is_over))
    explorer = _Explorer(cast("System[S, A]", system), singly, manner, jobs, quiet)
    return explorer.run(max_depth, progress, seconds, is_over)


class _Clock:
    """The time of an exploration: when it must end, and when to tell how far it is."""

    def __init__(
        self,
        begun: float,
        seconds: float | None,
        progress: Callable[[Progress], None] | None,
        ends: Callable[[], bool] | None,
    ) -> None:
        self._ends = ends
        self._begun = self._reported = begun
        self._end = None if seconds is None else begun + seconds
        self._progress = progress

    def is_over(self) -> bool:
        """Return True if the exploration must end."""
        late = self._end is not None and time.perf_counter() >= self._end
        return late or (self._ends is not None and self._ends())

    @property
    def chunk(self) -> int:
        """Number of states to expand before somebody asks whether it must end."""
        return _CHUNK if self._end is None and self._ends is None else _TIMED_CHUNK

    def is_due(self) -> bool:
        """Return True if nothing was told for a while."""
        return self._progress is not None and time.perf_counter() - self._reported >= _TELL_S

    def tell(self, done: Progress) -> None:
        """Tell the progress, with the time."""
        if self._progress is not None:
            self._reported = time.perf_counter()
            self._progress(replace(done, seconds=self._reported - self._begun))


class _Explorer(Generic[S, A]):
    """One exploration while it lasts."""

    def __init__(
        self,
        system: System[S, A],
        checks: tuple[Check[S, A], ...],
        manner: Manner,
        jobs: int,
        quiet: Callable[[A], bool] | None,
    ) -> None:
        self.quiet = quiet
        self.system = system
        self.checks = checks
        self.manner = manner
        self.jobs = jobs
        self.forked = False
        self.known: dict[S, int] = {}
        self.parents = array("q")
        self.actions = array("i")
        self.labels: dict[A, int] = {}
        self.transitions = 0
        self.refused = False
        self.stopped = False
        self.late = False
        self.stuck = 0
        self.levels: list[int] = []
        self.frontier: list[S] = []
        self.edges: list[tuple[int, A, int]] = []
        self.judged_actions: set[A] = set()
        self.violations: dict[int, FailedCheck[S, A]] = {}
        self.witnesses: dict[int, int] = {}

    def run(
        self,
        max_depth: int | None,
        progress: Callable[[Progress], None] | None,
        seconds: float | None,
        is_over: Callable[[], bool] | None,
    ) -> Exploration[S, A]:
        begun = time.perf_counter()
        clock = _Clock(begun, seconds, progress, is_over)
        for state in self.system.initial():
            if self.manner.limit is not None and len(self.known) >= self.manner.limit:
                self.refused = state not in self.known or self.refused
            elif self.known.setdefault(state, len(self.known)) == len(self.parents):
                self._file(-1, -1)
                self.frontier.append(state)
        initial = len(self.frontier)
        complete = True
        while self.frontier:
            depth = len(self.levels)
            frontier, self.frontier = self.frontier, []
            self.levels.append(len(frontier))
            expand = not self.refused and depth != max_depth
            complete = complete and expand
            self._level(depth, frontier, clock, expand=expand)
            clock.tell(self.progress(depth))
            if self.stopped or self.late:
                break
        if self.frontier:
            self.levels.append(len(self.frontier))
        cut = self.refused or self.late or not complete
        return Exploration(
            states=len(self.known),
            transitions=self.transitions,
            levels=tuple(self.levels),
            complete=not (cut or self.stopped or self.stuck),
            violations={self.checks[i].name: v for i, v in sorted(self.violations.items())},
            witnesses={self.checks[i].name: d for i, d in sorted(self.witnesses.items())},
            seconds=time.perf_counter() - begun,
            peak_bytes=peak_bytes(self.jobs if self.forked else 0),
            graph=Graph(list(self.known), self.edges, initial) if self.manner.edges else None,
            stuck=self.stuck,
            cut=cut,
            full=self.refused,
        )

    def progress(self, depth: int) -> Progress:
        """Return the figures so far; the explorer's clock gives the time."""
        return Progress(depth, len(self.known), self.transitions, len(self.frontier), 0)

    def _level(self, depth: int, frontier: list[S], clock: _Clock, *, expand: bool) -> None:
        """Expand a level and file its results."""
        first = len(self.known) - len(frontier)
        states: dict[int, Violation[S, A]] = {}
        steps: dict[int, Violation[S, A]] = {}
        with closing(self._expanded(frontier, clock.chunk, expand=expand)) as chunks:
            for done in chunks:
                for number, violation in done.states.items():
                    states.setdefault(number, violation)
                if not self.stopped:
                    for number, violation in done.steps.items():
                        steps.setdefault(number, violation)
                    self._count(done, depth, first)
                self.stopped = self.stopped or done.stopped
                if self.manner.stop and states:
                    break
                if clock.is_over():
                    self.late = True
                    break
                if clock.is_due():
                    clock.tell(self.progress(depth))
        for number, violation in (
            states if self.manner.stop and states else steps | states
        ).items():
            self.violations[number] = self._violation(number, first, violation)

    def _expanded(self, frontier: list[S], size: int, *, expand: bool) -> Generator[Expanded[S, A]]:
        """Yield the results of a level's chunks in order, their states already in the table."""
        judge = Judge(
            self.checks, set(self.violations), set(self.witnesses), self.quiet, self.judged_actions
        )
        manner = replace(self.manner, expand=expand)
        if self.jobs > 1 and len(frontier) >= self.jobs * _PER_PROCESS:
            self.forked = True
            base = len(self.known)
            system = self.system
            translations = (
                [system.translation() for _ in range(self.jobs)] if is_compact(system) else []
            )
            with LevelWorkers(
                self.system, judge, frontier, self.known, manner, self.jobs
            ) as workers:
                for worker, done in workers.results():
                    if translations:
                        translated(cast("Expanded[int, int]", done), translations[worker])
                    if not self.stopped:
                        self._number(done, base, workers.numbers[worker])
                    yield done
            return
        for first in range(0, len(frontier), size):
            chunk = frontier[first : first + size]
            yield expand_chunk(self.system, judge, chunk, first, self.known, manner)
            manner = replace(manner, expand=expand and not self.stopped)

    def _number(self, done: Expanded[S, A], base: int, numbers: array[int]) -> None:
        """Put a worker's new states into the table, with the table's numbers in place of its own.

        `numbers`: the table's numbers of the states that are new to the worker, whose own count
        from `base`.
        """
        known, limit = self.known, self.manner.limit
        fresh = []
        for entry in done.fresh:
            size = len(known)
            number = known.setdefault(entry[2], size)
            if number == size:
                if limit is not None and size >= limit:
                    del known[entry[2]]
                    done.refused = True
                    number = -1
                else:
                    fresh.append(entry)
            numbers.append(number)
        done.fresh = fresh
        done.edges = [
            (position, action, own)
            for position, action, number in done.edges
            if (own := number if number < base else numbers[number - base]) >= 0
        ]

    def _count(self, done: Expanded[S, A], depth: int, first: int) -> None:
        self.transitions += done.transitions
        self.refused = self.refused or done.refused
        self.stuck += done.stuck
        for position, action, state in done.fresh:
            self._file(first + position, self.labels.setdefault(action, len(self.labels)))
            self.frontier.append(state)
        self.edges += [(first + p, action, target) for p, action, target in done.edges]
        for number in done.state_witnesses:
            self.witnesses[number] = min(depth, self.witnesses.get(number, depth))
        for number in done.step_witnesses:
            self.witnesses.setdefault(number, depth + 1)

    def _file(self, parent: int, action: int) -> None:
        self.parents.append(parent)
        self.actions.append(action)

    def _violation(self, number: int, first: int, violation: Violation[S, A]) -> FailedCheck[S, A]:
        labels = list(self.labels)
        path: list[int] = []
        index = first + violation.position
        while index >= 0:
            path.append(index)
            index = self.parents[index]
        path.reverse()
        trace: list[tuple[A | None, S]] = [
            (labels[self.actions[i]] if self.parents[i] >= 0 else None, state)
            for i, state in zip(path, _picked(self.known, path), strict=True)
        ]
        if violation.step is not None:
            trace.append(violation.step)
        return FailedCheck(self.checks[number].name, violation.sentence, tuple(trace))


def _picked(known: dict[S, int], indices: list[int]) -> Iterator[S]:
    """Yield the states of ascending numbers: a table lists its states in the order of discovery."""
    at = 0
    states = iter(known)
    for index in indices:
        yield next(islice(states, index - at, None))
        at = index + 1
