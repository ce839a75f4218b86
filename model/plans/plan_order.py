"""Order plans by simplicity for shrinking, and make a plan runnable after steps were left out.

A plan is simpler than another if it has fewer steps, then fewer groups, instances and members,
shorter waits, lower versions, and requests closer to those of a correct client.  Every change by
shrinking goes down in this order, so it comes to an end.

Leaving out a step may take others with it.  A plan doesn't wait for a request that is not sent,
drop a connection that was never used, or refer to a member that never joins.  A connection has one
open request, so a request must come after the answer to the one before it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import msgspec
from msgspec.structs import replace

from fencepost.model.messages.messages import JoinProtocol
from fencepost.model.messages.shapes import Message
from fencepost.model.plans.spelling import written
from fencepost.model.plans.steps import (
    AssignmentsIfLeader,
    AssignmentsToAll,
    Await,
    Disconnect,
    EpochOf,
    Failover,
    GenerationOf,
    IdOf,
    MoveCoordinator,
    Ms,
    OwnedOf,
    Pause,
    Plan,
    PlanStep,
    ProtocolOf,
    Request,
    Settle,
    instance_of,
)

Versions = Mapping[str, tuple[int, int]]
Weight = tuple[int, ...]

WAITS = (
    "short rebalance",
    "tick of time",
    "two ticks",
    "three ticks",
    "short session",
    "delay",
    "formation",
    "rebalance",
    "session",
    "group tick",
    "group session",
    "three group ticks",
)
"""The named times, the shortest first, as far as that is known without a target."""

GROUP = "g"
_DIGEST = 10
_EPOCHS_OF_ACTS = (0, -1, -2)
"""Epochs that make a heartbeat of the consumer protocol a join or a leave."""
PROTOCOLS = (JoinProtocol(name="range", metadata=b""),)
DELAY = "group.initial.rebalance.delay.ms"


def weight(case: Plan, apis: Versions) -> Weight:
    """Return the size of a plan, to be compared; `apis`: the versions that the target has."""
    asks = asks_of(case.steps)
    pauses = [step for step in case.steps if isinstance(step, Pause)]
    return (
        len(case.steps),
        len(groups_of_plan(case.steps)),
        len(instances_of(case.steps)),
        len(members_of_plan(case.steps)),
        sum(sum(map(rank, pause.times)) + pause.margins for pause in pauses),
        int(bool(case.needs.config.get(DELAY))),
        sum(version_of(ask, apis) for ask in asks),
        sum(oddness(ask) for ask in asks),
        sum(old != new for names in plain_names_of(case.steps) for old, new in names.items()),
        len(steps_key(case.steps)),
    )


def plain_names_of(steps: tuple[PlanStep, ...]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the simplest names for members that join and their instances; others keep theirs."""
    members: dict[str, str] = {}
    instances: dict[str, str] = {}
    count = Counter[str]()
    joiners = dict.fromkeys(ask.who for ask in asks_of(steps) if is_join(ask))
    for who in joiners:
        if (old := instance_of(who)) is None:
            members[who] = _letter(count, ascii_lowercase)
            continue
        if old not in instances:
            instances[old] = _letter(count, ascii_uppercase)
        instance = instances[old]
        count[instance] += 1
        members[who] = f"{instance}{count[instance]}"
    taken = set(members.values()) & (set(members_of_plan(steps)) - set(members))
    return ({}, {}) if taken else (members, instances)


def _letter(count: Counter[str], letters: str) -> str:
    """Return the next letter; after the last one, the last one with a number."""
    place = count[letters]
    count[letters] += 1
    return letters[place] if place < len(letters) else f"{letters[-1]}x{place}"


def steps_key(steps: tuple[PlanStep, ...]) -> str:
    """Return the steps as text; it is equal for equal steps only."""
    return json.dumps([written(step) for step in steps], sort_keys=True)


def steps_digest(steps: tuple[PlanStep, ...]) -> str:
    """Return a short digest of the steps, for an id."""
    return hashlib.sha256(steps_key(steps).encode()).hexdigest()[:_DIGEST]


def asks_of(steps: tuple[PlanStep, ...]) -> list[Request]:
    """Return the requests."""
    return [step for step in steps if isinstance(step, Request)]


def is_join(ask: Request) -> bool:
    """Return True if a request joins a group, in either protocol."""
    return ask.api.startswith("JoinGroup") or ask.fields.get("member_epoch") == 0


def rank(time: Ms) -> int:
    """Return the place of a named time among all, from 1."""
    return WAITS.index(time.name) + 1


def version_of(ask: Request, apis: Versions) -> int:
    """Return the version of a request for a target that has these versions."""
    if ask.version is not None:
        return ask.version
    highest = apis.get(ask.api, (0, 0))[1]
    return highest if ask.at_most is None else min(highest, ask.at_most)


def connection_of(ask: Request) -> str:
    """Return the connection of a request."""
    return ask.connection or ask.who


def members_of_plan(steps: tuple[PlanStep, ...]) -> list[str]:
    """Return the senders of requests, and other connections, in order of appearance."""
    names: list[str] = []
    for step in steps:
        match step:
            case Request():
                names += (step.who, connection_of(step))
            case Disconnect():
                names.append(step.who)
    return list(dict.fromkeys(names))


def instances_of(steps: tuple[PlanStep, ...]) -> list[str]:
    """Return the instances in the requests."""
    keys = "group_instance_id", "instance_id"
    names = [n for ask in asks_of(steps) for key in keys for n in _named(ask.fields, key)]
    return list(dict.fromkeys(names))


