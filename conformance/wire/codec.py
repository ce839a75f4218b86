"""Encode JSON bodies as frames of Kafka's protocol, and decode frames strictly.

A request is checked against the model's own shape first: kafka-python, which writes the bytes,
silently drops a field that the version does not have, and without its `groupInstanceId` a static
member is a dynamic one.  An answer is decoded by `Reader`, then checked against the model's shape,
too; no bytes make it raise.  A frame here is without the four bytes of its length; an encoded one
has them.  kafka-python has none of the messages that only the consumer protocol has: their schemas
are the model's declarations, and `_packed` writes them.

kafka-python's own decoder accepts what a judge must see: bytes left over, null where none is
allowed, unknown tagged fields.  So `Reader` walks its schemas itself and reports each of these in a
sentence.  It trusts no length before the bytes are there, and takes no more than `MAX_ITEMS` items
out of one frame, so that garbage costs neither memory nor time.  A null where none is allowed is
read as empty, with a finding, so that the rest can be read.  In strict mode it is garbage, as for a
broker.

Source: Kafka's protocol guide (primitive types); KIP-482 (flexible versions and their headers);
KIP-511 (ApiVersions' answer has the old header in every version, and the body of version 0 beside
an error).
"""

from __future__ import annotations

import base64
import struct
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from kafka.protocol import admin, consumer, metadata, producer, sasl
from kafka.protocol.schemas import load_json

from fencepost.model.messages.consumer_messages import CONSUMER_APIS
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.errors import KAFKA_ERRORS
from fencepost.model.messages.shapes import (
    ListOf,
    Message,
    Scalar,
    ShapeError,
    uuid_bytes,
    uuid_text,
    wire_fields,
)
from fencepost.model.messages.streams_messages import STREAMS_APIS

MAX_ITEMS = 200_000
"""Items of arrays in one frame, all together; more is taken for garbage."""

_MAX_FINDINGS = 20
_LAST = 32767
_NUMBERS = {
    "int8": ">b",
    "int16": ">h",
    "uint16": ">H",
    "int32": ">i",
    "int64": ">q",
    "float64": ">d",
}


class GarbageError(Exception):
    """The bytes can't be read further.  `str()` names the place and the problem."""


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A field of Kafka's schema.  Ranges are (lowest, highest) version, None for no version.

    Each is compared by identity, so that a cache by fields needs no look inside.
    """

    name: str
    kind: str
    is_list: bool
    versions: tuple[int, int] | None
    nullable: tuple[int, int] | None
    tag: int | None
    tagged: tuple[int, int] | None
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Schema:
    """A message's fields and its flexible versions."""

    fields: tuple[Field, ...]
    flexible: tuple[int, int] | None


def within(version: int, bounds: tuple[int, int] | None) -> bool:
    """Return True if a version lies in a range."""
    return bounds is not None and bounds[0] <= version <= bounds[1]


def _range(text: str | None) -> tuple[int, int] | None:
    if text is None or text in {"", "none"}:
        return None
    if text.endswith("+"):
        return int(text[:-1]), _LAST
    low, _, high = text.partition("-")
    return int(low), int(high or low)


def _field(row: Mapping[str, Any]) -> Field:
    kind = row["type"]
    name = row["name"]
    return Field(
        name=name[0].lower() + name[1:],
        kind=kind.removeprefix("[]"),
        is_list=kind.startswith("[]"),
        versions=_range(row["versions"]),
        nullable=_range(row.get("nullableVersions")),
        tag=row.get("tag"),
        tagged=_range(row.get("taggedVersions")),
        fields=tuple(_field(inner) for inner in row.get("fields", ())),
    )


@cache
def schema(name: str) -> Schema:
    """Load Kafka's definition of a message, e.g. `JoinGroupResponse`: as kafka-python ships it.

    One that kafka-python lacks is as the model declares it.
    """
    if (kind := _DECLARED.get(name)) is not None:
        return Schema(_declared(kind), (0, _LAST))
    rows = load_json(name)
    return Schema(tuple(_field(row) for row in rows["fields"]), _range(rows["flexibleVersions"]))


_DECLARED: dict[str, type[Message]] = {
    f"{name}{side}": kind
    for name, api in {**CONSUMER_APIS, **STREAMS_APIS}.items()
    for side, kind in (("Request", api.request), ("Response", api.response))
}
"""The messages that kafka-python lacks; all their versions are flexible."""


