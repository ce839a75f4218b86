"""Keep lines of the log about groups, for those who look at one rebalance.

Of a rebalance: the lines from its cause to its assignment, and the members that it led to.  Memory
is limited: of a long log the first lines are kept, as of its rebalances.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter

from fencepost.traces.operations.operator_rows import Rebalance

_MOST = 50_000
_DISPLAYED = 12
"""Greatest number of lines of a rebalance."""
_LONGEST = 500
"""Characters of a line."""
_BEFORE_MS = 5_000
"""Time before a rebalance in which a line is about its cause: a member got an id, or left."""
_NAMES = 60


@dataclass(frozen=True, slots=True)
class GroupLine:
    """A line about a group; `ends`: it ends a rebalance."""

    at_ms: int
    place: str
    says: str
    ends: bool


@dataclass(slots=True)
class _Generation:
    """The members of a generation: names by member id, or by instance id."""

    generation: int
    at_ms: int
    members: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RebalanceLines:
    """The lines of a rebalance, and the members that it led to.

    `more`: number of lines that are left out; `came`, `gone`: members that the generation before
    lacked, or that it had and this one lacks; None where one of them is not in the log.
    """

    lines: tuple[GroupLine, ...]
    more: int
    members: tuple[str, ...]
    came: tuple[str, ...] | None
    gone: tuple[str, ...] | None


class GroupLines:
    """The first lines about groups, in the order of their times."""

    def __init__(self) -> None:
        self._left = _MOST
        self._lines: dict[str, list[GroupLine]] = {}
        self._generations: dict[str, list[_Generation]] = {}
        self._is_sorted = True

    def add(self, group: str, at_ms: int, place: str, says: str, *, ends: bool) -> None:
        """Add a line about a group."""
        if self._left <= 0:
            return
        self._left -= 1
        self._is_sorted = False
        line = GroupLine(at_ms, place, _cut(says.strip()), ends)
        self._lines.setdefault(group, []).append(line)

    def add_members(
        self, group: str, generation: int, at_ms: int, members: Iterable[tuple[str, str]]
    ) -> None:
        """Add members of a generation: ids and names."""
        if self._left <= 0:
            return
        known = self._generations.setdefault(group, [])
        if not known or known[-1].generation != generation:
            known.append(_Generation(generation, at_ms))
        known[-1].members.update(members)

    def of(self, row: Rebalance) -> RebalanceLines:
        """Return the lines and the members of a rebalance."""
        if not self._is_sorted:
            for each in self._lines.values():
                each.sort(key=attrgetter("at_ms"))
            self._is_sorted = True
        lines = self._between(row)
        more = len(lines) - _DISPLAYED
        if more > 0:
            lines = [*lines[: _DISPLAYED - 2], *lines[-2:]]
        known = self._generations.get(row.group, [])
        at = min(
            (n for n, each in enumerate(known) if each.generation == row.generation),
            key=lambda n: abs(known[n].at_ms - row.completed_ms),
            default=None,
        )
        if at is None:
            return RebalanceLines(tuple(lines), max(more, 0), (), None, None)
        now, before = known[at].members, known[at - 1].members if at else None
        is_next = at > 0 and known[at - 1].generation == row.generation - 1
        came = gone = None
        if before is not None and is_next:
            came = _names(name for key, name in now.items() if key not in before)
            gone = _names(name for key, name in before.items() if key not in now)
        return RebalanceLines(tuple(lines), max(more, 0), _names(now.values()), came, gone)

    def _between(self, row: Rebalance) -> list[GroupLine]:
        """Return the lines from the cause of a rebalance to its assignment."""
        lines = self._lines.get(row.group, [])
        first = bisect_left(lines, row.start_ms, key=attrgetter("at_ms"))
        placed = (n for n in range(first, len(lines)) if lines[n].place == row.place)
        if (at := next(placed, None)) is not None and lines[at].at_ms == row.start_ms:
            first = at  # lines of one ms may be about the rebalance before
        begin = first
        while begin > 0:
            line = lines[begin - 1]
            if line.ends or line.at_ms < row.start_ms - _BEFORE_MS:
                break
            begin -= 1
        until_ms = row.completed_ms if row.stable_ms is None else row.stable_ms
        end = first
        while end < len(lines) and lines[end].at_ms <= until_ms:
            end += 1
            if lines[end - 1].ends and lines[end - 1].at_ms >= row.completed_ms:
                break
        return lines[begin:end]


def _names(names: Iterable[str]) -> tuple[str, ...]:
    """Return names in order, those of several members with their number."""
    counts = Counter(names)
    texts = [
        name if count == 1 else f"{name} ({count:,})" for name, count in sorted(counts.items())
    ]
    more = len(texts) - _NAMES
    return tuple(texts) if more <= 0 else (*texts[:_NAMES], f"and {more:,} more")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
