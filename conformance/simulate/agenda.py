"""What is to happen, in an order that depends on nothing but what it is."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from enum import IntEnum


class Turn(IntEnum):
    """What of one client comes first at one ms."""

    READ = 0
    WAKE = 1
    ARRIVE = 2


Key = tuple[int, str, int, int]
"""The order of what happens: when, to whom, the stage, the number of the request."""
AFTER_ALL = "\U0010ffff"
"""Behind every client's name."""


class Agenda:
    """What is to happen; what has the same key comes in the order in which it was put down."""

    def __init__(self) -> None:
        self._due: list[tuple[Key, int, Callable[[], object]]] = []
        self._order = itertools.count()

    def put(self, key: Key, do: Callable[[], object]) -> None:
        """Note what is to be done."""
        heapq.heappush(self._due, (key, next(self._order), do))

    def next_ms(self) -> int | None:
        """When something happens next."""
        return self._due[0][0][0] if self._due else None

    def take(self) -> tuple[Key, Callable[[], object]]:
        """Take what happens next off the agenda."""
        key, _, do = heapq.heappop(self._due)
        return key, do