def _declared(kind: type[Message]) -> tuple[Field, ...]:
    """Return the fields of a message as the model declares them."""
    rows = []
    for _, form in wire_fields(kind):
        item = form.type.item if isinstance(form.type, ListOf) else form.type
        scalar = item.name if isinstance(item, Scalar) else "struct"
        rows.append(
            Field(
                name=form.name,
                kind="int16" if scalar == "error" else scalar,
                is_list=isinstance(form.type, ListOf),
                versions=(form.lowest, form.highest),
                nullable=form.nullable,
                tag=None,
                tagged=None,
                fields=() if isinstance(item, Scalar) else _declared(item),
            )
        )
    return tuple(rows)


@cache
def _carried(fields: tuple[Field, ...], version: int) -> tuple[tuple[Field, ...], dict[int, Field]]:
    """Return the fields in their order, and the tagged ones by their tags."""
    here = [f for f in fields if within(version, f.versions)]
    plain = tuple(f for f in here if not within(version, f.tagged))
    return plain, {f.tag: f for f in here if f.tag is not None and within(version, f.tagged)}


class Reader:
    """One pass over the bytes of one message; `findings` grows with it, up to a bound."""

    def __init__(self, data: bytes, *, strict: bool = False) -> None:
        self._data = data
        self._strict = strict
        self._at = 0
        self._items = 0
        self.findings: list[str] = []

    @property
    def left(self) -> int:
        """The number of bytes not read yet."""
        return len(self._data) - self._at

    def find(self, sentence: str) -> None:
        """Note a problem; the first twenty are enough."""
        if len(self.findings) < _MAX_FINDINGS:
            self.findings.append(sentence)

    def int32(self, path: str) -> int:
        """Read four bytes, big-endian."""
        return int(self._number("int32", path))

    def message(self, name: str, version: int) -> dict[str, Any]:
        """Return the message as a JSON body.  Raises GarbageError."""
        form = schema(name)
        return self._struct(form.fields, version, within(version, form.flexible), "")

    def skip_tags(self, path: str) -> None:
        """Read a header's tagged fields, of which none is known."""
        self._tags({}, 0, path, {})

    def _take(self, size: int, path: str) -> bytes:
        if size > self.left:
            raise GarbageError(f"{path} needs {size} bytes, {self.left} are left")
        self._at += size
        return self._data[self._at - size : self._at]

    def _number(self, kind: str, path: str) -> int | float:
        form = _NUMBERS[kind]
        value: int | float = struct.unpack(form, self._take(struct.calcsize(form), path))[0]
        return value

    def _varint(self, path: str) -> int:
        value = 0
        for shift in range(0, 35, 7):
            byte = self._take(1, path)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise GarbageError(f"{path} has a length of more than five bytes")

    def _length(self, width: Literal["int16", "int32"], *, flexible: bool, path: str) -> int | None:
        """Return a length, or None for null."""
        size = self._varint(path) - 1 if flexible else int(self._number(width, path))
        if size < -1:
            raise GarbageError(f"{path} has the length {size}")
        return None if size == -1 else size

    def _struct(
        self, fields: tuple[Field, ...], version: int, flexible: bool, path: str
    ) -> dict[str, Any]:
        plain, tagged = _carried(fields, version)
        body = {f.name: self._field(f, version, flexible, f"{path}{f.name}") for f in plain}
        if flexible:
            self._tags(tagged, version, path, body)
        return body

    def _tags(
        self, known: Mapping[int, Field], version: int, path: str, body: dict[str, Any]
    ) -> None:
        last = -1
        for _ in range(self._varint(f"{path}tags")):
            tag = self._varint(f"{path}tags")
            if tag <= last:
                self.find(f"{path}tag {tag} comes after tag {last}; tags must ascend.")
            last = max(last, tag)
            size = self._varint(f"{path}tag {tag}")
            field = known.get(tag)
            if field is None:
                self._take(size, f"{path}tag {tag}")
                self.find(f"{path}tag {tag} is a tagged field that version {version} doesn't have.")
                continue
            if size > self.left:
                raise GarbageError(f"{path}tag {tag} needs {size} bytes, {self.left} are left")
            end = self._at + size
            body[field.name] = self._field(field, version, True, f"{path}{field.name}")
            if self._at != end:
                raise GarbageError(f"{path}{field.name} is not as long as its tag says")

    def _field(self, field: Field, version: int, flexible: bool, path: str) -> Any:
        value = self._value(field, version, flexible, path)
        if value is None and not within(version, field.nullable):
            if self._strict:
                raise GarbageError(f"{path} is null, which version {version} doesn't allow")
            self.find(f"{path} is null, which version {version} doesn't allow (read as empty).")
            return [] if field.is_list else ""
        if field.name == "errorCode" and value not in KAFKA_ERRORS:
            self.find(f"{path} is {value}, an error code that Kafka doesn't have.")
        return value

    def _value(self, field: Field, version: int, flexible: bool, path: str) -> Any:
        if not field.is_list:
            return self._element(field, version, flexible, path)
        count = self._length("int32", flexible=flexible, path=path)
        if count is None:
            return None
        self._items += count
        if count > self.left:
            raise GarbageError(f"{path} has {count} items, {self.left} bytes are left")
        if self._items > MAX_ITEMS:
            raise GarbageError(f"{path}: the frame has more than {MAX_ITEMS} items")
        items = [self._element(field, version, flexible, f"{path}[{i}]") for i in range(count)]
        if self._strict and None in items:
            raise GarbageError(f"{path} has an item that is null")
        return items

    def _element(self, field: Field, version: int, flexible: bool, path: str) -> Any:
        kind = field.kind
        if kind in _NUMBERS:
            return self._number(kind, path)
        match kind:
            case "bool":
                byte = self._take(1, path)[0]
                if byte > 1:
                    self.find(f"{path} is a bool of the value {byte}.")
                return byte != 0
            case "string":
                size = self._length("int16", flexible=flexible, path=path)
                return None if size is None else self._text(size, path)
            case "bytes" | "records":
                size = self._length("int32", flexible=flexible, path=path)
                return None if size is None else base64.b64encode(self._take(size, path)).decode()
            case "uuid":
                return uuid_text(self._take(16, path))
            case _ if field.fields:
                if not field.is_list and within(version, field.nullable):
                    mark = self._number("int8", path)
                    if mark == -1:
                        return None
                    if mark != 1:
                        raise GarbageError(f"{path} begins with {mark}: a struct has 1, null -1")
                return self._struct(field.fields, version, flexible, f"{path}.")
            case _:
                raise GarbageError(f"{path} has the type {kind}, which this project doesn't read")

    def _text(self, size: int, path: str) -> str:
        raw = self._take(size, path)
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise GarbageError(f"{path} is {raw[:40]!r}, not UTF-8") from None


