"""Engines that run jobs on many shards: the interface, and the engine of one process.

An engine returns the results in the order of the shards, or merged.  It knows nothing of what the
jobs do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from fencepost.traces.pipeline.corpus.exploring import Frontiers, LocalFrontiers
from fencepost.traces.pipeline.corpus.shard_jobs import Job
from fencepost.traces.pipeline.storage.location import Place

_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Merge:
    """Rows with the same `keys` are one: `sums` are added, of `mins` the least is kept."""

    keys: tuple[str, ...]
    sums: tuple[str, ...]
    mins: tuple[str, ...]


class JobEngine(Protocol):
    """An engine that runs jobs on shards."""

    def each(self, job: Job, shards: Sequence[int]) -> pa.Table:
        """Run a job on each of these shards, and return the tables in their order."""
        ...

    def merged(self, job: Job, shards: Sequence[int], merge: Merge) -> pa.Table:
        """Do the same, with rows merged and in the order of the keys."""
        ...

    def frontiers(self, place: Place) -> Frontiers:
        """Return the levels of an exploration in a place."""
        ...


class LocalEngine:
    """The engine of one process, which runs one shard after the other."""

    def each(self, job: Job, shards: Sequence[int]) -> pa.Table:
        """See JobEngine."""
        tables = [job(number) for number in shards]
        return pa.concat_tables([job.schema.empty_table(), *tables])

    def merged(self, job: Job, shards: Sequence[int], merge: Merge) -> pa.Table:
        """See JobEngine.  No more than a few shards' rows are kept at once."""
        whole = job.schema.empty_table()
        for start in range(0, len(shards), _AT_ONCE):
            tables = [job(number) for number in shards[start : start + _AT_ONCE]]
            whole = _merged(pa.concat_tables([whole, *tables]), merge)
        return whole.sort_by([(key, "ascending") for key in merge.keys])

    def frontiers(self, place: Place) -> Frontiers:
        """See JobEngine."""
        return LocalFrontiers(place)


def _merged(table: pa.Table, merge: Merge) -> pa.Table:
    done = table.group_by(list(merge.keys)).aggregate(list(_aggregations(merge)))
    names = [*(f"{n}_sum" for n in merge.sums), *(f"{n}_min" for n in merge.mins)]
    plain = dict(zip(names, (*merge.sums, *merge.mins), strict=True))
    renamed = done.rename_columns([plain.get(name, name) for name in done.column_names])
    return renamed.select(table.column_names).cast(table.schema)


def _aggregations(merge: Merge) -> Iterator[tuple[str, str]]:
    yield from ((name, "sum") for name in merge.sums)
    yield from ((name, "min") for name in merge.mins)