def groups_of_plan(steps: tuple[PlanStep, ...]) -> list[str]:
    """Return the groups in the requests, in order of appearance."""
    names: list[str] = []
    for ask in asks_of(steps):
        names += _named(ask.fields, "group_id")
        names += ask.fields.get("group_ids", ())
        if ask.api == "DescribeGroups":
            names += [name for name in ask.fields.get("groups", ()) if isinstance(name, str)]
        names += [name for name in ask.fields.get("groups_names", ()) if isinstance(name, str)]
    return list(dict.fromkeys(names))


def _named(part: Any, key: str) -> Iterator[str]:
    """Yield the texts of this name in a request, and in its parts."""
    match part:
        case Mapping():
            for name, value in part.items():
                if name == key and isinstance(value, str):
                    yield value
                elif not isinstance(value, str):
                    yield from _named(value, key)
        case tuple():
            for item in part:
                yield from _named(item, key)
        case Message():
            yield from _named(msgspec.structs.asdict(part), key)


def usual(ask: Request) -> dict[str, Any]:
    """Return a correct client's values for the fields that follow from the sender alone.

    In the consumer protocol a client makes its id, which is its name in a plan.
    """
    who, fields = ask.who, ask.fields
    is_epoch = isinstance(fields.get("generation_id"), EpochOf)
    says: dict[str, Any] = {
        "member_id": who if fields.get("member_id") == who else IdOf(who),
        "generation_id": EpochOf(who) if is_epoch else GenerationOf(who),
    }
    if ask.api == "ConsumerGroupHeartbeat":
        says["rebalance_timeout_ms"] = Ms("rebalance")
        if fields.get("member_epoch") not in _EPOCHS_OF_ACTS:
            says["member_epoch"] = EpochOf(who)
    if ask.api == "JoinGroup":
        says |= {
            "session_timeout_ms": Ms("session"),
            "rebalance_timeout_ms": Ms("rebalance"),
            "protocol_type": "consumer",
            "protocols": PROTOCOLS,
        }
    return says


def oddness(ask: Request) -> int:
    """Count the differences of a request to that of a correct client."""
    says, odd = usual(ask), 0
    for name, value in ask.fields.items():
        if name == "protocols":
            odd += 2 * len(value) - 1 - sum(not offered.metadata for offered in value)
        elif name in says:
            odd += value != says[name]
        elif isinstance(value, ProtocolOf):
            odd += 1
        elif name not in {"group_id", "group_instance_id", "instance_id"}:
            odd += 2 if isinstance(value, tuple) and len(value) > 1 else 1
    return odd + (ask.connection is not None)


Steps = tuple[PlanStep, ...]


def tidied(steps: Steps) -> Steps:
    """Return the steps without those that refer to nothing."""
    joiners = {ask.who for ask in asks_of(steps) if is_join(ask)}
    return tuple(_tidied(steps, joiners))


def with_steps(case: Plan, steps: Steps) -> Plan:
    """Return the case with other steps, without those that refer to nothing any more."""
    return replace(case, steps=tidied(steps))


def put(case: Plan, place: int, step: PlanStep) -> Plan:
    """Return the case with another step in one place."""
    return with_steps(case, (*case.steps[:place], step, *case.steps[place + 1 :]))


def asking(case: Plan, change: Callable[[Request], Request]) -> Plan:
    """Return the case with a change made to each request."""
    steps = (change(step) if isinstance(step, Request) else step for step in case.steps)
    return with_steps(case, tuple(steps))


def _tidied(steps: Steps, joiners: set[str]) -> Iterator[PlanStep]:
    waiting: set[str] = set()
    used: set[str] = set()
    for step in steps:
        match step:
            case Request():
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
    """Return a value without members that never join."""
    match value:
        case IdOf() if value.who not in joiners:
            return ""
        case GenerationOf() if value.who not in joiners:
            return -1
        case EpochOf() if value.who not in joiners:
            return 1
        case OwnedOf() if value.who not in joiners:
            return ()
        case ProtocolOf() if value.who not in joiners:
            return None
        case AssignmentsToAll() if value.who not in joiners:
            return ()
        case AssignmentsIfLeader():
            rows = tuple(
                (member, member_value)
                for member, member_value in value.by_member
                if not isinstance(member, IdOf) or member.who in joiners
            )
            return AssignmentsIfLeader(value.who, rows) if rows and value.who in joiners else ()
        case _:
            return mapped(value, lambda item: _of(item, joiners))


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a value with a change made to each of its parts; a value without parts stays."""
    match value:
        case tuple():
            return tuple(change(item) for item in value)
        case Message():
            parts = msgspec.structs.asdict(value)
            return type(value)(**{name: change(part) for name, part in parts.items()})
        case _:
            return value


def overlaps(steps: Steps) -> frozenset[tuple[str, str]]:
    """Return requests by label, each with the one before on its connection that may be open."""
    pairs: set[tuple[str, str]] = set()
    open_on: dict[str, str] = {}
    for step in steps:
        match step:
            case Request():
                on = connection_of(step)
                if on in open_on:
                    pairs.add((open_on[on], step.label))
                open_on[on] = step.label
            case Await(labels=labels):
                open_on = {on: label for on, label in open_on.items() if label not in labels}
            case Disconnect(who=who):
                open_on.pop(who, None)
            case Failover():
                open_on.clear()
    return frozenset(pairs)


def races(steps: Steps) -> frozenset[tuple[str, str]]:
    """Return requests by label, each with those before it that may be handled later than it.

    The order of two requests is fixed once an answer is awaited between them, or time passes.
    """
    pairs: set[tuple[str, str]] = set()
    loose: set[str] = set()
    for step in steps:
        match step:
            case Request(label=label):
                pairs.update((before, label) for before in loose)
                loose.add(label)
            case Await(labels=labels):
                loose.difference_update(labels)
            case Settle() | Pause() | Failover() | MoveCoordinator():
                loose.clear()
    return frozenset(pairs)
