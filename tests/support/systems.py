"""Small systems for the tests of the explorer, some of which misbehave."""

from __future__ import annotations

import os
from collections.abc import Iterator

Cell = tuple[int, int]


class Grid:
    """Steps right and up within a square, or none; the way back is barred."""

    def __init__(self, size: int) -> None:
        self.size = size

    def initial(self) -> Iterator[Cell]:
        yield 0, 0

    def successors(self, state: Cell) -> Iterator[tuple[str, Cell]]:
        x, y = state
        if x + 1 < self.size:
            yield "right", (x + 1, y)
        if y + 1 < self.size:
            yield "up", (x, y + 1)
        yield "stay", state


class Raising(Grid):
    """Raises in one state."""

    def __init__(self, size: int, where: Cell, error: Exception) -> None:
        super().__init__(size)
        self.where = where
        self.error = error

    def successors(self, state: Cell) -> Iterator[tuple[str, Cell]]:
        if state == self.where:
            raise self.error
        return super().successors(state)


class Dying(Grid):
    """Ends the process that expands one state, if that is not the one it was made in."""

    def __init__(self, size: int, where: Cell) -> None:
        super().__init__(size)
        self.where = where
        self.home = os.getpid()

    def successors(self, state: Cell) -> Iterator[tuple[str, Cell]]:
        if state == self.where and os.getpid() != self.home:
            os._exit(7)
        return super().successors(state)


class Wide:
    """A root with many children, each with one way to a common end."""

    def __init__(self, width: int) -> None:
        self.width = width

    def initial(self) -> Iterator[int]:
        yield 0

    def successors(self, state: int) -> Iterator[tuple[int, int]]:
        if state == 0:
            yield from ((i, i) for i in range(1, self.width + 1))
        elif state > 0:
            yield 0, -1
