"""What the model knows at each step of a trace: its groups, as far as the history has shown them.

Decides which state is shown where several explain the same history: the first, and how many there
are.  The judge learns as the history goes on, so a state is what it must assume by then: on a real
clock a request may have been sent and nobody can say yet whether it was handled.  From the step on
that no state explains, the last one that did is kept, and marked so.
"""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.model.state.group import Group
from fencepost.properties.oracle.candidate import Candidate
from fencepost.traces.files.trace_file import TraceFile


@dataclass(frozen=True, slots=True)
class ModelState:
    """The model after a step (or, number 0, before the first).

    `groups`: by name, sorted; `explanations`: how many states explain the steps so far;
    `explained`: whether any does, after a violation none.
    """

    number: int
    groups: tuple[tuple[str, Group], ...]
    explanations: int
    explained: bool

    def group(self, name: str) -> Group | None:
        """The group of this name, if it exists."""
        return dict(self.groups).get(name)


def model_states(trace: TraceFile, *, limit: int = 20_000) -> tuple[ModelState, ...]:
    """The state before the first step, then the one after each.  Raises TraceFileError."""
    judge = trace.oracle(limit=limit)
    states = [ModelState(0, (), 1, explained=True)]
    for number, event in enumerate(trace.events, start=1):
        judge.observe(event)
        if judge.open():
            found = judge.explanations()
            states.append(ModelState(number, _best(found).groups, len(found), explained=True))
        else:
            last = states[-1]
            states.append(ModelState(number, last.groups, 0, explained=False))
    return tuple(states)


def _best(candidates: tuple[Candidate, ...]) -> Candidate:
    """The first of those that deviate least."""
    return min(candidates, key=Candidate.gravity)
