"""Jobs on one shard, which every engine runs.

A job knows the corpus and its place; called with the number of a shard it returns a small table.
What it writes is named after the shard, so doing a job twice gives one result.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.traces.pipeline.corpus.corpus import Recipe, Shard
from fencepost.traces.pipeline.corpus.corpus_tables import DONE, OUTCOMES, TRACES, VERDICTS
from fencepost.traces.pipeline.corpus.draw import trace_row
from fencepost.traces.pipeline.corpus.verdicts import checker
from fencepost.traces.pipeline.storage.location import Place
from fencepost.traces.pipeline.storage.manifest import CorpusError

MANIFEST = "corpus.json"
TRACES_FOLDER = "traces"


class Job(Protocol):
    """A job on a shard.  It must be picklable, since it is sent to workers."""

    @property
    def schema(self) -> pa.Schema:
        """The schema of the tables that it returns."""
        ...

    def __call__(self, number: int) -> pa.Table:
        """Do it to the shard of this number."""
        ...


@dataclass(frozen=True)
class Corpus:
    """A corpus: its recipe, and the place of its traces."""

    place: Place
    recipe: Recipe

    @cached_property
    def shards(self) -> list[Shard]:
        """Every shard, by its number."""
        return self.recipe.shards()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the list of shards, which is made again where it is needed."""
        return {"place": self.place, "recipe": self.recipe}

    def table(self, shard: Shard, columns: list[str] | None = None) -> pa.Table:
        """Read the traces of a shard.  Raises CorpusError if they are missing."""
        name = f"{TRACES_FOLDER}/{shard.file}"
        try:
            return self.place.read(name, columns)
        except (OSError, pa.ArrowInvalid) as error:
            raise CorpusError(
                f"{self.place.full(name)} can't be read ({error}); generate the corpus again"
            ) from error

    def written(self, folder: str) -> set[int]:
        """Return the numbers of the shards that a folder has."""
        there = self.place.names(folder)
        return {shard.number for shard in self.shards if shard.file in there}

    def present(self) -> list[int]:
        """Return the shards to work on.  Raises CorpusError if some are missing."""
        there = self.written(TRACES_FOLDER)
        missing = len(self.shards) - len(there)
        if missing and not self.recipe.part:
            raise CorpusError(
                f"{self.place}: {missing} of {len(self.shards)} shards are missing; "
                "run `corpus generate` with the same options again"
            )
        return sorted(there)


@dataclass(frozen=True)
class GenerateJob:
    """Draws the traces of a shard and writes them."""

    corpus: Corpus
    schema = DONE

    def __call__(self, number: int) -> pa.Table:
        """Write the shard; return its number and the number of its rows."""
        shard = self.corpus.shards[number]
        name, seed = shard.source.name, self.corpus.recipe.seed
        with unwatched():
            rows = [trace_row(name, seed, trace) for trace in shard.traces]
            table = pa.Table.from_pylist(rows, schema=TRACES)
        self.corpus.place.write(f"{TRACES_FOLDER}/{shard.file}", table)
        return _done(number, len(table))


@dataclass(frozen=True)
class CheckJob:
    """Judges the traces of a shard by a revision and writes the verdicts."""

    corpus: Corpus
    judge: str
    schema = DONE

    @property
    def folder(self) -> str:
        """Where the verdicts of this judge are."""
        return verdicts_folder(self.judge)

    def __call__(self, number: int) -> pa.Table:
        """Write the shard; return its number and the number of its rows."""
        shard = self.corpus.shards[number]
        with unwatched():
            judged = checked(self.corpus.table(shard), checker(self.judge).row)
        self.corpus.place.write(f"{self.folder}/{shard.file}", judged)
        return _done(number, len(judged))


def verdicts_folder(judge: str) -> str:
    """Return where the verdicts of a revision are."""
    return f"verdicts/judge={judge}"


def checked(traces: pa.Table, check: Callable[[dict[str, Any]], dict[str, Any]]) -> pa.Table:
    """Return the verdict of each trace, in their order.  Raises ValueError if one is lost."""
    turns = pc.list_value_length(traces["turns"])  # how they were made is nothing to a judge
    short = traces.set_column(traces.schema.get_field_index("turns"), "turns", turns)
    rows = [check(row) for row in rows_of(short)]
    if [row["trace"] for row in rows] != traces.column("trace").to_pylist():
        raise ValueError("the verdicts are not those of the traces")
    return pa.Table.from_pylist(rows, schema=VERDICTS)


def rows_of(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table, not all of them at once."""
    for batch in table.to_batches(max_chunksize=200):
        yield from batch.to_pylist()


def _done(number: int, rows: int) -> pa.Table:
    return pa.Table.from_pylist([{"shard": number, "rows": rows}], schema=DONE)


@contextmanager
def unwatched() -> Iterator[None]:
    """Turn the cyclic garbage collector off, which would visit the model's caches again.

    What is left at the end is looked at once, and never again.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.collect()
        gc.freeze()
        if was:
            gc.enable()


@dataclass(frozen=True)
class CountOutcomesJob:
    """Counts the outcomes of a shard."""

    corpus: Corpus
    judge: str
    schema = OUTCOMES

    def __call__(self, number: int) -> pa.Table:
        """Return a row for each outcome, as `schema.OUTCOMES` says."""
        shard = self.corpus.shards[number]
        name = f"{verdicts_folder(self.judge)}/{shard.file}"
        verdicts = self.corpus.place.read(name, ["outcome"])
        source = {"revision": shard.source.revision, "mutant": shard.source.mutant}
        rows = [
            {**source, "outcome": outcome, "traces": traces}
            for outcome, traces in sorted(Counter(verdicts["outcome"].to_pylist()).items())
        ]
        return pa.Table.from_pylist(rows, schema=OUTCOMES)
