"""Expand a chunk of a breadth-first level: the only loop that runs a system's code.

The same loop serves one process and many.  It takes a table of known states, adds new states to it,
and returns the results that the explorer must file, in the order in which they turned up.

Compact systems keep their states and actions as integers.  The engine works on the integers; checks
and the result get the states and actions that these stand for.  It is the same exploration, since
integers are equal exactly where states are, and come in the same order.

With several processes, each worker gives its own numbers to new states.  It hands over its
numbering with each chunk, and the parent replaces the numbers with its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeGuard, TypeVar

from fencepost.properties.explorer.exploration import (
    A,
    Check,
    Exploration,
    FailedCheck,
    Graph,
    S,
    System,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Violation(Generic[S, A]):
    """A check that does not hold at a position of the level; `step` if it is a step from there."""

    position: int
    sentence: str
    step: tuple[A, S] | None = None


@dataclass(slots=True)
class Expanded(Generic[S, A]):
    """The result of a chunk: positions are those of the level, checks are numbers.

    `stopped`: it stopped expanding because of a violation; `edges`: (position, action, number of
    the target in the table used), if the manner keeps them; `refused`: there was no room for a
    state; `stuck`: number of states in which the system raised what is expected; `learnt`: new
    numbers of a worker's system.
    """

    transitions: int = 0
    fresh: list[tuple[int, A, S]] = field(default_factory=list)
    edges: list[tuple[int, A, int]] = field(default_factory=list)
    states: dict[int, Violation[S, A]] = field(default_factory=dict)
    steps: dict[int, Violation[S, A]] = field(default_factory=dict)
    state_witnesses: set[int] = field(default_factory=set)
    step_witnesses: set[int] = field(default_factory=set)
    stopped: bool = False
    refused: bool = False
    stuck: int = 0
    learnt: object = None


class Judge(Generic[S, A]):
    """The checks still open in a level, and their violations in the present chunk.

    Each is evaluated until it first fails: of a level's states that is the first in its order, as
    long as a judge meets them in that order.
    """

    def __init__(
        self,
        checks: Sequence[Check[S, A]],
        closed: set[int],
        met: set[int],
        quiet: Callable[[A], bool] | None = None,
        judged_actions: set[A] | None = None,
    ) -> None:
        """Leave out the checks that are `closed`, and the witnesses of those in `met`.

        `closed`: checks that are already violated; `met`: checks whose premise was met.  `quiet`:
        true of an action whose steps violate no check of steps.  `judged_actions`: those that were
        judged in levels before; new ones are added.
        """
        self.quiet = quiet
        opened = [(i, c) for i, c in enumerate(checks) if i not in closed]
        unseen = [(i, c) for i, c in enumerate(checks) if i not in met]
        self.states = tuple((i, c.state) for i, c in opened if c.state is not None)
        self.steps = tuple((i, c.step) for i, c in opened if c.step and not c.by_action)
        self.of_actions = tuple((i, c.step) for i, c in opened if c.step and c.by_action)
        self.witnesses = tuple((i, c.witness) for i, c in unseen if c.witness is not None)
        self.step_witnesses = tuple(
            (i, c.step_witness) for i, c in unseen if c.step_witness and not c.by_action
        )
        self.action_witnesses = tuple(
            (i, c.step_witness) for i, c in unseen if c.step_witness and c.by_action
        )
        self.stops = tuple(i for i, c in opened if c.stops)
        self._judged_actions = set() if judged_actions is None else judged_actions

    @property
    def judges_steps(self) -> bool:
        """True if any check looks at steps."""
        return bool(self.steps or self.step_witnesses or self.of_actions or self.action_witnesses)

    def judge_state(self, position: int, state: S, into: Expanded[S, A]) -> None:
        """Evaluate the checks of a state."""
        for i, holds in self.states:
            sentence = holds(state)
            if sentence is not None:
                into.states[i] = Violation(position, sentence)
                self.states = _without(self.states, i)
        for i, met in self.witnesses:
            if met(state):
                into.state_witnesses.add(i)
                self.witnesses = _without(self.witnesses, i)

    def judge_step(
        self, position: int, state: S, action: A, following: S, into: Expanded[S, A]
    ) -> None:
        """Evaluate the checks of a step."""
        if action not in self._judged_actions:
            self._judged_actions.add(action)
            self._judge_action(position, state, action, following, into)
        if not self.steps and not self.step_witnesses:
            return
        checks = self.steps if self.quiet is None or not self.quiet(action) else ()
        for i, holds in checks:
            sentence = holds(state, action, following)
            if sentence is not None:
                into.steps[i] = Violation(position, sentence, (action, following))
                self.steps = _without(self.steps, i)
        for i, met in self.step_witnesses:
            if met(state, action, following):
                into.step_witnesses.add(i)
                self.step_witnesses = _without(self.step_witnesses, i)

    def judge_stop(self, position: int, error: Exception, into: Expanded[S, A]) -> None:
        """Note that the system raised an exception in a state."""
        why = str(error).partition("\n")[0] or "a step can't be done"
        for i in self.stops:
            into.states[i] = Violation(position, f"the machine stops here: {why}")
        self.stops = ()

    def _judge_action(
        self, position: int, state: S, action: A, following: S, into: Expanded[S, A]
    ) -> None:
        """Evaluate the checks of an action, at its first step."""
        for i, holds in self.of_actions:
            sentence = holds(state, action, following)
            if sentence is not None:
                into.steps[i] = Violation(position, sentence, (action, following))
                self.of_actions = _without(self.of_actions, i)
        for i, met in self.action_witnesses:
            if met(state, action, following):
                into.step_witnesses.add(i)
                self.action_witnesses = _without(self.action_witnesses, i)


def _without(items: tuple[tuple[int, T], ...], number: int) -> tuple[tuple[int, T], ...]:
    return tuple(item for item in items if item[0] != number)


@dataclass(frozen=True, slots=True)
class Manner:
    """The options for expanding a level.

    `expand`: if false, its states are only checked; `stop`: at the first violation; `edges`: keep
    them all; `limit`: the most states that the table may hold; `stops`: the exceptions by which the
    system may stop in a state.
    """

    expand: bool = True
    stop: bool = False
    edges: bool = False
    limit: int | None = None
    stops: tuple[type[Exception], ...] = ()


def expand_chunk(
    system: System[S, A],
    judge: Judge[S, A],
    chunk: Sequence[S],
    first: int,
    known: dict[S, int],
    manner: Manner,
) -> Expanded[S, A]:
    """Check and expand the states of a chunk, whose positions in the level begin with `first`.

    Adds new states to `known`, numbered on.  An exception of the system or a check is raised with a
    note of the state, unless it is one of the manner's `stops`: then the rest of that state's steps
    is left out.

    With `stop` it stops: at a state that fails a check, before that state is expanded; at a step
    that fails, after its state is expanded, and the later states are only checked, since one of
    them that fails is nearer than the step.
    """
    done: Expanded[S, A] = Expanded()
    successors: Callable[[S], Iterable[tuple[A, S]]] = (
        system.successors if manner.expand else _nothing
    )
    limit = manner.limit
    edges = done.edges if manner.edges else None
    fresh = done.fresh
    judging = bool(judge.states or judge.witnesses)
    judge_step = judge.judge_step if judge.judges_steps else None
    transitions = 0
    state = chunk[0]
    try:
        for position, state in enumerate(chunk, first):
            if judging:
                judge.judge_state(position, state, done)
                if manner.stop and done.states:
                    done.stopped = True
                    break
            try:
                for action, following in successors(state):
                    transitions += 1
                    size = len(known)
                    number = known.setdefault(following, size)
                    if number == size:
                        if limit is not None and size >= limit:
                            del known[following]
                            done.refused = True
                            number = -1
                        else:
                            fresh.append((position, action, following))
                    if edges is not None and number >= 0:
                        edges.append((position, action, number))
                    if judge_step is not None:
                        judge_step(position, state, action, following, done)
            except manner.stops as error:
                done.stuck += 1
                judge.judge_stop(position, error, done)
                if manner.stop and done.states:
                    done.stopped = True
                    break
            if manner.stop and done.steps and not done.stopped:
                done.stopped = True
                successors = _nothing
    except Exception as error:
        error.add_note(f"in the state {state!r}, or on a step from it")
        raise
    done.transitions = transitions
    return done


def _nothing(_state: object) -> tuple[()]:
    return ()


class Translation(Protocol):
    """A translation of the numbers of one worker to those of this process."""

    def adopt(self, learnt: Any) -> None:
        """Adopt a worker's new numbers, in the order in which they were handed over."""
        ...

    def state(self, state: int) -> int:
        """Return this process's number of the worker's state."""
        ...

    def action(self, action: int) -> int:
        """Return this process's number of the worker's action."""
        ...


