"""The symbolic plan of a case as JSON, and back; both ways are strict.

This is how a trace carries its case, so that the case can be run again elsewhere.  A reference is
an object with one key `ref`, bytes are `{"bytes": base64}`, a message inside another is
`{"message": name, "fields": {…}}`, a tuple is a list; anything else stands for itself.

A plan's steps in words, for people.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, get_type_hints

import msgspec

from fencepost.model.bad_input import BadInputError
from fencepost.model.messages import draft_messages, messages
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.messages import JoinProtocol, LeavingMember
from fencepost.model.messages.shapes import Message, wire_fields
from fencepost.model.plans.plan import (
    AssignmentsIfLeader,
    AssignmentsToAll,
    Await,
    Case,
    DeleteTopics,
    Disconnect,
    GenerationOf,
    IdOf,
    Ms,
    Needs,
    Pause,
    ProtocolOf,
    RequestStep,
    Restart,
    Settle,
    Step,
    Times,
)

_MESSAGES: dict[str, type[Message]] = {
    name: value
    for module in (messages, draft_messages)
    for name, value in sorted(vars(module).items())
    if isinstance(value, type) and issubclass(value, Message) and value is not Message
}
_STEPS: Mapping[str, type[Step]] = {
    "ask": RequestStep,
    "await": Await,
    "pause": Pause,
    "settle": Settle,
    "disconnect": Disconnect,
    "restart": Restart,
    "delete-topics": DeleteTopics,
}
_REFERENCES: Mapping[str, type[Any]] = {
    "id": IdOf,
    "generation": GenerationOf,
    "ms": Ms,
    "protocol": ProtocolOf,
    "assignments-if-leader": AssignmentsIfLeader,
    "assignments-to-all": AssignmentsToAll,
}
_NAMES = {kind: name for kinds in (_STEPS, _REFERENCES) for name, kind in kinds.items()}
_TYPES: Mapping[type[Any], dict[str, Any]] = {
    kind: get_type_hints(kind) | ({"times": tuple[str, ...]} if kind is Pause else {})
    for kind in (Case, Needs, *_STEPS.values(), *_REFERENCES.values())
}
"""The types of the fields in JSON; a pause names its times."""

_PLAIN = {type(None), bool, int, str}
_TIMES = {f.name.replace("_", " ") for f in dataclasses.fields(Times)} - {"margin", "settle"}


class PlanError(BadInputError):
    """A plan can't be written or read; `str()` names the place, e.g.  `$.steps[3].who`."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


def case_json(case: Case) -> dict[str, Any]:
    """A case as JSON.  Raises PlanError for a value that has no JSON form."""
    return {
        "id": case.id,
        "about": case.about,
        "rules": list(case.rules),
        "level": case.level.value,
        "isolated": case.isolated,
        "needs": {
            "apis": [list(pair) for pair in case.needs.apis],
            "features": sorted(case.needs.features),
            "config": dict(sorted(case.needs.config.items())),
        },
        "steps": [step_json(s, f"$.steps[{i}]") for i, s in enumerate(case.steps)],
    }


def case_from_json(document: Any) -> Case:
    """Read a case from JSON.  Raises PlanError."""
    said = _record(document, "$", Case, raw=("needs", "steps"))
    steps = _typed(said["steps"], list[Any], "$.steps")
    said["steps"] = tuple(step_from_json(s, f"$.steps[{i}]") for i, s in enumerate(steps))
    needs = _record(said["needs"], "$.needs", Needs, raw=("config",))
    needs["config"] = _typed(needs["config"], _TYPES[Needs]["config"], "$.needs.config")
    said["needs"] = Needs(**needs)
    return Case(**said)


def step_json(step: Step, path: str = "$") -> dict[str, Any]:
    """One step as JSON.  Raises PlanError."""
    match step:
        case RequestStep():
            fields = _write_each(step.fields.items(), f"{path}.fields")
            return _written("do", step, path, fields=fields)
        case Pause():
            return _written("do", step, path, times=[time.name for time in step.times])
        case _:
            return _written("do", step, path)


def step_from_json(document: Any, path: str = "$") -> Step:
    """Read a step from JSON.  Raises PlanError."""
    do = document.get("do") if isinstance(document, dict) else None
    if not isinstance(do, str) or do not in _STEPS:
        raise PlanError(f"{path}.do", f"is {do!r}, none of {', '.join(_STEPS)}")
    said = _record(document, path, _STEPS[do], "do", raw=("fields",))
    if do == "ask":
        api = said["api"]
        if api not in ALL_APIS:
            raise PlanError(f"{path}.api", f"is {api!r}, none of {', '.join(ALL_APIS)}")
        said["fields"] = _fields(ALL_APIS[api].request, said["fields"], f"{path}.fields")
    elif do == "pause":
        said["times"] = tuple(_time(name, f"{path}.times") for name in said["times"])
    return _STEPS[do](**said)


