"""A property in words and as JSON: what it says, of what, from where, and who checks it."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from fencepost.properties.logic.property import Engine, Property


def property_json(one: Property) -> dict[str, Any]:
    """All that is said of a property."""
    return {
        "id": one.id,
        "kind": one.kind.value,
        "meaning": one.meaning,
        "scope": one.scope,
        "source": one.source,
        "checked_by": [engine.value for engine in Engine if engine in one.engines],
        "not_by": {engine.value: why for engine, why in one.not_by.items()},
        "expected_violations": dict(one.expected),
    }


def explain_property(screen: Console, one: Property) -> None:
    """All that is said of a property, line by line."""
    row = property_json(one)
    lines = [
        (one.id, f"{one.kind.value} property"),
        ("holds", one.meaning),
        ("of", one.scope),
        ("source", one.source),
        ("checked by", ", ".join(row["checked_by"])),
        *(("not by", f"{engine}: {why}") for engine, why in row["not_by"].items()),
        *(("fails in", f"{name}: {why}") for name, why in one.expected.items()),
    ]
    if one.formula is not None:
        lines.insert(2, ("as formula", str(one.formula)))
    for name, value in lines:
        screen.print(Text.assemble((f"{name:<12}", "bold"), " ", value))
