"""A plan's steps in words, for people."""

from __future__ import annotations

from typing import Any

from fencepost.model.messages.messages import JoinProtocol, LeavingMember
from fencepost.model.plans.plan import (
    AssignmentsIfLeader,
    AssignmentsToAll,
    Await,
    DeleteTopics,
    Disconnect,
    GenerationOf,
    IdOf,
    Ms,
    Pause,
    ProtocolOf,
    RequestStep,
    Restart,
    Settle,
    Step,
)

_TELLING = {
    "member_id": "member",
    "group_instance_id": "instance",
    "member_name": "name",
    "generation_id": "generation",
    "session_timeout_ms": "S",
    "rebalance_timeout_ms": "R",
    "protocols": "offers",
    "assignments": "assigns",
    "members": "rows",
    "groups": "groups",
    "group_id": "group",
}


def step_text(step: Step) -> str:
    """One step in words."""
    match step:
        case RequestStep():
            version = f" v{step.version}" if step.version is not None else ""
            if step.at_most is not None:
                version = f" up to v{step.at_most}"
            told = [
                f"{word} {value_text(step.fields[name])}"
                for name, word in _TELLING.items()
                if name in step.fields and step.fields[name] != "g"
            ]
            over = f" on connection {step.connection}" if step.connection else ""
            return f"{step.who} sends {step.api}{version}{over}: {', '.join(told)}"
        case Await():
            return f"wait for {', '.join(step.labels)}"
        case Pause():
            times = " + ".join(t.name for t in step.times) or "a moment"
            share = f"1/{step.parts} of " if step.parts > 1 else ""
            return f"{share}{times} passes" + (", not quite" if step.minus else "")
        case Settle():
            return "a moment, so that what was sent is handled"
        case Disconnect():
            return f"{step.who} drops its connection"
        case Restart():
            return "the coordinator fails over"
        case DeleteTopics():
            return f"the topic{'s' * (len(step.topics) > 1)} {', '.join(step.topics)} deleted"


def value_text(value: Any) -> str:
    """A field's value or reference in words."""
    match value:
        case IdOf():
            return f"{value.who}'s id" + (f" ({value.back} before)" if value.back else "")
        case GenerationOf():
            plus = f" + {value.plus}" if value.plus else ""
            return f"{value.who}'s{plus}"
        case Ms():
            return value.name
        case ProtocolOf():
            return f"{value.who}'s {value.part}"
        case AssignmentsIfLeader():
            names = ", ".join(assignment.decode() for _, assignment in value.by_member)
            return f"[{names}] if it leads"
        case AssignmentsToAll():
            return f"{value.assignment.decode()} to all"
        case JoinProtocol():
            return value.name
        case LeavingMember():
            return f"({value_text(value.member_id)}, {value.group_instance_id})"
        case tuple():
            return "[" + ", ".join(value_text(item) for item in value) + "]"
        case str():
            return f'"{value}"'
        case _:
            return str(value)
