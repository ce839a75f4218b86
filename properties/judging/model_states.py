"""Judge a recorded history again, and compute the model's state at each of its events.

Where several states explain the history, the first one is returned, with their number.  On a real
clock a request may not be handled yet, so a state is an assumption about that step.  After a
violation the last state that explained the history is kept, and marked so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fencepost.model.classic.group import Group
from fencepost.model.consumer.group import ConsumerGroup
from fencepost.model.coordinator import Config
from fencepost.model.history.events import Event
from fencepost.model.revision import Revision
from fencepost.properties.oracle.behind import judge_behind
from fencepost.properties.oracle.candidate import Candidate
from fencepost.properties.oracle.oracle import Oracle, judge
from fencepost.properties.oracle.verdict import Verdict

AnyGroup = Group | ConsumerGroup
"""A group of either protocol."""

LIMIT = 20_000
"""The most states that are followed for one event."""


@dataclass(frozen=True, slots=True)
class ModelState:
    """The model after an event (or, number 0, before the first).

    `groups`: by name, sorted; `explanations`: the number of states that explain the steps so far;
    `explained`: False after a violation.
    """

    number: int
    groups: tuple[tuple[str, AnyGroup], ...]
    explanations: int
    explained: bool

    def group(self, name: str) -> AnyGroup | None:
        """Return the group of this name, if it exists."""
        return dict(self.groups).get(name)


def judge_again(
    revision: Revision,
    config: Config,
    events: Iterable[Event],
    *,
    lag_ms: int,
    limit: int = LIMIT,
    behind: Iterable[str] = (),
    own: Iterable[str] = (),
) -> Verdict:
    """Return the verdict about a recorded history.

    `behind`: the requests whose wrong answers are adopted; `own`: the rules that are never excused.
    """
    ids = tuple(behind)
    if not ids:
        return judge(revision, config, list(events), lag_ms=lag_ms, limit=limit).verdict()
    return judge_behind(
        revision, config, events, lag_ms=lag_ms, own=own, only=ids, limit=limit
    ).verdict()


def model_states(
    revision: Revision, config: Config, events: Iterable[Event], *, lag_ms: int, limit: int = LIMIT
) -> tuple[ModelState, ...]:
    """Return the state before the first event, then the one after each."""
    oracle = Oracle(revision, config, lag_ms=lag_ms, limit=limit)
    states = [ModelState(0, (), 1, explained=True)]
    for number, event in enumerate(events, start=1):
        oracle.observe(event)
        if oracle.open():
            candidates = oracle.explanations()
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
