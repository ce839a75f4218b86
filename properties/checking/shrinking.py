"""Make a list shorter that still shows something, always in the same way.

Decides when to stop: when leaving out any one item, or any two, or putting a simpler one in the
place of any, no longer shows it.  Deterministic, whatever found the list: the same list shrinks to
the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Generic, TypeVar

T = TypeVar("T")

Shows = Callable[[Sequence[T]], Sequence[T] | None]
"""A list → what of it shows it (a part of it, or all), or None if it doesn't."""


def shrunk(
    items: Sequence[T],
    shows: Shows[T],
    simpler: Callable[[T], Iterator[T]] = lambda _: iter(()),
    *,
    attempts: int = 5_000,
) -> tuple[T, ...]:
    """The list, as short and simple as such steps make it.

    `simpler`: what may stand in an item's place, the simplest first; it must not go round in
    circles.  `attempts`: how often `shows` is asked at most.  A list that doesn't show anything
    comes back as it is.
    """
    first = shows(items)
    if first is None:
        return tuple(items)
    return _Shrinking(tuple(first), shows, simpler, attempts).run()


class _Shrinking(Generic[T]):
    """One shrinking under way; `best` always shows it."""

    def __init__(
        self,
        best: tuple[T, ...],
        shows: Shows[T],
        simpler: Callable[[T], Iterator[T]],
        attempts: int,
    ) -> None:
        self.best = best
        self.shows = shows
        self.simpler = simpler
        self.left = attempts
        self.tried: set[tuple[T, ...]] = {best}

    def run(self) -> tuple[T, ...]:
        progress = True
        while progress and self.left > 0:
            progress = self.shorter() or self.without_two() or self.plainer()
        return self.best

    def take(self, candidate: tuple[T, ...]) -> bool:
        """Whether a candidate shows it too; then it is the best."""
        if candidate in self.tried or self.left <= 0:
            return False
        self.tried.add(candidate)
        self.left -= 1
        found = self.shows(candidate)
        if found is None:
            return False
        self.best = tuple(found)
        return True

    def shorter(self) -> bool:
        """Leave out halves, quarters and so on, down to single items."""
        began = self.best
        size = max(1, len(self.best) // 2)
        while size:
            place = len(self.best) - size
            while place >= 0 and self.left > 0:
                self.take((*self.best[:place], *self.best[place + size :]))
                place = min(place - 1, len(self.best) - size)
            size //= 2
        return self.best != began

    def without_two(self) -> bool:
        """Leave out two items that need one another."""
        for i, j in combinations(range(len(self.best)), 2):
            if self.left <= 0:
                return False
            if self.take((*self.best[:i], *self.best[i + 1 : j], *self.best[j + 1 :])):
                return True
        return False

    def plainer(self) -> bool:
        """Put a simpler item in some place."""
        for place, item in enumerate(self.best):
            for plain in self.simpler(item):
                if self.take((*self.best[:place], plain, *self.best[place + 1 :])):
                    return True
        return False
