"""Describe a group as named fields, so that a step can show what it changed.

There is a field for each thing that a rule can change, with members by name.  A field without a
value is left out.
"""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.model.classic.group import CLEANUP, Group, Member, ParkedRequest, Timer
from fencepost.model.history.words import Names, member

ABSENT = {"state": "absent"}


def fields(group: Group | None, names: Names, steps: Mapping[str, int]) -> dict[str, str]:
    """Return the fields of a group.  `steps`: request id → the step that sent it."""
    if group is None:
        return dict(ABSENT)
    found = {"state": group.state.value, "generation": str(group.generation_id)}
    if group.leader is not None:
        found["leader"] = member(group.leader, names)
    if group.protocol_name is not None:
        found["protocol"] = group.protocol_name
    for instance, holder in group.static:
        found[f"instance {instance}"] = f"held by {member(holder, names)}"
    for pending in group.pending:
        found[f"pending id {member(pending, names)}"] = "handed out"
    for each in group.members:
        found |= _member(each, names, steps)
    for timer in group.timers:
        found[timer_name(timer, names)] = deadline(timer)
    if group.delay is not None:
        came = ", somebody came" if group.delay.somebody_came else ""
        found["initial delay"] = f"{group.delay.remaining_ms:,} ms of R remain{came}"
    for offset in group.offsets:
        found[f"offset {offset.topic}-{offset.partition}"] = str(offset.offset)
    if group.stored is not None:
        found["stored"] = _stored(group.stored, names)
    return found


def timer_name(timer: Timer, names: Names) -> str:
    """Return whose timer it is."""
    return f"{timer.kind} timer" + (f" of {member(timer.subject, names)}" if timer.subject else "")


def deadline(timer: Timer) -> str:
    """Return when a timer fires."""
    if timer.kind == CLEANUP:
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
    what = f"instance {each.group_instance_id}" if each.is_static else "dynamic"
    found = {name: f"{what}{', new' if each.new else ''}"}
    if each.joining is not None:
        found[f"{name}: JoinGroup"] = _parked(each.joining, steps)
    if each.syncing is not None:
        found[f"{name}: SyncGroup"] = _parked(each.syncing, steps)
    elif each.owes_sync:
        found[f"{name}: SyncGroup"] = "owed"
    if each.assignment:
        found[f"{name}: assignment"] = _bytes(each.assignment)
    found[f"{name}: S, R"] = f"{each.session_timeout_ms:,}, {each.rebalance_timeout_ms:,} ms"
    found[f"{name}: offers"] = ", ".join(
        f"{p.name} ({len(p.metadata)} bytes)" for p in each.protocols
    )
    return found


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
