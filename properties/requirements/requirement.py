"""Define a requirement of clients: a row of the table, and the areas of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fencepost.model.table.table import Level
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.client_verdict import Verdict, unknown, weighed
from fencepost.properties.requirements.evidence import Evidence

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

JOIN_LOGIC = "KIP-345, Join Group Logic Change"
BEHAVIOUR = "KIP-345, Client Behavior Changes"

_PREFIX = "CLIENT-"

Judge = Callable[[Evidence], Iterator[Verdict]]
"""Function that yields a verdict for each occasion on which the evidence could show a violation.

The first verdict that is not HOLDS decides, and the others are not computed.
"""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement of clients.

    `id`: never changes once published.  `level`: MUST where a safety promise of the KIP depends on
    it; SHOULD where users rely on it, or the authors of a library might dispute it.  `sentence`:
    the required behaviour.  `source`: the document that requires it.  `provoked`: the stimulus;
    `judged`: the evidence that counts; `judge`: the function that judges it; `unseen`: the reason,
    or the verdict, where it yields nothing.  `needs_calm`: the judge assumes that nothing else goes
    wrong, so it judges only scenarios of the catalogue, none that are drawn at random.  `dispute`:
    arguments of a library's authors against it, and the reason for the level, or "".

    Raises ValueError for an id that names no area.
    """

    id: str
    level: Level
    sentence: str
    source: str
    provoked: str
    judged: str
    judge: Judge
    unseen: str | Callable[[Evidence], Verdict] = "nothing shows it"
    needs_calm: bool = False
    dispute: str = ""

    def __post_init__(self) -> None:
        if self.area not in AREAS:
            raise ValueError(f"{self.id!r} is no id of an obligation: {_PREFIX}AREA-WHAT")

    @property
    def area(self) -> str:
        """The area that its id names, such as `FENCED`; "" for none."""
        rest = self.id.removeprefix(_PREFIX) if self.id.startswith(_PREFIX) else ""
        return next((area for area in AREAS if rest.startswith(f"{area}-")), "")

    def verdict(self, evidence: Evidence) -> Verdict:
        """Judge the requirement by the evidence of one run."""
        first = None
        for verdict in self.judge(evidence):
            if verdict.outcome is not Outcome.PASS:
                return weighed(verdict, evidence)
            first = first or verdict
        if first is None:
            first = unknown(self.unseen) if isinstance(self.unseen, str) else self.unseen(evidence)
        return weighed(first, evidence)