S_co = TypeVar("S_co", covariant=True)
A_co = TypeVar("A_co", covariant=True)


class CompactSystem(Protocol[S_co, A_co]):
    """A system whose states and actions are integers that stand for others."""

    def initial(self) -> Iterable[int]:
        """Return the initial states, as System."""
        ...

    def successors(self, state: int) -> Iterable[tuple[int, int]]:
        """Return the enabled actions and the next states, as System."""
        ...

    def opened(self, state: int) -> S_co:
        """Return the state that a number stands for."""
        ...

    def act(self, action: int) -> A_co:
        """Return the action that a number stands for."""
        ...

    def begin(self) -> None:
        """Record new numbers from now on, to hand them over."""
        ...

    def learnt(self) -> object:
        """Return the new numbers since the last call; they can be pickled."""
        ...

    def translation(self) -> Translation:
        """Return a translation for a worker that is forked from this process now."""
        ...


def is_compact(system: object) -> TypeGuard[CompactSystem[Any, Any]]:
    """Return True if the states of a system are integers that stand for others."""
    return hasattr(system, "translation")


class Opened(Generic[S, A]):
    """Converts checks and results of a compact system to the states and actions of its integers."""

    def __init__(self, system: CompactSystem[S, A]) -> None:
        self._system = system
        self._at: int | None = None
        self._last: S | None = None

    def check(self, check: Check[S, A]) -> Check[int, int]:
        """Return the check on integers."""
        holds, step, met, step_met = check.state, check.step, check.witness, check.step_witness
        world, act = self._world, self._system.act
        opened = self._system.opened

        def of_step(
            say: Callable[[S, A, S], Any] | None,
        ) -> Callable[[int, int, int], Any] | None:
            if say is None:
                return None
            if check.by_action:  # it looks at nothing else, so the worlds need not be opened
                return lambda before, action, after: say(before, act(action), after)  # type: ignore[arg-type]
            return lambda before, action, after: say(world(before), act(action), opened(after))

        return Check(
            check.name,
            state=None if holds is None else lambda state: holds(world(state)),
            step=of_step(step),
            witness=None if met is None else lambda state: met(world(state)),
            step_witness=of_step(step_met),
            by_action=check.by_action,
            stops=check.stops,
        )

    def quiet(self, quiet: Callable[[A], bool]) -> Callable[[int], bool]:
        """Return `quiet` for integers; it is called once for each."""
        known: dict[int, bool] = {}

        def is_quiet(action: int) -> bool:
            answer = known.get(action)
            if answer is None:
                answer = known[action] = quiet(self._system.act(action))
            return answer

        return is_quiet

    def result(self, result: Exploration[int, int]) -> Exploration[S, A]:
        """Convert the result."""
        opened, act = self._system.opened, self._system.act
        violations = {
            name: FailedCheck(
                v.check,
                v.sentence,
                tuple((None if a is None else act(a), opened(s)) for a, s in v.trace),
            )
            for name, v in result.violations.items()
        }
        graph: Graph[S, A] | None = None
        if result.graph is not None:
            edges = [(source, act(a), target) for source, a, target in result.graph.edges]
            graph = Graph([opened(s) for s in result.graph.states], edges, result.graph.initial)
        return replace(result, violations=violations, graph=graph)  # type: ignore[arg-type,return-value]

    def _world(self, state: int) -> S:
        """Return the state of a number; cached, since many checks look at the same state."""
        if state != self._at or self._last is None:
            self._last = self._system.opened(state)
            self._at = state
        return self._last


def translated(done: Expanded[int, int], translation: Translation) -> None:
    """Replace the numbers of a worker's chunk by this process's numbers."""
    translation.adopt(done.learnt)
    done.learnt = None
    state, action = translation.state, translation.action
    done.fresh = [(position, action(a), state(s)) for position, a, s in done.fresh]
    done.edges = [(position, action(a), number) for position, a, number in done.edges]
    for number, violation in done.steps.items():
        if violation.step is not None:
            a, s = violation.step
            done.steps[number] = Violation(
                violation.position, violation.sentence, (action(a), state(s))
            )
