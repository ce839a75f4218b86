"""Write plans as JSON, and read them back; both ways are strict.

A trace carries its plan in this form, so that it can be run again elsewhere.  A step is written
with all its fields, its class as `do`.  A reference is an object with one key `ref`, bytes are
`{"bytes": base64}`, a message inside another is `{"message": name, "fields": {…}}`, a tuple is a
list; anything else stands for itself.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Any, get_args, get_type_hints

import msgspec

from fencepost.model.bad_input import BadInputError
from fencepost.model.coordinator import named, numbered
from fencepost.model.messages import (
    consumer_messages,
    draft_messages,
    messages,
    streams_messages,
)
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.shapes import Message, wire_fields
from fencepost.model.plans.steps import (
    AssignmentsIfLeader,
    AssignmentsToAll,
    EpochOf,
    GenerationOf,
    IdOf,
    Ms,
    Needs,
    OwnedOf,
    Pause,
    Plan,
    PlanStep,
    ProtocolOf,
    Ref,
    Request,
)
from fencepost.model.plans.times import TIME_NAMES

_MESSAGES: dict[str, type[Message]] = {
    name: value
    for module in (messages, draft_messages, consumer_messages, streams_messages)
    for name, value in sorted(vars(module).items())
    if isinstance(value, type) and issubclass(value, Message) and value is not Message
}
_RENAMED = {"move": "restart"}
"""A failover has another name in plans than in scenarios."""
_STEPS: Mapping[str, type[PlanStep]] = {
    _RENAMED.get(tag, tag): kind
    for kind in get_args(PlanStep)
    if isinstance(tag := kind.__struct_config__.tag, str)
}
_REFERENCES: Mapping[str, type[Ref]] = {
    "id": IdOf,
    "generation": GenerationOf,
    "epoch": EpochOf,
    "owned": OwnedOf,
    "ms": Ms,
    "protocol": ProtocolOf,
    "assignments-if-leader": AssignmentsIfLeader,
    "assignments-to-all": AssignmentsToAll,
}
_NAMES: Mapping[type[Any], str] = {
    kind: name for kinds in (_STEPS, _REFERENCES) for name, kind in kinds.items()
}
_KINDS: tuple[type[msgspec.Struct], ...] = (Plan, Needs, *_STEPS.values(), *_REFERENCES.values())
_TYPES: Mapping[type[msgspec.Struct], dict[str, Any]] = {
    kind: {name: get_type_hints(kind)[name] for name in kind.__struct_fields__}
    | ({"times": tuple[str, ...]} if kind is Pause else {})
    for kind in _KINDS
}
"""The types of the fields in JSON; a pause names its times."""

_PLAIN = {type(None), bool, int, str}


class PlanError(BadInputError):
    """A plan can't be written or read; `str()` names the place, e.g. `$.steps[3].who`."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


def plan_json(plan: Plan) -> dict[str, Any]:
    """Return a plan as JSON.  Raises PlanError for a value that has no JSON form."""
    return {
        "id": plan.id,
        "about": plan.about,
        "rules": list(plan.rules),
        "level": plan.level.value,
        "isolated": plan.isolated,
        "needs": {
            "apis": [list(pair) for pair in plan.needs.apis],
            "features": sorted(plan.needs.features),
            "config": dict(sorted(named(plan.needs.config).items())),
        },
        "steps": [written(s, f"$.steps[{i}]") for i, s in enumerate(plan.steps)],
    }


def read_plan(document: Any) -> Plan:
    """Read a plan from JSON.  Raises PlanError."""
    fields = _record(document, "$", Plan, raw=("needs", "steps"))
    steps = _typed(fields["steps"], list[Any], "$.steps")
    fields["steps"] = tuple(read(s, f"$.steps[{i}]") for i, s in enumerate(steps))
    needs = _record(fields["needs"], "$.needs", Needs, raw=("config",))
    config = _typed(needs["config"], dict[str, int | str | None], "$.needs.config")
    try:
        needs["config"] = numbered(config)
    except ValueError as error:
        raise PlanError("$.needs.config", str(error)) from None
    fields["needs"] = Needs(**needs)
    return Plan(**fields)