def _written(tag: str, value: Any, path: str, **parts: Any) -> dict[str, Any]:
    """What it is, under `tag`, and all its fields in their order; `parts`: written already."""
    kind = type(value)
    own = {name: None if name in parts else getattr(value, name) for name in _TYPES[kind]}
    return {tag: _NAMES[kind]} | _write_each(own.items(), path) | parts


def _write_each(values: Iterable[tuple[str, Any]], path: str) -> dict[str, Any]:
    """Values by name; most stand for themselves, and need no path."""
    return {
        name: value if type(value) in _PLAIN else _write(value, f"{path}.{name}")
        for name, value in values
    }


def _write(value: Any, path: str) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case bytes():
            return {"bytes": base64.b64encode(value).decode()}
        case tuple():
            return [_write(item, f"{path}[{i}]") for i, item in enumerate(value)]
        case Message():
            said = [
                (name, part)
                for name, form in wire_fields(type(value))
                if (part := getattr(value, name)) != form.default
            ]
            return {"message": type(value).__name__, "fields": _write_each(said, path)}
        case _ if type(value) in _REFERENCES.values():
            return _written("ref", value, path)
        case _:
            raise PlanError(path, f"{type(value).__name__} {value!r} has no JSON form")


def _read(value: Any, path: str) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case list():
            return tuple(_read(item, f"{path}[{i}]") for i, item in enumerate(value))
        case {"bytes": text}:
            _exactly(value, path, ("bytes",))
            return _bytes(_typed(text, str, f"{path}.bytes"), path)
        case {"message": name}:
            _exactly(value, path, ("message", "fields"))
            if _typed(name, str, f"{path}.message") not in _MESSAGES:
                raise PlanError(f"{path}.message", f"is {name!r}, which is no message")
            said = _fields(_MESSAGES[name], value["fields"], f"{path}.fields")
            try:
                return _MESSAGES[name](**said)
            except TypeError as error:
                raise PlanError(f"{path}.fields", str(error)) from None
        case {"ref": kind}:
            return _reference(kind, value, path)
        case _:
            raise PlanError(path, f"is {value!r}, which no plan holds")


def _reference(kind: Any, value: Mapping[str, Any], path: str) -> Any:
    if not isinstance(kind, str) or kind not in _REFERENCES:
        raise PlanError(f"{path}.ref", f"is {kind!r}, none of {', '.join(_REFERENCES)}")
    found = _REFERENCES[kind](**_record(value, path, _REFERENCES[kind], "ref"))
    match found:
        case Ms(name=name):
            return _time(name, f"{path}.name")
        case ProtocolOf(part=part) if part not in {"type", "name"}:
            raise PlanError(f"{path}.part", f"is {part!r}, not type or name")
    return found


def _fields(message: type[Message], said: Any, path: str) -> Mapping[str, Any]:
    known = set(message.__struct_fields__)
    if not isinstance(said, dict):
        raise PlanError(path, f"is {said!r}, not an object")
    if unknown := sorted(set(said) - known):
        raise PlanError(f"{path}.{unknown[0]}", f"is no field of {message.__name__}")
    return {name: _read(value, f"{path}.{name}") for name, value in said.items()}


def _time(name: str, path: str) -> Ms:
    if name not in _TIMES:
        raise PlanError(path, f"{name!r} is none of {', '.join(sorted(_TIMES))}")
    return Ms(name)


def _bytes(text: str, path: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise PlanError(f"{path}.bytes", f"is {text!r}, not base64 ({error})") from None


def _record(
    value: Any, path: str, kind: type[Any], *tag: str, raw: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The fields of a JSON object that has all of a class's and no others, with their types.

    `tag`: a key besides, which says what it is; `raw`: fields that are left as they are.
    """
    types = _TYPES[kind]
    _exactly(value, path, (*tag, *types))
    return {
        name: value[name]
        if name in raw
        else _typed(_read(value[name], f"{path}.{name}"), of, f"{path}.{name}")
        for name, of in types.items()
    }


def _exactly(value: Any, path: str, keys: tuple[str, ...]) -> None:
    if not isinstance(value, dict):
        raise PlanError(path, f"is {value!r}, not an object")
    if missing := [key for key in keys if key not in value]:
        raise PlanError(f"{path}.{missing[0]}", "is missing")
    if unknown := sorted(set(value) - set(keys)):
        raise PlanError(f"{path}.{unknown[0]}", f"is unknown here; known are {', '.join(keys)}")


def _typed(value: Any, kind: Any, path: str) -> Any:
    """The value as this type, strictly.  Raises PlanError, in the words of msgspec."""
    try:
        return msgspec.convert(value, kind, builtin_types=(bytes,))
    except msgspec.ValidationError as error:
        raise PlanError(path, f"is {value!r}; {error}") from None


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
