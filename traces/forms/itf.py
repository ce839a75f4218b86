"""Write a trace as ITF, `*.itf.json`, for tools of TLA+, Apalache and Quint, and read it back.

A state of ITF has the variable `step`, the step that led to it, and the model's state after it: its
groups with members, static map, state and generation.  State 0 is before the first step.  The rest
of a trace (the plan, the verdict) is in `#meta`, so that reading gives the same file, byte by byte.

In a run that repeats for ever times grow, and often generations and ids, so no state comes twice.
Its states have a further variable, `canonical`: the groups with canonical ids and generations, and
deadlines that count from now.  That one is the same after each round.

Whole numbers are `{"#bigint": "…"}`, lists are sequences, objects whose keys could be the fields of
a record are records, others are `{"#map": [[key, value], …]}`.  ITF has no null: it is written as
the variant `Null` of the unit.  Tuples and sets are read as lists, the variant `None` as null.

An ITF of another tool is read if it has `step`, or if its actions have the names that the
exploration uses (`join`, `sync`, `heartbeat`, `restart`, `tick`, …) and name the client that acts.
The model answers, and the trace of that run is the result, which the oracle judges; the states in
the file are not used.

Source: Apalache's ADR 015, "Informal Trace Format in JSON"; Quint's documentation of `--mbt`.
"""

from __future__ import annotations

import json
import keyword
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from fencepost.model.classic.group import Member
from fencepost.model.consumer.group import ConsumerGroup, Partitions
from fencepost.model.revisions import revisions
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.revisions.revisions import NAMES
from fencepost.properties.judging.model_states import AnyGroup, ModelState
from fencepost.properties.worlds.canonical import named
from fencepost.properties.worlds.concretise import unfold
from fencepost.properties.worlds.scope import ACTS, ActKind, Scope, ScopeError
from fencepost.properties.worlds.world import Act, World, Worlds
from fencepost.traces.files.run_trace import run_trace, to_trace_verdict, tool_version
from fencepost.traces.files.trace_file import FORMAT, VERSION, TraceFile, TraceFileError

_UNIT = "U_OF_UNIT"
_VARIANT = {"tag", "value"}
NULL: Mapping[str, str] = {"tag": "Null", "value": _UNIT}
"""The value that is written for null."""


class ItfValueError(ValueError):
    """A value that ITF can't express, or that is not ITF. `str()` names it and the reason."""


def to_itf(value: Any) -> Any:
    """Return a JSON value as ITF.  Raises ItfValueError for a fraction, which ITF does not have."""
    match value:
        case None:
            return dict(NULL)
        case bool() | str():
            return value
        case int():
            return {"#bigint": str(value)}
        case list():
            return [to_itf(item) for item in value]
        case Mapping():
            if _is_record(value):
                return {key: to_itf(item) for key, item in value.items()}
            return mapping(value.items())
        case _:
            raise ItfValueError(f"{value!r} has no ITF form")


