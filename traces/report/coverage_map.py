"""Make the coverage map: the decision table and the state diagram, coloured by what was exercised.

A rule counts as exercised if a case of it passes on some target.  A rule that no target can reach
is grey, with the reason; a rule that could be reached and was not is red.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import atan2, cos, hypot, sin
from typing import Any

from fencepost.model.revision import Revision
from fencepost.model.table.vocabulary import GroupState
from fencepost.traces.pages.diagram import edges
from fencepost.traces.report.certificate_data import CertificateView

_PLACES = {
    GroupState.ABSENT: (105, 100),
    GroupState.EMPTY: (435, 100),
    GroupState.PREPARING: (765, 100),
    GroupState.COMPLETING: (765, 300),
    GroupState.STABLE: (435, 300),
}
_WIDE, _HIGH = 184, 52


@dataclass(frozen=True, slots=True)
class RuleExercise:
    """How each rule was exercised: `yes`, `never` or `out`; and why one is out of reach."""

    how: Mapping[str, str]
    why: Mapping[str, str]

    def share(self, rules: Sequence[str]) -> tuple[int, int]:
        """Return how many of these were exercised, of those that can be."""
        able = [rule for rule in rules if self.how[rule] != "out"]
        return sum(self.how[rule] == "yes" for rule in able), len(able)

    def tone(self, rules: Sequence[str]) -> str:
        """Return `yes` if all that can be were exercised, else `some`, `never`, or `out`."""
        done, able = self.share(rules)
        if not able:
            return "out"
        return "yes" if done == able else "some" if done else "never"


def covered(certificates: Sequence[CertificateView], revision: Revision) -> RuleExercise:
    """Return what all targets together exercised of a revision."""
    how, why = {}, {}
    for _, rule in revision.rules():
        if any(rule.id in held.covered for held in certificates):
            how[rule.id] = "yes"
        elif all(rule.id in held.unreachable for held in certificates):
            how[rule.id] = "out"
            why[rule.id] = certificates[0].unreachable[rule.id]
        else:
            how[rule.id] = "never"
    return RuleExercise(how, why)


def table_rows(revision: Revision, told: RuleExercise) -> list[dict[str, Any]]:
    """Return the decision table: each table with its rules, and how they were exercised."""
    found = []
    for table in revision.tables.values():
        rows = []
        for number, rule in enumerate(table.rules(), start=1):
            does = [do.value for do in rule.effect] + ([rule.answer.name] if rule.answer else [])
            rows.append(
                {
                    "id": rule.id,
                    "kind": f"check {number}" if number <= len(table.checks) else "row",
                    "when": table.condition(rule),
                    "then": "; ".join(does) or "nothing changes",
                    "level": rule.level.value,
                    "how": told.how[rule.id],
                    "why": told.why.get(rule.id, ""),
                }
            )
        done, able = told.share([row["id"] for row in rows])
        found.append({"name": table.name, "rules": rows, "done": done, "able": able})
    return found


def picture(revision: Revision, told: RuleExercise) -> dict[str, Any]:
    """Lay out the state diagram: the states, and the edges between them."""
    states, arrows = [], []
    for edge in edges(revision):
        done, able = told.share(edge.rules)
        shown = {
            "rules": list(edge.rules),
            "tone": told.tone(edge.rules),
            "share": f"{done} of {able}",
            "start": edge.start.value,
            "end": edge.end.value,
            "never": [rule for rule in edge.rules if told.how[rule] == "never"],
        }
        if edge.start not in _PLACES or edge.end not in _PLACES:
            continue
        if edge.start is edge.end:
            x, y = _PLACES[edge.start]
            states.append(shown | {"x": x - _WIDE // 2, "y": y - _HIGH // 2, "cx": x, "cy": y})
        else:
            arrows.append(shown | _curve(*_PLACES[edge.start], *_PLACES[edge.end]))
    return {"states": states, "arrows": arrows, "wide": _WIDE, "high": _HIGH}


def _curve(x1: int, y1: int, x2: int, y2: int) -> dict[str, Any]:
    """Return a curve from box to box, and the place of its label; opposite edges bend apart."""
    angle = atan2(y2 - y1, x2 - x1)
    bend = 40 if hypot(x2 - x1, y2 - y1) < 500 else 120
    across = (-sin(angle), cos(angle))
    middle = ((x1 + x2) / 2 + across[0] * -bend, (y1 + y2) / 2 + across[1] * -bend)
    start, end = _edge(x1, y1, *middle), _edge(x2, y2, *middle)
    return {
        "path": f"M{start[0]} {start[1]}Q{middle[0]:.0f} {middle[1]:.0f} {end[0]} {end[1]}",
        "tx": round((start[0] + end[0]) / 4 + middle[0] / 2),
        "ty": round((start[1] + end[1]) / 4 + middle[1] / 2),
    }


def _edge(x: int, y: int, tx: float, ty: float) -> tuple[int, int]:
    """Return where the line from a box's centre leaves the box."""
    dx, dy = tx - x, ty - y
    scale = min(
        (_WIDE / 2 + 5) / abs(dx) if dx else 99.0, (_HIGH / 2 + 5) / abs(dy) if dy else 99.0
    )
    return round(x + dx * scale), round(y + dy * scale)
