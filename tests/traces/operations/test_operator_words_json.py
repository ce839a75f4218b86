"""The JSON of an audit: its schemas describe each key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from fencepost.traces.audit import log_audit, server_log_audit
from fencepost.traces.files.document_schema import DocumentSchema
from fencepost.traces.operations import operator_words

SCHEMAS = (log_audit.SCHEMA, server_log_audit.SCHEMA, operator_words.SCHEMA)


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """All objects in a schema."""
    if isinstance(schema, list):
        for part in schema:
            yield from parts(part)
    elif isinstance(schema, dict):
        yield schema
        for part in schema.values():
            yield from parts(part)


def unexplained(schema: Any) -> set[str]:
    """The keys that no description names."""
    keys = {key for part in parts(schema) for key in part.get("properties", ())}
    texts = [
        part["description"] for part in parts(schema) if isinstance(part.get("description"), str)
    ]
    return keys - set(re.findall(r"`([a-z_]+)`", " ".join(texts)))


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: schema.name)
def test_every_key_is_explained(schema: DocumentSchema) -> None:
    document = schema.schema()
    assert unexplained(document) == set()
    assert len(document["properties"]) > 5


def test_a_key_without_a_description_is_caught() -> None:
    document = operator_words.SCHEMA.schema()
    document["$defs"]["Process"]["properties"]["nonesuch"] = {"type": "string"}
    assert unexplained(document) == {"nonesuch"}