def mapping(pairs: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    """Return a map of ITF, in this order."""
    return {"#map": [[to_itf(key), to_itf(value)] for key, value in pairs]}


def a_tuple(items: Iterable[Any]) -> dict[str, Any]:
    """Return a tuple of ITF."""
    return {"#tup": [to_itf(item) for item in items]}


def a_set(items: Iterable[Any]) -> dict[str, Any]:
    """Return a set of ITF, of values that are ITF already; in a fixed order, since it has none."""
    return {"#set": sorted(items, key=lambda item: json.dumps(item, sort_keys=True))}


def from_itf(value: Any) -> Any:
    """Return an ITF value as JSON. Raises ItfValueError if it isn't ITF, or has no JSON form."""
    match value:
        case bool() | str() | int():
            return value
        case list():
            return [from_itf(item) for item in value]
        case {"tag": "Null" | "None", "value": _}:
            return None
        case {"tag": str(), "value": inner} if set(value) == _VARIANT:
            return from_itf(inner)
        case {"#bigint": str(digits)}:
            return _number(digits)
        case {"#tup": list(items)}:
            return [from_itf(item) for item in items]
        case {"#set": list(items)}:
            return [from_itf(item) for item in items]
        case {"#map": list(pairs)}:
            return dict(_pair(pair) for pair in pairs)
        case dict() if not any(key.startswith("#") for key in value):
            return {key: from_itf(item) for key, item in value.items()}
        case _:
            text = json.dumps(value)
            raise ItfValueError(f"{text[:100]} is no ITF value that a trace can hold")


def _number(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        raise ItfValueError(f"#bigint {digits!r} is no whole number") from None


def _pair(pair: Any) -> tuple[str, Any]:
    match pair:
        case [key, value] if isinstance(name := from_itf(key), str):
            return name, from_itf(value)
        case _:
            raise ItfValueError(f"#map has {json.dumps(pair)[:100]}, not [text, value]")


def _is_record(value: Mapping[str, Any]) -> bool:
    """Return True if readers can take its keys for fields, and won't take it for a variant."""
    return set(value) != _VARIANT and all(
        key.isidentifier() and not key.startswith("_") and not keyword.iskeyword(key)
        for key in value
    )


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
    """Return True if these states name the acts that led to them."""
    return all(state.get(ACTION) in ACTS for state in states[1:])


def trace_of_acts(states: Sequence[State], where: str, loop: int | None = None) -> TraceFile:
    """Return the model's run of these acts.  Raises TraceFileError for one that can't happen.

    The first state may say how many `clients` there are, how many `instances` they share and how
    many of them are `dynamic`; by default all that act, and one instance.
    """
    acts = [_act(number, state, where) for number, state in enumerate(states) if number]
    most = max((client for _, client, _ in acts), default=1)

    def bound(name: str, usual: int) -> int:
        value = states[0].get(name)
        return usual if value is None else _whole(value, f"$.states[0].{name}", where)

    try:
        scope = Scope(
            clients=bound("clients", max(most, 1)),
            instances=bound("instances", 1),
            dynamic=bound("dynamic", 0),
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


_VARS = (ACTION, PICKS, "at_ms", "explained", "explanations", "groups", "step")
_FORMAT_PAGE = "https://apalache-mc.org/docs/adr/015adr-trace.html"
_INITIAL = "init"
_CANONICAL = "canonical"
_BASE = "kafka-4"


def to_itf_text(trace: TraceFile) -> str:
    """Return the text of the ITF file: the same for the same trace.  Raises TraceFileError."""
    return json.dumps(to_itf_json(trace), indent=1) + "\n"


def to_itf_json(trace: TraceFile) -> dict[str, Any]:
    """Return the trace as ITF.  Raises TraceFileError for an unknown revision."""
    header = trace.to_json()
    steps = header.pop("steps")
    header.pop("loop", None)
    violated = trace.verdict.outcome == "violated"
    is_lasso = trace.loop is not None
    document: dict[str, Any] = {
        "#meta": {
            "format": "ITF",
            "format-description": _FORMAT_PAGE,
            "description": trace.verdict.message,
            "source": trace.case or trace.revision,
            "status": "violation" if violated else "ok",
            "fencepost": header,
        },
        "params": [],
        "vars": [*_VARS, *([_CANONICAL] if is_lasso else [])],
    }
    if is_lasso:
        document["loop"] = trace.loop
    first, *after = trace.model_states()
    initial = {"step": 0, "do": _INITIAL}
    states = [_state(first, initial), *map(_state, after, steps)]
    if is_lasso:
        for state, held in zip(states, (first, *after), strict=True):
            state[_CANONICAL] = _canonical(held, int(state["at_ms"]["#bigint"]))
    return document | {"states": states}


def is_itf(document: Any) -> bool:
    """Return whether a JSON document is meant as ITF."""
    return isinstance(document, dict) and "states" in document and "vars" in document


def from_itf_json(document: Any, *, where: str = "ITF") -> TraceFile:
    """Read a trace from an ITF document.  Raises TraceFileError; `where` names it there."""
    states = _states(document, where)
    known = document.get("#meta", {}).get("fencepost")
    if not all("step" in state for state in states[1:]):
        if speaks_of_acts(states):
            return trace_of_acts(states, where, document.get("loop"))
        missing = next(n for n, state in enumerate(states) if n and "step" not in state)
        raise TraceFileError(
            where,
            f"$.states[{missing}]",
            f"has no `step`, and its variables ({', '.join(states[missing])}) aren't known",
            f"give each state but the first the step that led to it, or {HOW}",
        )
    steps = [_step(n, state["step"], where) for n, state in enumerate(states) if n]
    header = known if isinstance(known, dict) else _plain_header(document)
    loop = document.get("loop")
    read = TraceFile.from_json(
        {**header, "steps": steps} | ({} if loop is None else {"loop": loop}), where=where
    )
    return read if isinstance(known, dict) else _judged(read)


# States.


def _state(state: ModelState, step: Mapping[str, Any]) -> dict[str, Any]:
    fields = {key: to_itf(value) for key, value in step.items()}
    at_ms = step.get("at_ms", [0, 0])
    if "at_ms" in fields:
        fields["at_ms"] = a_tuple(at_ms)
    return {
        "#meta": {"index": state.number},
        ACTION: step.get("api", step["do"]),
        PICKS: _picks(step),
        "at_ms": to_itf(at_ms[1]),
        "explained": state.explained,
        "explanations": to_itf(state.explanations),
        "groups": {"#map": [[name, _group(group)] for name, group in state.groups]},
        "step": fields,
    }


def _picks(step: Mapping[str, Any]) -> dict[str, Any]:
    """Return the choices of a step: client, connection, and the request or answer."""
    names = {"member": "member", "connection": "connection", "id": "request"}
    return {as_: {"tag": "Some", "value": step[key]} for key, as_ in names.items() if key in step}


def _group(group: AnyGroup) -> dict[str, Any]:
    if isinstance(group, ConsumerGroup):
        return _consumer_group(group)
    return {
        "state": group.state.value,
        "generation": to_itf(group.generation_id),
        "protocol": to_itf(group.protocol_name),
        "leader": to_itf(_id(group.leader)),
        "members": {"#map": [[_id(m.member_id), _member(m)] for m in group.members]},
        "static": mapping((instance, _id(held)) for instance, held in group.static),
        "pending": a_set(_id(member_id) for member_id in group.pending),
        "timers": _running(group),
    }


def _consumer_group(group: ConsumerGroup) -> dict[str, Any]:
    return {
        "state": group.state.value,
        "epoch": to_itf(group.epoch),
        "target_epoch": to_itf(group.target_epoch),
        "target": {"#map": [[_id(i), _places(parts)] for i, parts in group.target]},
        "open": _places(tuple(p for p, _ in group.open)),
        "members": {
            "#map": [
                [
                    _id(m.member_id),
                    {
                        "instance": to_itf(m.instance_id),
                        "epoch": to_itf(m.epoch),
                        "phase": m.phase.value,
                        "assigned": _places(m.partitions()),
                        "revoking": _places(tuple(p for p, _ in m.revoking)),
                    },
                ]
                for m in group.members
            ]
        },
        "static": mapping((instance, _id(held)) for instance, held in group.static),
        "timers": _running(group),
    }


def _places(partitions: Partitions) -> dict[str, Any]:
    return a_set(f"{p.topic}-{p.partition}" for p in partitions)


def _running(group: AnyGroup) -> dict[str, Any]:
    return a_set(
        a_tuple([timer.kind, _id(timer.subject), timer.earliest, timer.latest])
        for timer in group.timers
    )


def _canonical(state: ModelState, now: int) -> dict[str, Any]:
    """Return the groups of a state without what grows: ids, generations, time."""
    rows = []
    for name, group in state.groups:
        if isinstance(group, ConsumerGroup):  # its ids are the clients' own
            rows.append([name, _group(group.shifted(-now))])
            continue
        naming = named(group.shifted(-now), keep_generations=False)
        rows.append([name, _group(naming.group or group)])
    return {"#map": rows}


def _member(member: Member) -> dict[str, Any]:
    waits = "join" if member.joining else "sync" if member.syncing else ""
    return {
        "instance": to_itf(member.group_instance_id),
        "waits": waits,
        "session_timeout_ms": to_itf(member.session_timeout_ms),
        "rebalance_timeout_ms": to_itf(member.rebalance_timeout_ms),
    }


def _id(member_id: str | None) -> str | None:
    """Return a member id; one that no answer gave out yet has the name of its request."""
    if member_id is not None and member_id.startswith("\x00"):
        return f"new id of {member_id[1:]}"
    return member_id


# Reading.


def _states(document: Any, where: str) -> list[dict[str, Any]]:
    states = document.get("states") if isinstance(document, dict) else None
    if not isinstance(states, list) or not all(isinstance(state, dict) for state in states):
        raise TraceFileError(where, "$.states", "is no list of states", "give an ITF trace")
    if len(states) < 2:
        problem = f"has {len(states)} states, so nothing happens"
        raise TraceFileError(where, "$.states", problem, "give a trace with a step")
    loop = document.get("loop")
    if loop is not None and (type(loop) is not int or not 0 < loop < len(states)):
        raise TraceFileError(
            where,
            "$.loop",
            f"is {loop!r}",
            f"name the state that follows the last one, 1 to {len(states) - 1}",
        )
    return states


def _step(number: int, value: Any, where: str) -> dict[str, Any]:
    """Return a step as a trace has it; fields that only a recorder knows may be left out."""
    place = f"$.states[{number}].step"
    try:
        step = from_itf(value)
    except ItfValueError as error:
        raise TraceFileError(where, place, str(error), "write it as in an exported trace") from None
    if not isinstance(step, dict):
        raise TraceFileError(where, place, "is no record", "write it as in an exported trace")
    at_ms = step.get("at_ms", 0)
    usual: dict[str, Any] = {"step": number, "at_ms": [at_ms] * 2 if type(at_ms) is int else at_ms}
    if step.get("do") == "send":
        usual |= {"connection": step.get("member"), "client_id": "itf"}
    if step.get("do") == "answer":
        usual |= {"findings": [], "member": ""}
    return {**usual, **{key: value for key, value in step.items() if key != "at_ms"}}


def _plain_header(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the header for another tool's ITF: an exact clock, Kafka's settings."""
    source = str(document.get("#meta", {}).get("source", "ITF"))
    revision = source if source in NAMES else _BASE
    return {
        "format": FORMAT,
        "version": VERSION,
        "revision": revision,
        "case": None,
        "clock": "virtual",
        "lag_ms": 0,
        "config": {},
        "plan": None,
        "names": {},
        "verdict": {
            "outcome": "unknown",
            "level": None,
            "wrong": None,
            "rule": None,
            "rules": [],
            "request": None,
            "expected": [],
            "observed": None,
            "because": "",
            "message": "",
        },
        "provenance": {"tool": tool_version(), "target": f"itf:{source}", "seed": None},
    }


def _judged(trace: TraceFile) -> TraceFile:
    """Judge a trace that has no verdict."""
    return replace(trace, verdict=to_trace_verdict(trace.judge(), revisions.find(trace.revision)))