API_KEYS: dict[str, int] = {
    **{name: api.key for name, api in ALL_APIS.items() if api.key is not None},
    "Produce": 0,
    "Fetch": 1,
    "ListOffsets": 2,
    "Metadata": 3,
    "FindCoordinator": 10,
    "SaslHandshake": 17,
    "ApiVersions": 18,
    "CreateTopics": 19,
    "DeleteTopics": 20,
    "InitProducerId": 22,
    "OffsetForLeaderEpoch": 23,
    "AddOffsetsToTxn": 25,
    "EndTxn": 26,
    "DescribeConfigs": 32,
    "SaslAuthenticate": 36,
    "ElectLeaders": 43,
    "AlterPartitionReassignments": 45,
    "DescribeCluster": 60,
}
"""The APIs that can be encoded: those of the model, and those that targets and clients need."""

Side = Literal["Request", "Response"]


@dataclass(frozen=True, slots=True)
class Decoded:
    """The content of a frame.

    `body` is None where the bytes can't be read; otherwise it has the shape of its version.
    `leftover`: bytes after the end of the message.  `findings`: sentences; empty where all is well.
    """

    correlation_id: int | None
    body: dict[str, Any] | None
    findings: tuple[str, ...] = ()
    leftover: int = 0


def encode_request(
    api: str, version: int, correlation_id: int, client_id: str | None, body: Mapping[str, Any]
) -> bytes:
    """Return a framed request of one of the model's APIs.

    Raises ShapeError for a body that the version can't have, or with a text that UTF-8 can't hold.
    """
    ALL_APIS[api].request.from_body(dict(body), version)
    return encode_message(api, "Request", version, correlation_id, body, client_id=client_id)


def encode_message(
    api: str,
    side: Side,
    version: int,
    correlation_id: int,
    body: Mapping[str, Any],
    *,
    client_id: str | None = None,
) -> bytes:
    """Encode a message of any API of `API_KEYS`; a missing field has Kafka's default.

    Raises ShapeError for a field that is unknown or too long for the wire.
    """
    name = f"{api}{side}"
    if name in _DECLARED:
        return _encode_declared(name, version, correlation_id, client_id, body)
    cls = _message_class(name)
    try:
        message = cls(version=version, **_arguments(cls, schema(name).fields, version, body))
        if side == "Request":
            message.with_header(correlation_id, client_id)
        else:
            message.with_header(correlation_id)
        return bytes(message.encode(header=True, framed=True))
    except (struct.error, UnicodeEncodeError, TypeError, ValueError) as error:
        if isinstance(error, ShapeError):
            raise
        raise ShapeError(name, f"can't be written at version {version}: {error}") from error


