"""The shape of a row in the table of obligations, and the areas of the table."""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.model.table.table import Level

AREAS = {
    "IDENTITY": "Who it says it is",
    "JOIN": "How it joins, and what it does after an error",
    "CLOSE": "How it goes",
    "FENCED": "Another has its place",
    "REMOVED": "It lost its place",
    "RESTART": "It comes back",
    "LEADER": "It assigns for the group",
    "SESSION": "It shows that it lives",
    "OLD-BROKER": "A broker that knows no static members",
    "STREAMS": "Several members in one process",
}
"""The areas in the order of the table, with their titles."""

_PREFIX = "CLIENT-"


@dataclass(frozen=True, slots=True)
class Obligation:
    """One thing that a client owes.

    `id`: never changes once published.  `level`: MUST where a safety promise of the KIP depends on
    it; SHOULD where users rely on it, or the authors of a library might dispute it.  `sentence`:
    what the client does.  `source`: who asks for it.  `provoked`: what is done to it; `judged`:
    what is looked at.  `part`: the duty of `fencepost.model.client` that it is about.  `dispute`:
    what the authors of a library may say against it, and why the level is what it is; "" where
    nobody would.

    Raises ValueError for an id that names no area.
    """

    id: str
    level: Level
    sentence: str
    source: str
    provoked: str
    judged: str
    part: str
    dispute: str = ""

    def __post_init__(self) -> None:
        if self.area not in AREAS:
            raise ValueError(f"{self.id!r} is no id of an obligation: {_PREFIX}AREA-WHAT")

    @property
    def area(self) -> str:
        """The area that its id names, such as `FENCED`; "" for none."""
        rest = self.id.removeprefix(_PREFIX) if self.id.startswith(_PREFIX) else ""
        return next((area for area in AREAS if rest.startswith(f"{area}-")), "")
