"""The codec: JSON bodies to frames of Kafka's protocol, and frames to JSON bodies.

A request is checked against the model's own shape first: kafka-python, which writes the bytes,
silently drops a field that the version does not have, and without its `groupInstanceId` a static
member is a dynamic one.  An answer is read by `fencepost.conformance.wire.strict_reader`, then
checked against the model's shape, too; no bytes make it raise.

A frame here is what follows the four bytes of its length; what is encoded has them.

Source: Kafka's protocol guide; KIP-482 (headers of flexible versions); KIP-511 (ApiVersions' answer
has the old header in every version, and the body of version 0 beside an error).
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from kafka.protocol import admin, consumer, metadata, producer, sasl

from fencepost.conformance.wire.strict_reader import Field, GarbageError, Reader, schema, within
from fencepost.model.messages.messages import APIS
from fencepost.model.messages.wire_form import ShapeError

API_KEYS: dict[str, int] = {
    **{name: api.key for name, api in APIS.items() if api.key is not None},
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
    "DescribeConfigs": 32,
    "SaslAuthenticate": 36,
    "DeleteGroups": 42,
    "ElectLeaders": 43,
    "AlterPartitionReassignments": 45,
    "DescribeCluster": 60,
}
"""The APIs that can be encoded: those of the model, and what targets and clients need."""

Side = Literal["Request", "Response"]


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a frame says.

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
    """A framed request of one of the model's APIs.

    Raises ShapeError for a body that the version can't have, or with a text that UTF-8 can't hold.
    """
    APIS[api].request.from_body(dict(body), version)
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
    """A framed message of any API of `API_KEYS`; what the body leaves out has Kafka's default.

    Raises ShapeError for a field that is unknown or too long for the wire.
    """
    name = f"{api}{side}"
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
    """What a broker answered.  Never raises, whatever the bytes."""
    decoded = decode_message(api, version, frame)
    if decoded.body is None or api not in APIS:
        return decoded
    try:
        APIS[api].response.from_body(decoded.body, version)
    except ShapeError as error:
        problem = f"The answer doesn't have the shape of {api} version {version}: {error}."
        return Decoded(decoded.correlation_id, None, (*decoded.findings, problem), decoded.leftover)
    return decoded


def decode_message(api: str, version: int, frame: bytes) -> Decoded:
    """An answer of any API of `API_KEYS`, held to Kafka's schema alone.  Never raises."""
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
    """What every request begins with, whatever its API and version."""

    key: int
    version: int
    correlation_id: int
    client_id: str | None
    size: int
    """Bytes of it, without its tagged fields."""


_NAMES = {key: name for name, key in API_KEYS.items()}
_HEADER = struct.Struct(">hhih")


def decode_header(frame: bytes) -> RequestHeader:
    """The header of a request.  Raises ShapeError for bytes that are none."""
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
    """A request, for what plays a broker.  Raises ShapeError for bytes that are none."""
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
    """A body's fields under kafka-python's names, with instances of its classes in arrays."""
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
    """Each field by our name: kafka-python's name and form of it, and the schema's."""
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
    if field.name.lower().endswith(
        "authorizedoperations"
    ):  # kafka-python takes the set of its bits
        return {bit for bit in range(32) if value >> bit & 1}
    return value