def decode_response(api: str, version: int, frame: bytes) -> Decoded:
    """Decode a broker's answer.  Never raises, whatever the bytes."""
    decoded = decode_message(api, version, frame)
    if decoded.body is None or api not in ALL_APIS:
        return decoded
    try:
        ALL_APIS[api].response.from_body(decoded.body, version)
    except ShapeError as error:
        problem = f"The answer doesn't have the shape of {api} version {version}: {error}."
        return Decoded(decoded.correlation_id, None, (*decoded.findings, problem), decoded.leftover)
    return decoded


def decode_message(api: str, version: int, frame: bytes) -> Decoded:
    """Return an answer of any API of `API_KEYS`, held to Kafka's schema alone.  Never raises."""
    reader = Reader(frame)
    correlation_id = None
    try:
        correlation_id = reader.int32("correlationId")
        flexible = within(version, schema(f"{api}Response").flexible)
        if flexible and api != "ApiVersions":
            reader.skip_tags("header ")
        if api == "ApiVersions" and frame[4:6] != b"\0\0":
            version = 0
        body = reader.message(f"{api}Response", version)
    except (GarbageError, RecursionError) as error:
        problem = f"The answer's {len(frame)} bytes are not {api} version {version}: {error}."
        return Decoded(correlation_id, None, (*reader.findings, problem))
    if reader.left:
        reader.find(f"{reader.left} bytes are left over after the answer ({api} v{version}).")
    return Decoded(correlation_id, body, tuple(reader.findings), reader.left)


@dataclass(frozen=True, slots=True)
class RequestFrame:
    """A request as a broker reads it."""

    api: str
    version: int
    correlation_id: int
    client_id: str | None
    body: dict[str, Any]
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RequestHeader:
    """The first fields of every request, whatever its API and version."""

    key: int
    version: int
    correlation_id: int
    client_id: str | None
    size: int
    """Bytes of it, without its tagged fields."""


_NAMES = {key: name for name, key in API_KEYS.items()}
_HEADER = struct.Struct(">hhih")


def decode_header(frame: bytes) -> RequestHeader:
    """Return the header of a request.  Raises ShapeError for bytes that are none."""
    if len(frame) < _HEADER.size:
        raise ShapeError("header", f"has {len(frame)} bytes")
    key, version, correlation_id, size = _HEADER.unpack_from(frame)
    end = _HEADER.size + max(size, 0)
    if size < -1 or end > len(frame):
        raise ShapeError("header", f"has a client id of {size} bytes")
    try:
        client_id = None if size < 0 else frame[_HEADER.size : end].decode()
    except UnicodeDecodeError as error:
        raise ShapeError("header", f"has a client id that is no UTF-8: {error}") from error
    return RequestHeader(key, version, correlation_id, client_id, end)


def decode_request(frame: bytes) -> RequestFrame:
    """Decode a request, as a broker does.  Raises ShapeError for bytes that are none."""
    header = decode_header(frame)
    api, version = _NAMES.get(header.key), header.version
    if api is None:
        raise ShapeError("header", f"names API {header.key}, which this project doesn't speak")
    try:
        reader = Reader(frame[header.size :], strict=True)
        if within(version, schema(f"{api}Request").flexible):
            reader.skip_tags("header ")
        body = reader.message(f"{api}Request", version)
    except GarbageError as error:
        raise ShapeError(f"{api}Request", f"version {version}: {error}") from error
    if reader.left:
        reader.find(f"{reader.left} bytes are left over after the request ({api} v{version}).")
    findings = tuple(reader.findings)
    return RequestFrame(api, version, header.correlation_id, header.client_id, body, findings)


@cache
def _message_class(name: str) -> Any:
    for module in (consumer, metadata, admin, producer, sasl):
        if hasattr(module, name):
            return getattr(module, name)
    raise ShapeError(name, "is no message that this project writes")