def written(step: PlanStep, path: str = "$") -> dict[str, Any]:
    """Return one step as JSON.  Raises PlanError."""
    match step:
        case Request():
            fields = _write_each(step.fields.items(), f"{path}.fields")
            return _tagged("do", step, path, fields=fields)
        case Pause():
            return _tagged("do", step, path, times=[time.name for time in step.times])
        case _:
            return _tagged("do", step, path)


def read(document: Any, path: str = "$") -> PlanStep:
    """Read a step from JSON.  Raises PlanError."""
    do = document.get("do") if isinstance(document, dict) else None
    if not isinstance(do, str) or do not in _STEPS:
        raise PlanError(f"{path}.do", f"is {do!r}, none of {', '.join(_STEPS)}")
    kind = _STEPS[do]
    fields = _record(document, path, kind, "do", raw=("fields",))
    if kind is Request:
        api = fields["api"]
        if api not in ALL_APIS:
            raise PlanError(f"{path}.api", f"is {api!r}, none of {', '.join(ALL_APIS)}")
        fields["fields"] = _fields(ALL_APIS[api].request, fields["fields"], f"{path}.fields")
    elif kind is Pause:
        fields["times"] = tuple(_time(name, f"{path}.times") for name in fields["times"])
    return kind(**fields)


def _tagged(key: str, value: Any, path: str, **parts: Any) -> dict[str, Any]:
    """Return the class's name under a key, and all fields in order; `parts`: written already."""
    kind = type(value)
    own = {name: None if name in parts else getattr(value, name) for name in _TYPES[kind]}
    return {key: _NAMES[kind]} | _write_each(own.items(), path) | parts


def _write_each(values: Iterable[tuple[str, Any]], path: str) -> dict[str, Any]:
    """Return values by name; most stand for themselves, and need no path."""
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
            fields = [
                (name, part)
                for name, form in wire_fields(type(value))
                if (part := getattr(value, name)) != form.default
            ]
            return {"message": type(value).__name__, "fields": _write_each(fields, path)}
        case _ if type(value) in _REFERENCES.values():
            return _tagged("ref", value, path)
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
            fields = _fields(_MESSAGES[name], value["fields"], f"{path}.fields")
            try:
                return _MESSAGES[name](**fields)
            except TypeError as error:
                raise PlanError(f"{path}.fields", str(error)) from None
        case {"ref": kind}:
            return _reference(kind, value, path)
        case _:
            raise PlanError(path, f"is {value!r}, which no plan holds")


def _reference(kind: Any, value: Mapping[str, Any], path: str) -> Any:
    if not isinstance(kind, str) or kind not in _REFERENCES:
        raise PlanError(f"{path}.ref", f"is {kind!r}, none of {', '.join(_REFERENCES)}")
    reference = _REFERENCES[kind](**_record(value, path, _REFERENCES[kind], "ref"))
    match reference:
        case Ms(name=name):
            return _time(name, f"{path}.name")
        case ProtocolOf(part=part) if part not in {"type", "name"}:
            raise PlanError(f"{path}.part", f"is {part!r}, not type or name")
    return reference


def _fields(message: type[Message], document: Any, path: str) -> Mapping[str, Any]:
    known = set(message.__struct_fields__)
    if not isinstance(document, dict):
        raise PlanError(path, f"is {document!r}, not an object")
    if unknown := sorted(set(document) - known):
        raise PlanError(f"{path}.{unknown[0]}", f"is no field of {message.__name__}")
    return {name: _read(value, f"{path}.{name}") for name, value in document.items()}


def _time(name: str, path: str) -> Ms:
    if name not in TIME_NAMES:
        raise PlanError(path, f"{name!r} is none of {', '.join(sorted(TIME_NAMES))}")
    return Ms(name)


def _bytes(text: str, path: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise PlanError(f"{path}.bytes", f"is {text!r}, not base64 ({error})") from None


def _record(
    value: Any, path: str, kind: type[Any], *tag: str, raw: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the fields of a JSON object that has all of a class's and no others, with their types.

    `tag`: a further key with the class's name; `raw`: fields that are left as they are.
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
    """Return the value as this type, strictly.  Raises PlanError, in the words of msgspec."""
    try:
        return msgspec.convert(value, kind, builtin_types=(bytes,))
    except msgspec.ValidationError as error:
        raise PlanError(path, f"is {value!r}; {error}") from None
