"""The JSON of an audit: each key is explained on its page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from support.places import ROOT

from fencepost.traces.audit import log_audit, server_log_audit
from fencepost.traces.files.document_schema import DocumentSchema
from fencepost.traces.operations import operator_words

PAGE = ROOT / "docs" / "operators" / "audit-json.md"
SCHEMAS = (log_audit.SCHEMA, server_log_audit.SCHEMA, operator_words.SCHEMA)


def keys(schema: Any) -> Iterator[str]:
    """All names of properties in a schema."""
    if isinstance(schema, list):
        for part in schema:
            yield from keys(part)
    elif isinstance(schema, dict):
        yield from schema.get("properties", ())
        for part in schema.values():
            yield from keys(part)


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: schema.name)
def test_every_key_is_explained(schema: DocumentSchema) -> None:
    named = set(re.findall(r"`([a-z_]+)`", PAGE.read_text(encoding="utf-8")))
    outcomes = {"explained", "violated", "unknown"}  # explained with the verdicts
    found = set(keys(schema.schema())) - outcomes
    assert found - named == set()
    assert len(found) > 5
