"""Run the actions of another tool's ITF through the model.

Actions must have the names that the exploration uses (`join`, `sync`, `heartbeat`, `restart`,
`tick`, …) and say which client acts.  The model answers, and the trace of that run is the result;
the states in the file are not used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.worlds.concretise import unfold
from fencepost.properties.worlds.scope import ACTS, ActKind, Scope, ScopeError
from fencepost.properties.worlds.world import Act, World, Worlds
from fencepost.traces.files.run_trace import run_trace
from fencepost.traces.files.trace_file import TraceFile, TraceFileError
from fencepost.traces.forms.itf_values import ItfValueError, from_itf

ACTION = "mbt::actionTaken"
PICKS = "mbt::nondetPicks"
HOW = (
    "say in mbt::actionTaken which act it is (join, sync, heartbeat, …) and in mbt::nondetPicks "
    "whose (`client`, from 1)"
)
_NOBODYS = ("tick", "failover")
_ROOM = 1000
"""The most members and generations; a recorded run has bounds of its own."""

State = Mapping[str, Any]


def speaks_of_acts(states: Sequence[State]) -> bool:
    """Return whether these states say which acts led to them."""
    return all(state.get(ACTION) in ACTS for state in states[1:])


def trace_of_acts(states: Sequence[State], where: str, loop: int | None = None) -> TraceFile:
    """Return the model's run of these acts.  Raises TraceFileError for one that can't happen.

    The first state may say how many `clients` there are, how many `instances` they share and how
    many of them are `dynamic`; by default all that act, and one instance.
    """
    acts = [_act(number, state, where) for number, state in enumerate(states) if number]
    most = max((client for _, client, _ in acts), default=1)

    def told(name: str, usual: int) -> int:
        value = states[0].get(name)
        return usual if value is None else _whole(value, f"$.states[0].{name}", where)

    try:
        scope = Scope(
            clients=told("clients", max(most, 1)),
            instances=told("instances", 1),
            dynamic=told("dynamic", 0),
            members=_ROOM,
            generations=_ROOM,
            offers=2,
            acts=tuple(ACTS),
            fold=False,
        )
    except ScopeError as error:
        raise TraceFileError(where, "$.states[0]", str(error), "correct it") from None
    worlds = Worlds(KAFKA_4, scope)
    (world,) = worlds.initial()
    path: list[tuple[Act | None, World]] = [(None, world)]
    for number, (kind, client, choice) in enumerate(acts, start=1):
        if (kind, client - 1) not in set(worlds.enabled(world)):
            who = f"client {client} can't {kind}" if client else f"{kind} can't happen"
            raise TraceFileError(
                where,
                f"$.states[{number}]",
                f"{who} there, by the model",
                "compare with a trace that the model's `explore` writes",
            )
        taken = worlds.taken(world, kind, client - 1, choice)
        if taken is None:
            problem = f"needs more than {_ROOM} members"
            raise TraceFileError(where, f"$.states[{number}]", problem, "give a shorter run")
        act, world, _ = taken
        path.append((act, world))
    repeated = 0 if loop is None else len(states) - loop
    provenance = {"target": "itf", "implementation": "fencepost model"}
    return run_trace(worlds, unfold(worlds, path), provenance=provenance, repeated=repeated)


def _act(number: int, state: State, where: str) -> tuple[ActKind, int, int]:
    """Return kind, client (0: nobody), and choice."""
    kind = cast("ActKind", state[ACTION])
    place = f"$.states[{number}].{PICKS}"
    picks = state.get(PICKS, {})
    if not isinstance(picks, Mapping):
        raise TraceFileError(where, place, "is no record", HOW)
    choice = _whole(picks["choice"], f"{place}.choice", where) if "choice" in picks else 0
    if kind in _NOBODYS:
        return kind, 0, choice
    if "client" not in picks:
        raise TraceFileError(where, place, "has no `client`", HOW)
    client = _whole(picks["client"], f"{place}.client", where)
    if client < 1:
        raise TraceFileError(where, f"{place}.client", f"is {client}", "count from 1")
    return kind, client, choice


def _whole(value: Any, place: str, where: str) -> int:
    try:
        read = from_itf(value)
    except ItfValueError as error:
        raise TraceFileError(where, place, str(error), "give a whole number") from None
    if type(read) is not int:
        raise TraceFileError(where, place, f"is {read!r}", "give a whole number")
    return read
