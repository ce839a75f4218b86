"""Levels of an exploration in one process: what is known is kept in memory, too."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from fencepost.traces.pipeline.corpus.exploring import WORLDS, Bounds, expanded, level_name
from fencepost.traces.pipeline.storage.location import Place

_FILE = "part-0.parquet"


class LocalFrontiers:
    """Levels in a place."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._known: set[str] | None = None

    def begin(self, worlds: Iterable[str]) -> int:
        """See Frontiers."""
        return self._write(0, list(worlds))

    def next(self, depth: int, states: int, bounds: Bounds) -> tuple[int, int, tuple[str, ...]]:
        """See Frontiers."""
        del states
        if self._known is None:
            self._known = {text for level in range(depth + 1) for text in self._read(level)}
        known = self._known
        found = expanded(bounds, self._read(depth))
        reached = found.column("world").to_pylist()
        wrong = tuple(name for name in found.column("broken").to_pylist() if name is not None)
        fresh = [text for text in reached if text and text not in known]
        known.update(fresh)
        return self._write(depth + 1, fresh), sum(found.column("ways").to_pylist()), wrong

    def _read(self, depth: int) -> list[str]:
        table = self.place.read(f"{level_name(depth)}/{_FILE}")
        texts: list[str] = table.column("world").to_pylist()
        return texts

    def _write(self, depth: int, worlds: list[str]) -> int:
        table = pa.table({"world": worlds}, schema=WORLDS)
        self.place.write(f"{level_name(depth)}/{_FILE}", table)
        return len(worlds)
