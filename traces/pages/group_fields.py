"""Name what a group holds, and what its clients know, so that a step can show what it changed.

There is a field for each thing that a rule can change, with members by name.  A field without a
value is left out.
"""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.model.classic.group import Group, Member, ParkedRequest
from fencepost.model.consumer.group import ConsumerGroup
from fencepost.model.history.words import Names, member
from fencepost.model.work import CLEANUP, RETENTION, Timer
from fencepost.properties.worlds.world_client import Client
from fencepost.traces.pages.consumer_fields import consumer_fields

ABSENT = {"state": "absent"}
_TIMEOUTS, _OFFERS = "S, R", "offers"
BROUGHT = frozenset({_TIMEOUTS, _OFFERS})
"""The fields of a member that its join brought."""


def fields(
    group: Group | ConsumerGroup | None, names: Names, steps: Mapping[str, int]
) -> dict[str, str]:
    """Return the fields of a group.  `steps`: request id → the step that sent it."""
    if group is None:
        return dict(ABSENT)
    if isinstance(group, ConsumerGroup):
        timers = ((timer_name(timer, names), deadline(timer)) for timer in group.timers)
        return {**dict(consumer_fields(group, names)), **dict(timers)}
    values = {"state": group.state.value, "generation": str(group.generation_id)}
    if group.leader is not None:
        values["leader"] = member(group.leader, names)
    if group.protocol_name is not None:
        values["protocol"] = group.protocol_name
    for instance, holder in group.static:
        values[f"instance {instance}"] = f"held by {member(holder, names)}"
    for pending in group.pending:
        values[f"pending id {member(pending, names)}"] = "handed out"
    for each in group.members:
        values |= _member(each, names, steps)
    for timer in group.timers:
        values[timer_name(timer, names)] = deadline(timer)
    if group.delay is not None:
        came = ", somebody came" if group.delay.somebody_came else ""
        values["initial delay"] = f"{group.delay.remaining_ms:,} ms of R remain{came}"
    for offset in group.offsets:
        values[f"offset {offset.topic}-{offset.partition}"] = str(offset.offset)
    if group.stored is not None:
        values["stored"] = _stored(group.stored, names)
    return values


def timer_name(timer: Timer, names: Names) -> str:
    """Return a timer's name, with its member's."""
    return f"{timer.kind} timer" + (f" of {member(timer.subject, names)}" if timer.subject else "")


def deadline(timer: Timer) -> str:
    """Return when a timer fires."""
    if timer.kind in {CLEANUP, RETENTION}:
        return "at any time"
    if timer.earliest == timer.latest:
        return f"at {timer.earliest:,} ms"
    return f"at {timer.earliest:,} to {timer.latest:,} ms"


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str | None]:
    """Return the fields that differ, as they are afterwards; None for one that is gone."""
    changed: dict[str, str | None] = {
        name: value for name, value in after.items() if before.get(name) != value
    }
    return changed | {name: None for name in before if name not in after}


def _member(each: Member, names: Names, steps: Mapping[str, int]) -> dict[str, str]:
    name = f"member {member(each.member_id, names)}"
    kind = f"instance {each.group_instance_id}" if each.is_static else "dynamic"
    values = {name: f"{kind}{', new' if each.new else ''}"}
    if each.joining is not None:
        values[f"{name}: JoinGroup"] = _parked(each.joining, steps)
    if each.syncing is not None:
        values[f"{name}: SyncGroup"] = _parked(each.syncing, steps)
    elif each.owes_sync:
        values[f"{name}: SyncGroup"] = "owed"
    if each.assignment:
        values[f"{name}: assignment"] = _bytes(each.assignment)
    values[f"{name}: {_TIMEOUTS}"] = (
        f"{each.session_timeout_ms:,}, {each.rebalance_timeout_ms:,} ms"
    )
    values[f"{name}: {_OFFERS}"] = ", ".join(
        f"{p.name} ({len(p.metadata)} bytes)" for p in each.protocols
    )
    return values


def _parked(request: ParkedRequest, steps: Mapping[str, int]) -> str:
    step = steps.get(request.request_id)
    return "waits" + (f" (step {step})" if step is not None else "")


def _bytes(value: bytes) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return f"{len(value)} bytes"
    return f'"{text}"' if text.isprintable() else f"{len(value)} bytes"


def _stored(group: Group, names: Names) -> str:
    who = ", ".join(member(m.member_id, names) for m in group.members)
    return f"{group.state.value}, generation {group.generation_id}, [{who}]"


_WAITS = {"join": "waits for JoinGroup", "sync": "waits for SyncGroup"}


def knowledge(client: Client, generation: str, waits: str) -> str:
    """Return what a client knows.

    `generation`: in words; `waits`: the name, in its world, of its request without an answer.
    """
    parts = [client.member_id or "knows no member id"]
    if client.generation >= 0:
        parts.append(f"generation {generation}")
    if client.leads:
        parts.append("leads")
    if client.assignment is not None:
        parts.append(f"assignment {_bytes(client.assignment)}")
    if waits:
        parts.append(_WAITS.get(waits.partition(" ")[0], "waits for an answer that is lost"))
    return ", ".join(parts)


def step_changes(
    before: Mapping[str, str], after: Mapping[str, str]
) -> list[tuple[str, str | None, str | None]]:
    """Return what a step changed: the field, its value before and after, None where it isn't there.

    Of a new member, what it brought with its join is left out.
    """
    changed = []
    for name, value in changes(before, after).items():
        owner, _, brought = name.partition(": ")
        if brought in BROUGHT and not (owner in before and owner in after):
            continue
        changed.append((name, before.get(name), value))
    return changed
