"""Compute the model's state at each step of a trace, as far as the history shows it.

Where several states explain the history, the first one is returned, with their number.  On a real
clock a request may not be handled yet, so a state is an assumption about that step.  After a
violation the last state that explained the history is kept, and marked so.
"""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.model.classic.group import Group
from fencepost.properties.oracle.candidate import Candidate
from fencepost.traces.files.trace_file import TraceFile


@dataclass(frozen=True, slots=True)
class ModelState:
    """The model after a step (or, number 0, before the first).

    `groups`: by name, sorted; `explanations`: the number of states that explain the steps so far;
    `explained`: False after a violation.
    """

    number: int
    groups: tuple[tuple[str, Group], ...]
    explanations: int
    explained: bool

    def group(self, name: str) -> Group | None:
        """Return the group of this name, if it exists."""
        return dict(self.groups).get(name)


def model_states(trace: TraceFile, *, limit: int = 20_000) -> tuple[ModelState, ...]:
    """Return the state before the first step, then the one after each.  Raises TraceFileError."""
    judge = trace.oracle(limit=limit)
    states = [ModelState(0, (), 1, explained=True)]
    for number, event in enumerate(trace.events, start=1):
        judge.observe(event)
        if judge.open():
            candidates = judge.explanations()
            states.append(
                ModelState(number, _best(candidates).groups, len(candidates), explained=True)
            )
        else:
            last = states[-1]
            states.append(ModelState(number, last.groups, 0, explained=False))
    return tuple(states)


def _best(candidates: tuple[Candidate, ...]) -> Candidate:
    """Return the first of those that deviate least."""
    return min(candidates, key=Candidate.gravity)