def _arguments(
    cls: Any, fields: tuple[Field, ...], version: int, body: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a body's fields by kafka-python's names, with instances of its classes in arrays."""
    known = _known(cls, fields)
    if not body.keys() <= known.keys():
        raise ShapeError(min(body.keys() - known.keys()), f"is no field of {cls.__name__}")
    arguments = {}
    for name, value in body.items():
        theirs, form, field = known[name]
        arguments[theirs] = _argument(form, field, version, value)
    return arguments


@cache
def _known(cls: Any, fields: tuple[Field, ...]) -> dict[str, tuple[str, Any, Field]]:
    """Return each field by our name: kafka-python's name and form of it, and the schema's."""
    pairs = zip(fields, cls.fields, strict=True)
    return {field.name: (theirs, cls.fields[theirs], field) for field, theirs in pairs}


def _argument(theirs: Any, field: Field, version: int, value: Any) -> Any:
    if value is None:
        return None
    if field.fields and field.is_list:
        row = theirs.data_class
        return [
            row(version=version, **_arguments(row, field.fields, version, item)) for item in value
        ]
    if field.fields:
        row = theirs.data_class
        return row(version=version, **_arguments(row, field.fields, version, value))
    if field.kind in {"bytes", "records"}:
        return base64.b64decode(value)
    if field.kind == "uuid":
        return uuid.UUID(bytes=uuid_bytes(value))
    if field.name.lower().endswith(
        "authorizedoperations"
    ):  # kafka-python takes the set of its bits
        return {bit for bit in range(32) if value >> bit & 1}
    return value


def _encode_declared(
    name: str, version: int, correlation_id: int, client_id: str | None, body: Mapping[str, Any]
) -> bytes:
    """Encode a message of which kafka-python has no schema, with its header."""
    try:
        header = struct.pack(">i", correlation_id)
        if name.endswith("Request"):
            client = None if client_id is None else client_id.encode()
            key = API_KEYS[name.removesuffix("Request")]
            size = -1 if client is None else len(client)
            header = _HEADER.pack(key, version, correlation_id, size) + (client or b"")
        content = header + _NO_TAGS + _packed(schema(name).fields, version, body, "")
    except (struct.error, UnicodeEncodeError, TypeError, AttributeError) as error:
        raise ShapeError(name, f"can't be written at version {version}: {error}") from error
    return struct.pack(">i", len(content)) + content


_MAY_LACK = {"throttleTimeMs": 0, "errorMessage": None}
_NO_TAGS = b"\0"
_NULL = b"\0"


def _packed(fields: tuple[Field, ...], version: int, body: Mapping[str, Any], path: str) -> bytes:
    """Return a struct of a flexible version; what may be left out has its default."""
    plain, _ = _carried(fields, version)
    if extra := body.keys() - {field.name for field in plain}:
        raise ShapeError(f"{path}{min(extra)}", f"is no field of version {version}")
    parts = []
    for field in plain:
        where = f"{path}{field.name}"
        if field.name not in body and field.name not in _MAY_LACK:
            raise ShapeError(where, "is missing")
        value = body.get(field.name, _MAY_LACK.get(field.name))
        if value is None and not within(version, field.nullable):
            raise ShapeError(where, f"is null, which version {version} doesn't allow")
        parts.append(_packed_value(field, version, value, where))
    return b"".join(parts) + _NO_TAGS


def _packed_value(field: Field, version: int, value: Any, path: str) -> bytes:
    if field.is_list:
        if value is None:
            return _NULL
        rows: Sequence[Any] = value
        items = [_packed_item(field, version, v, f"{path}[{i}]") for i, v in enumerate(rows)]
        return _size(len(items)) + b"".join(items)
    if not (field.fields and within(version, field.nullable)):
        return _packed_item(field, version, value, path)
    return b"\xff" if value is None else b"\1" + _packed_item(field, version, value, path)


def _packed_item(field: Field, version: int, value: Any, path: str) -> bytes:
    match field.kind:
        case "struct":
            return _packed(field.fields, version, value, f"{path}.")
        case "string":
            raw = None if value is None else value.encode()
            return _NULL if raw is None else _size(len(raw)) + raw
        case "uuid":
            try:
                return uuid_bytes(value)
            except ValueError as error:
                raise ShapeError(path, str(error)) from None
        case "bool":
            return b"\1" if value else b"\0"
        case kind:
            return struct.pack(_NUMBERS[kind], value)


def _size(count: int) -> bytes:
    """Return a length of a flexible version: one more than it, seven bits in each byte."""
    count += 1
    out = bytearray()
    while count > 0x7F:
        out.append(count & 0x7F | 0x80)
        count >>= 7
    return bytes((*out, count))
