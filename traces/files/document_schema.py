"""Derive the JSON Schema of a document from the types that are written as it.

The types are msgspec structs that forbid unknown fields.  `Meta` holds bounds and descriptions, and
in `extra_json_schema` what a type can't say.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec
from msgspec import Meta

Count = Annotated[int, Meta(ge=0)]
Seconds = Annotated[float, Meta(ge=0)]


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An object of a document."""

    def plain(self) -> dict[str, Any]:
        """Return it as a parsed JSON file has it: of dicts and lists."""
        document: dict[str, Any] = _with_lists(msgspec.to_builtins(self))
        return document


def _with_lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_lists(part) for key, part in value.items()}
    return [_with_lists(part) for part in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class DocumentSchema:
    """A format, such as `audit-1`, and the type of its documents, or a tuple of such types.

    A field that has one value names the format.  It is written always, so it is required.
    `definitions`: names in `$defs`, by the names of the types that have another one in Python.
    """

    name: str
    title: str
    description: str
    document: Any
    definitions: Mapping[str, str] = field(default_factory=dict)

    def schema(self) -> dict[str, Any]:
        """Derive the schema."""
        kinds = self.document if isinstance(self.document, tuple) else (self.document,)
        roots, components = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
        for component in components.values():
            _require_tags(component)
        root: dict[str, Any] = {"oneOf": roots} if len(roots) > 1 else roots[0]
        if "$ref" in root:
            root = components.pop(root["$ref"].rpartition("/")[2])
        text = json.dumps([root, components])
        for kind, name in self.definitions.items():
            text = text.replace(f'"#/$defs/{kind}"', f'"#/$defs/{name}"')
        root, components = json.loads(text)
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": f"urn:fencepost:{self.name}",
            **root,
            "title": self.title,
            "description": self.description,
            **(
                {"$defs": {self.definitions.get(kind, kind): of for kind, of in components.items()}}
                if components
                else {}
            ),
        }


def _require_tags(component: dict[str, Any]) -> None:
    fields = component.get("properties", {})
    tags = [name for name, of in fields.items() if len(of.get("enum", ())) == 1]
    if tags:
        rest = [name for name in component["required"] if name not in tags]
        component["required"] = [*tags, *rest]
