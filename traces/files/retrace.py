"""Find the steps of a trace again: who takes part, and what each did.

The runs that `check`, `explore`, `diff` and `step` write hold requests and answers, not the acts of
the clients.  Since a run follows from its acts, the acts are those that make the same events.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from fencepost.model.bad_input import BadInputError
from fencepost.model.history.events import Disconnected, Event, Sent
from fencepost.model.history.words import quoted
from fencepost.model.revision import Revision
from fencepost.properties.checking.stepping import JudgedWorlds, Stepper, follow
from fencepost.properties.logic.logic import Property
from fencepost.properties.worlds.protocol_worlds import SESSION_MS, TICK_MS
from fencepost.properties.worlds.scope import ALL_ACTS, DEFAULT_ACTS, ActKind, Scope, ScopeError
from fencepost.properties.worlds.world_client import NOBODYS_INSTANCE, OFFERS
from fencepost.traces.files.trace_file import TraceFile

_MANY = 1_000
"""The most members and generations; a trace has bounds of its own."""
_MOST_CLIENTS = 26
_EVERY_ACT = cast("tuple[ActKind, ...]", tuple(ALL_ACTS))
"""The usual ones first: of two that look alike in a trace the first one is meant."""
_OFFERED = [
    [{"name": p.name, "metadata": b64encode(p.metadata).decode()} for p in offer]
    for offer in OFFERS
]
_REMEDY = "give a trace that `step`, `check`, `explore` or `diff` wrote"


class NotSteppableError(BadInputError):
    """A trace is no run of worlds.  `str()` says why."""


@dataclass(frozen=True, slots=True)
class Retraced:
    """The steps of a trace.  `missing`: the number of the first step that was not found, or None.

    It is the number in the file, from 1.
    """

    stepper: Stepper
    scope: Scope
    missing: int | None = None


def retrace(
    trace: TraceFile,
    revision: Revision,
    properties: Iterable[Property],
    more: Sequence[ActKind] = (),
) -> Retraced:
    """Take the steps of a trace on a revision, as far as its answers are this revision's.

    Afterwards may happen what happened in the trace, and the usual acts, or `more` in their place.
    Raises NotSteppableError.
    """
    judging = tuple(properties)
    scope = _scope(trace, revision)
    events = [_without_end(event) for event in trace.events]
    possible = tuple(act for act in _EVERY_ACT if act != "change" or scope.offers > 1)
    stepper = Stepper(JudgedWorlds(revision, replace(scope, acts=possible), judging))
    made = follow(stepper, events)
    used = {turn.act.kind for turn in stepper.run().turns}
    if not used:
        raise NotSteppableError(
            "its first step is none that a client of these worlds takes; "
            f"{_REMEDY}, and the revision that it names"
        )
    kinds = used | set(more or DEFAULT_ACTS)
    scope = replace(scope, acts=tuple(act for act in _EVERY_ACT if act in kinds))
    again = Stepper(JudgedWorlds(revision, scope, judging))
    follow(again, events[:made])
    return Retraced(again, scope, None if made == len(events) else made + 1)


def _without_end(event: Event) -> Event:
    """Return an event as a run has it: a request without the time at which its writing ended."""
    return Sent(event.at_ms, event.request) if isinstance(event, Sent) else event


def _scope(trace: TraceFile, revision: Revision) -> Scope:
    """Return the scope in which the run may have been.  Raises NotSteppableError."""
    requests = [event.request for event in trace.events if isinstance(event, Sent)]
    clients = max((_number(name) for name in _connections(trace.events)), default=1)
    instances: list[set[str | None]] = [set() for _ in range(clients)]
    old = zombies = 0
    offers, is_uneven = 1, False
    newest = revision.apis["JoinGroup"][1]
    for request in requests:
        body, number = request.body, _number(request.connection)
        named = body.get("groupInstanceId", body.get("memberName"))
        if request.api.startswith("JoinGroup") and named != NOBODYS_INSTANCE:
            instances[number - 1].add(named)
        if request.api == "JoinGroup" and request.version < newest:
            old = max(old, number)
        other, _, count = str(body.get("memberId", "")).partition("-")
        zombies = max(zombies, int(count) if other == "other" and count.isdigit() else 0)
        if body.get("protocols") in _OFFERED:
            offers = max(offers, 1 + _OFFERED.index(body["protocols"]))
        is_uneven = is_uneven or body.get("sessionTimeoutMs") == 2 * SESSION_MS
    delay_ms = trace.config.get("group.initial.rebalance.delay.ms") or 0
    for dynamic in range(clients + 1):
        for shared in range(1, max(clients - dynamic, 1) + 1):
            try:
                scope = Scope(
                    clients=clients,
                    instances=shared,
                    dynamic=dynamic,
                    old=old,
                    zombies=zombies,
                    members=_MANY,
                    offers=offers,
                    delay_ticks=delay_ms // TICK_MS,
                    generations=_MANY,
                    uneven=is_uneven,
                    places=trace.config.get("group.max.size"),
                )
            except ScopeError:
                continue
            seats = scope.seats(revision)
            if all(i <= {seat.instance} for i, seat in zip(instances, seats, strict=True)):
                return scope
    raise NotSteppableError(
        f"its instances are not shared as the clients of these worlds share them; {_REMEDY}"
    )


def _connections(events: Sequence[Event]) -> Iterator[str]:
    for event in events:
        if isinstance(event, Sent):
            yield event.request.connection
        elif isinstance(event, Disconnected):
            yield event.connection


def _number(connection: str) -> int:
    """Return the number of a client by its connection, `c2.1`.  Raises NotSteppableError."""
    name = connection.partition(".")[0]
    if name not in {f"c{number}" for number in range(1, _MOST_CLIENTS + 1)}:
        raise NotSteppableError(
            f"{quoted(connection)} is no connection of a client of these worlds; {_REMEDY}"
        )
    return int(name[1:])
