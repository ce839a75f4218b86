"""Expands a chunk of one breadth-first level: the only loop that runs a system's code.

The same loop serves one process and many.  It is given a table of known states, adds to it what it
finds, and returns what the explorer must file, in the order in which it was found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from fencepost.properties.explorer.exploration import A, Check, S, System

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Found(Generic[S, A]):
    """A check that does not hold at a position of the level; `step` if it is a step from there."""

    position: int
    sentence: str
    step: tuple[A, S] | None = None


@dataclass(slots=True)
class Expanded(Generic[S, A]):
    """The result of a chunk: positions are those of the level, checks are numbers.

    `stopped`: where it stopped expanding because something was found; `edges`: (position, action,
    number of the target in the table used), if wanted; `refused`: there was no room for a state;
    `learnt`: what a worker's system came to know (see `compact.py`).
    """

    transitions: int = 0
    fresh: list[tuple[int, A, S]] = field(default_factory=list)
    edges: list[tuple[int, A, int]] = field(default_factory=list)
    states: dict[int, Found[S, A]] = field(default_factory=dict)
    steps: dict[int, Found[S, A]] = field(default_factory=dict)
    state_witnesses: set[int] = field(default_factory=set)
    step_witnesses: set[int] = field(default_factory=set)
    stopped: bool = False
    refused: bool = False
    learnt: object = None


class Judge(Generic[S, A]):
    """The checks still open in a level, and what they found in the present chunk.

    Each is asked until it first fails: of a level's states that is the first in its order, as long
    as a judge meets them in that order.
    """

    def __init__(
        self,
        checks: Sequence[Check[S, A]],
        closed: set[int],
        seen: set[int],
        quiet: Callable[[A], bool] | None = None,
    ) -> None:
        """`closed`: checks that are already violated; `seen`: checks whose premise was met.

        `quiet`: whether no check of steps has anything against a step by this action.
        """
        self.quiet = quiet
        opened = [(i, c) for i, c in enumerate(checks) if i not in closed]
        unseen = [(i, c) for i, c in enumerate(checks) if i not in seen]
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
        self._heard: set[A] = set()

    @property
    def judges_steps(self) -> bool:
        """Whether any check looks at steps."""
        return bool(self.steps or self.step_witnesses or self.of_actions or self.action_witnesses)

    def judge_state(self, position: int, state: S, into: Expanded[S, A]) -> None:
        """Evaluate the checks of a state."""
        for i, holds in self.states:
            sentence = holds(state)
            if sentence is not None:
                into.states[i] = Found(position, sentence)
                self.states = _without(self.states, i)
        for i, met in self.witnesses:
            if met(state):
                into.state_witnesses.add(i)
                self.witnesses = _without(self.witnesses, i)

    def judge_step(
        self, position: int, state: S, action: A, following: S, into: Expanded[S, A]
    ) -> None:
        """Evaluate the checks of a step."""
        if action not in self._heard:
            self._heard.add(action)
            self._judge_action(position, state, action, following, into)
        if not self.steps and not self.step_witnesses:
            return
        asked = self.steps if self.quiet is None or not self.quiet(action) else ()
        for i, holds in asked:
            sentence = holds(state, action, following)
            if sentence is not None:
                into.steps[i] = Found(position, sentence, (action, following))
                self.steps = _without(self.steps, i)
        for i, met in self.step_witnesses:
            if met(state, action, following):
                into.step_witnesses.add(i)
                self.step_witnesses = _without(self.step_witnesses, i)

    def _judge_action(
        self, position: int, state: S, action: A, following: S, into: Expanded[S, A]
    ) -> None:
        """Evaluate the checks of an action, at its first step."""
        for i, holds in self.of_actions:
            sentence = holds(state, action, following)
            if sentence is not None:
                into.steps[i] = Found(position, sentence, (action, following))
                self.of_actions = _without(self.of_actions, i)
        for i, met in self.action_witnesses:
            if met(state, action, following):
                into.step_witnesses.add(i)
                self.action_witnesses = _without(self.action_witnesses, i)


def _without(items: tuple[tuple[int, T], ...], number: int) -> tuple[tuple[int, T], ...]:
    return tuple(item for item in items if item[0] != number)


@dataclass(frozen=True, slots=True)
class Manner:
    """How a level is expanded.

    `expand`: if false, its states are only checked; `stop`: at the first violation; `edges`: keep
    them all; `limit`: the most states that the table may hold.
    """

    expand: bool = True
    stop: bool = False
    edges: bool = False
    limit: int | None = None


def expand_chunk(
    system: System[S, A],
    judge: Judge[S, A],
    chunk: Sequence[S],
    first: int,
    known: dict[S, int],
    manner: Manner,
) -> Expanded[S, A]:
    """Check and expand the states of a chunk, whose positions in the level begin with `first`.

    Adds new states to `known`, numbered on.  What the system or a check raises is raised with a
    note that shows the state.

    When it stops: at a state that fails a check, before that state is expanded; at a step that
    fails, after its state is expanded, and the later states are only checked, since one of them
    that fails is nearer than the step.
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
