"""Check lines of adapter protocol 1 against its JSON Schemas, and read and write them.

The schema of the envelope, in both directions, is written by hand
(`adapter-protocol-1.schema.json`), because it is the contract.  The schemas of the bodies are
derived from the message declarations in `fencepost.model.messages.messages`, so that no shape is
written twice.  They are shipped (`message-bodies.schema.json`) for adapters in other languages.
This project checks bodies with `Message.from_body`, whose errors name the version and the field.
`python -m fencepost.conformance.targets.stdio.protocol_schemas` writes the derived file anew.

A line is UTF-8, at most 16 MiB without its newline, one JSON object, and strict JSON: `NaN`, which
Python's own parser accepts, is refused, since an adapter in another language would refuse it.  Both
sides of the protocol use these functions, so they cannot differ.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any, Literal, NoReturn

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from fencepost.model.coordinator import MOVES
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.shapes import (
    INT_RANGES,
    UUID_PATTERN,
    ListOf,
    Message,
    Scalar,
    Wire,
    wire_fields,
)
from fencepost.model.plans.steps import OPERATIONS
from fencepost.traces.files.bounded import LINE_LIMIT, TooDeepError, refuse_deep

_SHORT = 240
_KINDS = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}
"""Kinds of JSON values, by the types that the parser makes of them."""


class LineError(ValueError):
    """A line that is no JSON object.  `str()` completes the sentence "the line …"."""


def decode_line(line: bytes) -> dict[str, Any]:
    """Parse a line as an object.  Raises LineError."""
    try:
        value = json.loads(line.decode(), parse_constant=_refuse)
        refuse_deep(value)
        if b"\\u" in line:  # half of a pair can only be escaped
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise LineError("has half of a surrogate pair, which is no text") from None
    except UnicodeDecodeError as error:
        raise LineError(f"is not UTF-8 ({error.reason} at byte {error.start})") from None
    except (RecursionError, TooDeepError):
        raise LineError("is nested too deeply") from None
    except ValueError as error:
        raise LineError(f"is not JSON ({error})") from None
    if not isinstance(value, dict):
        raise LineError(f"is JSON, but {_KINDS[type(value)]} and not an object")
    return value


def encode_line(message: dict[str, Any]) -> bytes:
    """Encode an object as a line, without its newline.  Raises LineError over the limit."""
    line = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
    if len(line) > LINE_LIMIT:
        raise LineError(f"has {len(line)} bytes; the limit is {LINE_LIMIT}")
    return line


def shortened(value: object, limit: int = _SHORT) -> str:
    """Return a value as one line for people: bytes as the text they are, cut in the middle."""
    if isinstance(value, bytes):
        text = value[: 4 * limit].decode(errors="backslashreplace")
        text += value[max(4 * limit, len(value) - 4 * limit) :].decode(errors="backslashreplace")
    else:
        text = str(value)
    text = text.strip().replace("\n", "\\n")
    if len(text) <= limit:
        return text
    return f"{text[: limit * 2 // 3]} … {text[-limit // 3 :]}"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON value")


Direction = Literal["request", "response"]

PROTOCOL = 1
COMMANDS = ("hello", "reset", "send", "advance", "disconnect", "restart", MOVES, *OPERATIONS, "bye")

BODIES_FILE = Path(__file__).with_name("message-bodies.schema.json")
_ENVELOPE_FILE = Path(__file__).with_name("adapter-protocol-1.schema.json")
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_BASE64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"


class SchemaError(ValueError):
    """A command or reply that the protocol doesn't have.  `path` is a JSON path, `$` the object."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


def check_command(command: dict[str, Any]) -> str:
    """Return the name of a well-formed command.  Raises SchemaError."""
    name = command.get("cmd")
    if name not in COMMANDS:
        raise SchemaError("$.cmd", f"{shortened(name)!r} is none of {', '.join(COMMANDS)}")
    _check(f"{name}.command", command)
    return str(name)


def check_reply(name: str, reply: dict[str, Any]) -> None:
    """Check a reply to the command called `name`.  Raises SchemaError."""
    for refusal in ("unsupported", "error"):
        if refusal in reply:
            _check(refusal, reply)
            return
    _check(f"{name}.done", reply)


