"""The symbolic plan of a case as JSON, and back; both ways are strict.

This is how a trace carries its case, so that the case can be run again elsewhere.  A reference is
an object with one key `ref`, bytes are `{"bytes": base64}`, a message inside another is
`{"message": name, "fields": {…}}`, a tuple is a list; anything else stands for itself.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from fencepost.conformance.plans.plan import (
    AssignmentsIfLeader,
    AssignmentsToAll,
    Await,
    Case,
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
from fencepost.model.machine import translate
from fencepost.model.messages import messages
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.shapes import Message
from fencepost.model.table.table import Level

_MESSAGES: dict[str, type[Message]] = {
    name: value
    for module in (messages, translate)
    for name, value in sorted(vars(module).items())
    if isinstance(value, type) and issubclass(value, Message) and value is not Message
}
T = TypeVar("T")

_TIMES = {f.name.replace("_", " ") for f in dataclasses.fields(Times)} - {"margin", "settle"}


class PlanError(ValueError):
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
    read = _Object(document, "$", ("id", "about", "rules", "level", "isolated", "needs", "steps"))
    level = read.text("level")
    if level not in {known.value for known in Level}:
        raise PlanError("$.level", f"is {level!r}, not MUST, SHOULD or MAY")
    steps = read.items("steps")
    return Case(
        read.text("id"),
        read.text("about"),
        read.texts("rules"),
        Level(level),
        tuple(step_from_json(s, f"$.steps[{i}]") for i, s in enumerate(steps)),
        _needs(read.of("needs", ("apis", "features", "config"))),
        read.flag("isolated"),
    )


def step_json(step: Step, path: str = "$") -> dict[str, Any]:
    """One step as JSON.  Raises PlanError."""
    match step:
        case RequestStep():
            return {
                "do": "ask",
                "label": step.label,
                "who": step.who,
                "api": step.api,
                "fields": {k: _write(v, f"{path}.fields.{k}") for k, v in step.fields.items()},
                "version": step.version,
                "at_most": step.at_most,
                "connection": step.connection,
                "group_ids": list(step.group_ids),
            }
        case Await():
            return {"do": "await", "labels": list(step.labels)}
        case Pause():
            names = [time.name for time in step.times]
            return {
                "do": "pause",
                "times": names,
                "margins": step.margins,
                "minus": step.minus,
                "parts": step.parts,
            }
        case Settle():
            return {"do": "settle"}
        case Disconnect():
            return {"do": "disconnect", "who": step.who}
        case Restart():
            return {"do": "restart"}


_STEP_KEYS = {
    "ask": ("label", "who", "api", "fields", "version", "at_most", "connection", "group_ids"),
    "await": ("labels",),
    "pause": ("times", "margins", "minus", "parts"),
    "settle": (),
    "disconnect": ("who",),
    "restart": (),
}


def step_from_json(document: Any, path: str = "$") -> Step:
    """Read a step from JSON.  Raises PlanError."""
    do = document.get("do") if isinstance(document, dict) else None
    if do not in _STEP_KEYS:
        raise PlanError(f"{path}.do", f"is {do!r}, none of {', '.join(_STEP_KEYS)}")
    read = _Object(document, path, ("do", *_STEP_KEYS[do]))
    match do:
        case "ask":
            return _ask(read, path)
        case "await":
            return Await(read.texts("labels"))
        case "pause":
            times = tuple(_time(name, f"{path}.times") for name in read.texts("times"))
            return Pause(times, read.number("margins"), read.flag("minus"), read.number("parts"))
        case "disconnect":
            return Disconnect(read.text("who"))
        case "restart":
            return Restart()
        case _:
            return Settle()


def _ask(read: _Object, path: str) -> RequestStep:
    api = read.text("api")
    if api not in ALL_APIS:
        raise PlanError(f"{path}.api", f"is {api!r}, none of {', '.join(ALL_APIS)}")
    return RequestStep(
        read.text("label"),
        read.text("who"),
        api,
        _fields(ALL_APIS[api].request, read.value("fields"), f"{path}.fields"),
        None if read.value("version") is None else read.number("version"),
        None if read.value("at_most") is None else read.number("at_most"),
        None if read.value("connection") is None else read.text("connection"),
        read.texts("group_ids"),
    )


def _needs(read: _Object) -> Needs:
    apis = []
    for pair in read.items("apis"):
        match pair:
            case [str() as api, int() as version] if not isinstance(version, bool):
                apis.append((api, version))
            case _:
                raise PlanError("$.needs.apis", f"has {pair!r}, not [API, version]")
    config = read.value("config")
    if not isinstance(config, dict) or not all(
        value is None or type(value) is int for value in config.values()
    ):
        raise PlanError("$.needs.config", f"is {config!r}, not settings")
    return Needs(tuple(apis), frozenset(read.texts("features")), config)


def _write(value: Any, path: str) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case bytes():
            return {"bytes": base64.b64encode(value).decode()}
        case IdOf():
            return {"ref": "id", "who": value.who, "back": value.back}
        case GenerationOf():
            return {"ref": "generation", "who": value.who, "plus": value.plus}
        case Ms():
            return {"ref": "ms", "name": value.name}
        case ProtocolOf():
            return {"ref": "protocol", "who": value.who, "part": value.part}
        case AssignmentsIfLeader():
            rows = [[_write(m, path), _write(b, path)] for m, b in value.by_member]
            return {"ref": "assignments-if-leader", "who": value.who, "by_member": rows}
        case AssignmentsToAll():
            said = _write(value.assignment, path)
            return {"ref": "assignments-to-all", "who": value.who, "assignment": said}
        case tuple():
            return [_write(item, f"{path}[{i}]") for i, item in enumerate(value)]
        case Message():
            said = {
                f.name: _write(getattr(value, f.name), f"{path}.{f.name}")
                for f in dataclasses.fields(value)
                if getattr(value, f.name) != f.default
            }
            return {"message": type(value).__name__, "fields": said}
        case _:
            raise PlanError(path, f"{type(value).__name__} {value!r} has no JSON form")


_REFERENCE_KEYS = {
    "id": ("who", "back"),
    "generation": ("who", "plus"),
    "ms": ("name",),
    "protocol": ("who", "part"),
    "assignments-if-leader": ("who", "by_member"),
    "assignments-to-all": ("who", "assignment"),
}


def _read(value: Any, path: str) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case list():
            return tuple(_read(item, f"{path}[{i}]") for i, item in enumerate(value))
        case {"bytes": _}:
            return _bytes(_Object(value, path, ("bytes",)).text("bytes"), path)
        case {"message": _}:
            read = _Object(value, path, ("message", "fields"))
            name = read.text("message")
            if name not in _MESSAGES:
                raise PlanError(f"{path}.message", f"is {name!r}, which is no message")
            said = _fields(_MESSAGES[name], read.value("fields"), f"{path}.fields")
            try:
                return _MESSAGES[name](**said)
            except TypeError as error:
                raise PlanError(f"{path}.fields", str(error)) from None
        case {"ref": _}:
            return _reference(value, path)
        case _:
            raise PlanError(path, f"is {value!r}, which no plan holds")


def _reference(value: Any, path: str) -> Any:
    kind = value["ref"]
    if not isinstance(kind, str) or kind not in _REFERENCE_KEYS:
        raise PlanError(f"{path}.ref", f"is {kind!r}, none of {', '.join(_REFERENCE_KEYS)}")
    read = _Object(value, path, ("ref", *_REFERENCE_KEYS[kind]))
    match kind:
        case "id":
            return IdOf(read.text("who"), read.number("back"))
        case "generation":
            return GenerationOf(read.text("who"), read.number("plus"))
        case "ms":
            return _time(read.text("name"), f"{path}.name")
        case "protocol":
            if (part := read.text("part")) not in {"type", "name"}:
                raise PlanError(f"{path}.part", f"is {part!r}, not type or name")
            return ProtocolOf(read.text("who"), part)
        case "assignments-to-all":
            return AssignmentsToAll(read.text("who"), _assignment(read, path))
        case _:
            return AssignmentsIfLeader(read.text("who"), _assignments(read, path))


def _assignment(read: _Object, path: str) -> bytes:
    match _read(read.value("assignment"), f"{path}.assignment"):
        case bytes() as assignment:
            return assignment
        case _:
            raise PlanError(f"{path}.assignment", "isn't bytes")


def _assignments(read: _Object, path: str) -> tuple[tuple[Any, bytes], ...]:
    rows = []
    for i, row in enumerate(read.items("by_member")):
        where = f"{path}.by_member[{i}]"
        match _read(row, where):
            case (member, bytes() as assignment):
                rows.append((member, assignment))
            case _:
                raise PlanError(where, "isn't [member, bytes]")
    return tuple(rows)


def _fields(message: type[Message], said: Any, path: str) -> Mapping[str, Any]:
    known = {f.name for f in dataclasses.fields(message)}
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


class _Object:
    """A JSON object that must have exactly these keys; reading a value checks its type."""

    def __init__(self, value: Any, path: str, keys: tuple[str, ...]) -> None:
        if not isinstance(value, dict):
            raise PlanError(path, f"is {value!r}, not an object")
        if missing := [key for key in keys if key not in value]:
            raise PlanError(f"{path}.{missing[0]}", "is missing")
        if unknown := sorted(set(value) - set(keys)):
            raise PlanError(f"{path}.{unknown[0]}", f"is unknown here; known are {', '.join(keys)}")
        self._value = value
        self._path = path

    def value(self, key: str) -> Any:
        return self._value[key]

    def text(self, key: str) -> str:
        return self._typed(key, str, "a string")

    def number(self, key: str) -> int:
        return self._typed(key, int, "a whole number")

    def flag(self, key: str) -> bool:
        return self._typed(key, bool, "true or false")

    def items(self, key: str) -> list[Any]:
        return self._typed(key, list, "a list")

    def texts(self, key: str) -> tuple[str, ...]:
        for item in self.items(key):
            if not isinstance(item, str):
                raise PlanError(f"{self._path}.{key}", f"holds {item!r}, not a string")
        return tuple(self.items(key))

    def of(self, key: str, keys: tuple[str, ...]) -> _Object:
        return _Object(self.value(key), f"{self._path}.{key}", keys)

    def _typed(self, key: str, kind: type[T], called: str) -> T:
        value = self._value[key]
        if type(value) is not kind:
            raise PlanError(f"{self._path}.{key}", f"is {value!r}, not {called}")
        return value
