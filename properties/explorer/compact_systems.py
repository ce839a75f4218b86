"""Systems that keep their states as integers, and how the explorer describes them.

The engine sees integers for states and for actions; checks, and the result, see what these stand
for.  It is the same exploration, since integers are equal exactly where states are, and come in the
same order.

With several processes, each worker gives its own numbers to what it meets first.  It hands over
what it learnt with each chunk, and the parent replaces them with its own numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Generic, Protocol, TypeGuard, TypeVar

from fencepost.properties.explorer.chunk import Expanded, Found
from fencepost.properties.explorer.exploration import A, Check, Exploration, FailedCheck, Graph, S


class Translation(Protocol):
    """Translates the numbers of one worker to those of this process."""

    def adopt(self, learnt: Any) -> None:
        """Take over what the worker learnt, in the order in which it was handed over."""
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
        """See System."""
        ...

    def successors(self, state: int) -> Iterable[tuple[int, int]]:
        """See System."""
        ...

    def opened(self, state: int) -> S_co:
        """Return the state that a number stands for."""
        ...

    def act(self, action: int) -> A_co:
        """Return the action that a number stands for."""
        ...

    def begin(self) -> None:
        """Remember from now on what is learnt, to hand it over."""
        ...

    def learnt(self) -> object:
        """Return what was learnt since; it can be pickled."""
        ...

    def translation(self) -> Translation:
        """Return a translation for a worker that is forked from this process now."""
        ...


def is_compact(system: object) -> TypeGuard[CompactSystem[Any, Any]]:
    """Return whether the states of a system are integers that stand for others."""
    return hasattr(system, "translation")


class Opened(Generic[S, A]):
    """Converts checks and results of a compact system to what its integers stand for."""

    def __init__(self, system: CompactSystem[S, A]) -> None:
        self._system = system
        self._at: int | None = None
        self._last: S | None = None

    def check(self, check: Check[S, A]) -> Check[int, int]:
        """Return the check on integers."""
        one, step, met, step_met = check.state, check.step, check.witness, check.step_witness
        world, act = self._world, self._system.act
        opened = self._system.opened

        def of_step(
            say: Callable[[S, A, S], Any] | None,
        ) -> Callable[[int, int, int], Any] | None:
            if say is None:
                return None
            return lambda before, action, after: say(world(before), act(action), opened(after))

        return Check(
            check.name,
            state=None if one is None else lambda state: one(world(state)),
            step=of_step(step),
            witness=None if met is None else lambda state: met(world(state)),
            step_witness=of_step(step_met),
            by_action=check.by_action,
        )

    def quiet(self, quiet: Callable[[A], bool]) -> Callable[[int], bool]:
        """Return `quiet` for integers; it is called once for each."""
        known: dict[int, bool] = {}

        def is_quiet(action: int) -> bool:
            found = known.get(action)
            if found is None:
                found = known[action] = quiet(self._system.act(action))
            return found

        return is_quiet

    def result(self, found: Exploration[int, int]) -> Exploration[S, A]:
        """Convert the result."""
        opened, act = self._system.opened, self._system.act
        violations = {
            name: FailedCheck(
                v.check,
                v.sentence,
                tuple((None if a is None else act(a), opened(s)) for a, s in v.trace),
            )
            for name, v in found.violations.items()
        }
        graph: Graph[S, A] | None = None
        if found.graph is not None:
            edges = [(source, act(a), target) for source, a, target in found.graph.edges]
            graph = Graph([opened(s) for s in found.graph.states], edges, found.graph.initial)
        return replace(found, violations=violations, graph=graph)  # type: ignore[arg-type,return-value]

    def _world(self, state: int) -> S:
        """Many checks ask about the same state."""
        if state != self._at or self._last is None:
            self._last = self._system.opened(state)
            self._at = state
        return self._last


def translated(done: Expanded[int, int], translation: Translation) -> None:
    """What a worker handed over, in one's own numbers."""
    translation.adopt(done.learnt)
    done.learnt = None
    state, action = translation.state, translation.action
    done.fresh = [(position, action(a), state(s)) for position, a, s in done.fresh]
    done.edges = [(position, action(a), number) for position, a, number in done.edges]
    for number, found in done.steps.items():
        if found.step is not None:
            a, s = found.step
            done.steps[number] = Found(found.position, found.sentence, (action(a), state(s)))
