"""Make a plan runnable again after steps were left out.

Leaving out a step may take others with it.  Nobody waits for a request that is not sent, drops a
connection that was never used, or refers to a member that never joins.  A connection has one open
request, so a request must come after the answer to the one before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import msgspec

from fencepost.model.messages.shapes import Message
from fencepost.model.plans.plan import (
    AssignmentsIfLeader,
    AssignmentsToAll,
    Await,
    Case,
    Disconnect,
    GenerationOf,
    IdOf,
    Pause,
    ProtocolOf,
    RequestStep,
    Restart,
    Settle,
    Step,
)
from fencepost.model.plans.plan_order import connection_of

Steps = tuple[Step, ...]


def tidied(steps: Steps) -> Steps:
    """The steps without those that refer to nothing."""
    joiners = {s.who for s in steps if isinstance(s, RequestStep) and s.api.startswith("JoinGroup")}
    return tuple(_tidied(steps, joiners))


def with_steps(case: Case, steps: Steps) -> Case:
    """The case with other steps, without those that refer to nothing any more."""
    return replace(case, steps=tidied(steps))


def put(case: Case, place: int, step: Step) -> Case:
    """The case with another step in one place."""
    return with_steps(case, (*case.steps[:place], step, *case.steps[place + 1 :]))


def asking(case: Case, change: Callable[[RequestStep], RequestStep]) -> Case:
    """The case with a change made to each request."""
    steps = (change(step) if isinstance(step, RequestStep) else step for step in case.steps)
    return with_steps(case, tuple(steps))


def _tidied(steps: Steps, joiners: set[str]) -> Iterator[Step]:
    waiting: set[str] = set()
    used: set[str] = set()
    for step in steps:
        match step:
            case RequestStep():
                waiting.add(step.label)
                used.add(connection_of(step))
                yield replace(step, fields={k: _of(v, joiners) for k, v in step.fields.items()})
            case Await():
                labels = tuple(label for label in step.labels if label in waiting)
                waiting.difference_update(labels)
                if labels:
                    yield Await(labels)
            case Disconnect(who=who):
                if who in used:
                    yield step
                used.discard(who)
            case _:
                yield step


def _of(value: Any, joiners: set[str]) -> Any:
    """A value without members that never join."""
    match value:
        case IdOf() if value.who not in joiners:
            return ""
        case GenerationOf() if value.who not in joiners:
            return -1
        case ProtocolOf() if value.who not in joiners:
            return None
        case AssignmentsToAll() if value.who not in joiners:
            return ()
        case AssignmentsIfLeader():
            rows = tuple(
                (member, given)
                for member, given in value.by_member
                if not isinstance(member, IdOf) or member.who in joiners
            )
            return AssignmentsIfLeader(value.who, rows) if rows and value.who in joiners else ()
        case _:
            return mapped(value, lambda item: _of(item, joiners))


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """A value with a change made to each of its parts; a value without parts stays."""
    match value:
        case tuple():
            return tuple(change(item) for item in value)
        case Message():
            parts = msgspec.structs.asdict(value)
            return type(value)(**{name: change(part) for name, part in parts.items()})
        case _:
            return value


def overlaps(steps: Steps) -> frozenset[tuple[str, str]]:
    """Requests by label, each with the one before on its connection that may still be open."""
    found: set[tuple[str, str]] = set()
    open_on: dict[str, str] = {}
    for step in steps:
        match step:
            case RequestStep():
                on = connection_of(step)
                if on in open_on:
                    found.add((open_on[on], step.label))
                open_on[on] = step.label
            case Await(labels=labels):
                open_on = {on: label for on, label in open_on.items() if label not in labels}
            case Disconnect(who=who):
                open_on.pop(who, None)
            case Restart():
                open_on.clear()
    return frozenset(found)


def races(steps: Steps) -> frozenset[tuple[str, str]]:
    """Requests by label, each with those before it that may be handled later than it.

    The order of two requests is fixed once an answer is awaited between them, or time passes.
    """
    found: set[tuple[str, str]] = set()
    loose: set[str] = set()
    for step in steps:
        match step:
            case RequestStep(label=label):
                found.update((before, label) for before in loose)
                loose.add(label)
            case Await(labels=labels):
                loose.difference_update(labels)
            case Settle() | Pause() | Restart():
                loose.clear()
    return frozenset(found)
