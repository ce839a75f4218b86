"""Shrink a list: the shortest that still fails, found in the same way each time.

It ends when no item and no two items can be left out, and no item can be replaced by a simpler one.
The same list shrinks to the same result.  Test plans have more ways to become smaller, and are
shrunk side by side: see `conformance.search.shrink.shrink_plan`, which leaves out steps by the
functions here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Generic, TypeVar

T = TypeVar("T")

Shows = Callable[[Sequence[T]], Sequence[T] | None]
"""A list → what of it shows it (a part of it, or all), or None if it doesn't."""


def without(items: Sequence[T], start: int, stop: int) -> tuple[T, ...]:
    """The items but for those from `start` up to, and not including, `stop`."""
    return (*items[:start], *items[stop:])


def without_runs(items: Sequence[T], size: int) -> Iterator[tuple[T, ...]]:
    """The items without each run of so many, which don't overlap; the last run first."""
    for stop in range(len(items), 0, -size):
        yield without(items, max(0, stop - size), stop)


def without_pairs(items: Sequence[T]) -> Iterator[tuple[T, ...]]:
    """The items without each two of them, the first two first."""
    for one, two in combinations(range(len(items)), 2):
        yield (*items[:one], *items[one + 1 : two], *items[two + 1 :])


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
                self.take(without(self.best, place, place + size))
                place = min(place - 1, len(self.best) - size)
            size //= 2
        return self.best != began

    def without_two(self) -> bool:
        """Leave out two items that need one another."""
        for shorter in without_pairs(self.best):
            if self.left <= 0:
                return False
            if self.take(shorter):
                return True
        return False

    def plainer(self) -> bool:
        """Put a simpler item in some place."""
        for place, item in enumerate(self.best):
            for plain in self.simpler(item):
                if self.take((*self.best[:place], plain, *self.best[place + 1 :])):
                    return True
        return False