@cache
def envelope_schema() -> dict[str, Any]:
    """Return the schema of adapter protocol 1, with a `$defs` entry for each command and reply."""
    document: dict[str, Any] = json.loads(_ENVELOPE_FILE.read_text(encoding="utf-8"))
    return document


def body_schema(api: str, version: int, direction: Direction) -> dict[str, Any]:
    """Return the JSON Schema of the body of one message at one version.

    Raises KeyError for an API, ValueError for a version that the project doesn't know.
    """
    declared = ALL_APIS[api]
    if not declared.lowest <= version <= declared.highest:
        raise ValueError(f"{api} has versions {declared.lowest} to {declared.highest}")
    return _message(getattr(declared, direction), version)


def body_schemas() -> dict[str, Any]:
    """Return the schema document of all bodies, `$defs` keyed like `JoinGroup.v9.request`."""
    directions: tuple[Direction, ...] = ("request", "response")
    return {
        "$schema": _DIALECT,
        "$id": "urn:fencepost:message-bodies",
        "title": "The bodies of fencepost's adapter protocol 1, by API, version and direction",
        "$defs": {
            f"{api.name}.v{version}.{direction}": body_schema(api.name, version, direction)
            for api in ALL_APIS.values()
            for version in range(api.lowest, api.highest + 1)
            for direction in directions
        },
    }


def body_schemas_text() -> str:
    """Return the derived file: one definition a line, so that a diff shows what changed."""
    document = body_schemas()
    definitions = document.pop("$defs")
    head = json.dumps(document, indent=2).removesuffix("\n}")
    rows = ",\n".join(
        f"    {json.dumps(name)}: {json.dumps(schema, separators=(',', ':'))}"
        for name, schema in definitions.items()
    )
    return f'{head},\n  "$defs": {{\n{rows}\n  }}\n}}\n'


def main() -> int:
    """Write the derived file anew."""
    BODIES_FILE.write_text(body_schemas_text(), encoding="utf-8")
    sys.stdout.write(f"{BODIES_FILE}\n")
    return 0


@cache
def _validator(definition: str) -> Draft202012Validator:
    definitions = envelope_schema()["$defs"]
    return Draft202012Validator({"$ref": f"#/$defs/{definition}", "$defs": definitions})


def _check(definition: str, message: dict[str, Any]) -> None:
    error = best_match(_validator(definition).iter_errors(message))
    if error is not None:
        raise SchemaError(error.json_path, shortened(error.message))


def _message(cls: type[Message], version: int) -> dict[str, Any]:
    fields = [form for _, form in wire_fields(cls) if form.carried_by(version)]
    return {
        "type": "object",
        "properties": {form.name: _field(form, version) for form in fields},
        "required": [form.name for form in fields if not form.optional],
        "additionalProperties": False,
    }


def _field(form: Wire, version: int) -> dict[str, Any]:
    schema = _type(form.type, version)
    return {"anyOf": [schema, {"type": "null"}]} if form.allows_null(version) else schema


def _type(kind: Scalar | ListOf | type[Message], version: int) -> dict[str, Any]:
    match kind:
        case ListOf(item=item):
            return {"type": "array", "items": _type(item, version)}
        case Scalar(name=name):
            return _scalar(name)
        case _:
            return _message(kind, version)


def _scalar(name: str) -> dict[str, Any]:
    match name:
        case "string":
            return {"type": "string"}
        case "bytes":
            return {"type": "string", "contentEncoding": "base64", "pattern": _BASE64}
        case "bool":
            return {"type": "boolean"}
        case "error":
            return {"type": ["integer", "string"]}
        case "uuid":
            return {"type": "string", "pattern": f"^{UUID_PATTERN}$"}
        case _ if (values := INT_RANGES.get(name)) is not None:
            return {"type": "integer", "minimum": values.start, "maximum": values.stop - 1}
        case _:
            raise NotImplementedError(f"no JSON Schema for wire type {name}")


if __name__ == "__main__":
    sys.exit(main())
