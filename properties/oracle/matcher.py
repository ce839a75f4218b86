"""Hold one comparison of an answer with the model's: what it binds, and where it deviates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from fencepost.model.messages.errors import error_name
from fencepost.model.messages.shapes import Message
from fencepost.model.table.table import LEVELS, Level

FRESH = "\x00"
"""Prefix of ids that the model made up; no id on a wire has it."""


class Deviation(msgspec.Struct, frozen=True):
    """A field that differs although the history stays possible; `rule`: the rule that answers."""

    level: Level
    field: str
    expected: Any
    observed: Any
    rule: str = ""

    def __str__(self) -> str:
        """Return the deviation as a report has it."""
        if self.field.endswith("errorCode"):
            return (
                f"{self.field} {error_name(self.observed)} instead of {error_name(self.expected)}"
            )
        return f"{self.field} {self.observed!r} instead of {self.expected!r}"


@dataclass(slots=True)
class Match:
    """One way in which an answer matches.

    `bindings`: made-up ids and the real ones; `shift`: the generation from which on the target
    counts differently, and the difference.
    """

    bindings: dict[str, str] = field(default_factory=dict)
    shift: tuple[int, int] | None = None
    deviations: list[Deviation] = field(default_factory=list)


class NoMatchError(Exception):
    """The answers can't be equal.  `args[0]`: the field that differs."""


class Matcher:
    """One comparison of an answer with the model's.

    `unordered`: the coordinator encodes assignments itself, so their order means nothing.  `last`:
    the last answer with an assignment to the same member, unless it has just joined.
    """

    def __init__(
        self,
        level: Level,
        known_ids: frozenset[str],
        last_generation: int,
        *,
        unordered: bool = False,
        last: Message | None = None,
    ) -> None:
        self.unordered = unordered
        self.last = last
        self.level = level
        self.known_ids = known_ids
        self.last_generation = last_generation
        self.match = Match()

    def differs(self, name: str, expected: Any, observed: Any) -> None:
        """Give the comparison up: a field differs."""
        raise NoMatchError(name, expected, observed)

    def same(self, name: str, expected: Any, observed: Any) -> None:
        """Give the comparison up, if a field differs."""
        if expected != observed:
            self.differs(name, expected, observed)

    def nearly(self, name: str, expected: Any, observed: Any, level: Level) -> None:
        """Note a deviation, if a field differs."""
        if expected != observed:
            lesser = max(level, self.level, key=LEVELS.index)  # never graver than the rule
            self.match.deviations.append(Deviation(lesser, name, expected, observed))

    def news(self, name: str, expected: Any, observed: Any, last: Any) -> None:
        """Compare assignments, where null stands for the last one again.

        Both leave the member in the same state.  But a member that asks for its assignment is to
        get it.
        """
        if last is not None and expected is None and observed == last:
            self.nearly(name, expected, observed, Level.MAY)
        elif last is not None and observed is None and expected == last:
            self.nearly(name, expected, observed, Level.SHOULD)
        else:
            self.same(name, expected, observed)

    def member_id(self, name: str, expected: str, observed: str) -> None:
        """Compare ids: equal, or a made-up one that is bound to its real one, which must be new."""
        if expected.startswith(FRESH):
            expected = self.match.bindings.get(expected, expected)
        if not expected.startswith(FRESH):
            self.same(name, expected, observed)
        elif not observed or observed in self.known_ids or observed in self.match.bindings.values():
            self.differs(name, "a new id", observed)
        else:
            self.match.bindings[expected] = observed

    def generation(self, expected: int, observed: int, name: str = "generationId") -> None:
        """Compare generations, or epochs: equal; or higher than any before, in the first answer.

        The exact increment doesn't count: members compare for equality.
        """
        shift = self.match.shift
        if shift is not None and expected >= shift[0]:
            expected += shift[1]
        if expected == observed:
            return
        if shift is not None or min(expected, observed) <= self.last_generation:
            self.differs(name, expected, observed)
        self.match.shift = (expected, observed - expected)
        self.nearly(name, expected, observed, Level.MAY)

    def error(self, name: str, expected: Any, observed: Any) -> bool:
        """Compare errors; one error for another is a deviation as severe as the rule."""
        if (expected == 0) is not (observed == 0):
            self.differs(name, expected, observed)
        self.nearly(name, expected, observed, self.level)
        return bool(expected == 0)
