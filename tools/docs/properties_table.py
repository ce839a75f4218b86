"""Make the table of all properties in `docs/designers/properties.md`.

`python -m tools.docs.properties_table docs/designers/properties.md` writes it between its two
marks: each property and promise, its class, the engines that hold it, and the rows it covers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.checking.consumer_promises import ALL_PROMISES
from fencepost.properties.checking.row_properties import known_rows
from fencepost.properties.claims.property_registry import ALL_PROPERTIES
from fencepost.properties.logic.logic import Engine, PropertyClass
from tools.docs.marked_part import with_part

BEGIN = "<!-- Made by `python -m tools.docs.properties_table docs/designers/properties.md`. -->"
END = "<!-- The end of what is made. -->"
_HEAD = """\
| property | class | checked by | rules it covers |
|---|---|---|---|"""
_ENDLESS = "exploration of endless runs"


def page(text: str) -> str:
    """Return the page with the table as it is now.  Raises ValueError without the marks."""
    return with_part(text, BEGIN, END, _table(), "the page of properties")


def _table() -> str:
    return "\n".join((_HEAD, *_rows()))


def _rows() -> Iterator[str]:
    covers: dict[str, list[str]] = {}
    for row, name in known_rows()[KAFKA_4.name].items():
        covers.setdefault(name, []).append(f"`{row}`")
    claims = [
        (claim.id, claim.property_class, ", ".join(e.value for e in Engine if e in claim.engines))
        for claim in ALL_PROPERTIES.values()
    ]
    claims += [(promise.id, promise.property_class, _ENDLESS) for promise in ALL_PROMISES]
    for property_class in PropertyClass:
        for name, its_class, engines in claims:
            if its_class is property_class:
                rows = ", ".join(covers.get(name, ()))
                yield f"| `{name}` | {property_class.value} | {engines} | {rows} |"


def main() -> None:
    """Write the table into the page named by the argument."""
    path = Path(sys.argv[1])
    path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
