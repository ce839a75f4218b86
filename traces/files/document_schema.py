"""Derive the JSON Schema of a document from the types that are written as it.

The types are msgspec structs that forbid unknown fields.  `Meta` holds bounds and descriptions, and
in `extra_json_schema` what a type can't say.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import msgspec
from msgspec import Meta

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(ge=0)]
Text = Annotated[str, Meta(min_length=1)]


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


@dataclass(frozen=True, eq=False)
class DocumentSchema:
    """A format, such as `audit-1`, and the type of its documents, or a tuple of such types.

    A field that has one value names the format.  It is written always, so it is required.
    `definitions`: names in `$defs`, by the names of the types that have another one in Python.
    `conditions`: what else holds for a type, which its fields can't say.
    """

    name: str
    title: str
    description: str
    document: Any
    definitions: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def schema(self) -> dict[str, Any]:
        """Derive the schema."""
        kinds = self.document if isinstance(self.document, tuple) else (self.document,)
        roots, components = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
        for kind, component in components.items():
            _require_tags(component)
            component.update(self.conditions.get(kind, {}))
        root: dict[str, Any] = {"oneOf": roots} if len(roots) > 1 else roots[0]
        if "$ref" in root:
            root = components.pop(root["$ref"].rpartition("/")[2])
        orders = {frozenset(words): words for kind in kinds for words in _words(kind)}
        text = json.dumps(_plainer([root, components], orders))
        for kind, name in self.definitions.items():
            text = text.replace(f'"#/$defs/{kind}"', f'"#/$defs/{name}"')
        root, components = json.loads(text)
        _, _, keys = root.get("description", "").partition("\n\n")
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": f"urn:fencepost:{self.name}",
            **root,
            "title": self.title,
            "description": "\n\n".join(filter(None, (self.description, keys))),
            **(
                {"$defs": {self.definitions.get(kind, kind): of for kind, of in components.items()}}
                if components
                else {}
            ),
        }

    def error(self, document: Any) -> ValidationError | None:
        """Return the most relevant error of a document; None if it matches the schema."""
        from jsonschema.exceptions import best_match  # noqa: PLC0415  (loaded when first used: it takes long)

        error: ValidationError | None = best_match(self._validator.iter_errors(document))
        return error

    @cached_property
    def _validator(self) -> Draft202012Validator:
        from jsonschema import Draft202012Validator  # noqa: PLC0415

        return Draft202012Validator(self.schema())


def _require_tags(component: dict[str, Any]) -> None:
    fields = component.get("properties", {})
    tags = [name for name, of in fields.items() if len(of.get("enum", ())) == 1]
    if tags:
        rest = [name for name in component["required"] if name not in tags]
        component["required"] = [*tags, *rest]


def _words(kind: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the values of each Literal and Enum in a type, in the order of their declaration."""
    if get_origin(kind) is Literal:
        yield get_args(kind)
    elif isinstance(kind, type) and issubclass(kind, Enum):
        yield tuple(each.value for each in kind)
    else:
        of = get_origin(kind) or kind
        is_struct = isinstance(of, type) and issubclass(of, msgspec.Struct)
        fields = msgspec.structs.fields(of) if is_struct else ()
        for part in (*get_args(kind), *(each.type for each in fields)):
            yield from _words(part)


def _plainer(schema: Any, orders: Mapping[frozenset[Any], tuple[Any, ...]]) -> Any:
    """Rewrite what messages of a validator quote: one value as `const`, a union as list of types.

    `orders`: the orders of values; msgspec sorts them.
    """
    if isinstance(schema, list):
        return [_plainer(each, orders) for each in schema]
    if not isinstance(schema, dict):
        return schema
    plain: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "enum" and len(value) == 1:
            plain["const"] = value[0]
        elif key == "enum":
            plain[key] = orders.get(frozenset(value), value)
        elif key in {"type", "anyOf", "default"} and "enum" in schema:
            pass  # the values say it
        elif key == "anyOf" and all(each.keys() == {"type"} for each in value):
            plain["type"] = [each["type"] for each in value]
        else:
            plain[key] = _plainer(value, orders)
    return plain
