"""The table of `docs/findings/history.md`, as data: tests compare real brokers with this page."""

from __future__ import annotations

import re
from dataclasses import dataclass

from support.places import ROOT

PAGE = ROOT / "docs" / "findings" / "history.md"
_TICKS = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True)
class Row:
    """A bug: which case shows it where, and where it is gone.

    `observed`: any of these; `judge`: the revision that judges, if not the target's own; `gone`:
    None if it is still there.
    """

    bug: str
    case: str
    target: str
    judge: str | None
    observed: tuple[str, ...]
    gone: str | None


def rows() -> list[Row]:
    """All rows of the page's table."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    return [_row(*row) for row in cells if len(row) == 6 and _TICKS.search(row[2])]


def _row(bug: str, _what: str, case: str, seen: str, observed: str, gone: str) -> Row:
    target, *judge = _TICKS.findall(seen)
    fixed = _TICKS.findall(gone)
    return Row(
        bug,
        _TICKS.findall(case)[0],
        target,
        judge[0] if judge else None,
        tuple(_TICKS.findall(observed)),
        fixed[0] if fixed else None,
    )
