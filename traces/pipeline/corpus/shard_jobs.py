"""Define the jobs on one shard, which every engine runs: make, judge and count traces.

A job knows the corpus and its place; called with the number of a shard it returns a small table.
Its files are named after the shard, so doing a job twice gives one result.

A trace is judged by the oracle, and by the properties of answers and explanations.  It is violated
if no run of the judge's revision gives its answers, or if a property that the revision keeps is
broken: by the answers themselves, or in every state that explains them.  If a checker fails on a
trace, the row of that trace holds the error; other traces are not affected.

An engine runs jobs on many shards, and returns the results in the order of the shards, or merged.
It knows nothing of what the jobs do.  Here is its interface, and the engine of one process.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.model.classic.group import Group
from fencepost.model.history.events import Event
from fencepost.model.revision import Revision
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.properties.checking.evaluator import excused_rules
from fencepost.properties.claims.history_index import Reading
from fencepost.properties.claims.property_registry import PROPERTIES
from fencepost.properties.logic.formula_closure import Closure
from fencepost.properties.logic.logic import Property, PropertyKind
from fencepost.properties.oracle.fingerprint import fingerprint_of
from fencepost.properties.oracle.oracle import Oracle
from fencepost.properties.oracle.verdict import Verdict
from fencepost.properties.worlds.abstraction import AbstractGroup, abstract_group, compiled
from fencepost.traces.pipeline.corpus.corpus import (
    DONE,
    OUTCOMES,
    TRACES,
    VERDICTS,
    Recipe,
    Shard,
    trace_row,
)
from fencepost.traces.pipeline.corpus.exploring import Frontiers, LocalFrontiers
from fencepost.traces.pipeline.storage.location import CorpusError, Place
from fencepost.traces.pipeline.storage.trace_rows import Row, events_of

HOLDS, VIOLATED, UNKNOWN, ERROR = "holds", "violated", "unknown", "error"
PROPERTY = "PROPERTY"
"""The kind of fault of a trace whose answers a model gives, and which breaks a property."""
_SAYING = 500
"""The most characters of an error that are kept."""
_REMEMBERED = 100_000
"""The most states in the cache, each with the properties that it breaks."""


class Checker:
    """Checks traces against a revision: its answers, and the properties that it always keeps."""

    def __init__(self, revision: Revision) -> None:
        self.revision = revision
        kept = [p for p in PROPERTIES.values() if excused_rules(p, revision) == frozenset()]
        self._of_answers = [p for p in kept if p.kind is PropertyKind.HISTORY]
        self._of_groups: list[tuple[Property, Closure]] = [
            (p, compiled(p.formula))
            for p in kept
            if p.kind is PropertyKind.STATE and p.formula is not None
        ]
        self._known: dict[AbstractGroup, frozenset[str]] = {}

    def row(self, trace: Mapping[str, Any]) -> Row:
        """Return the verdict of a trace as a row, or the error.  `turns`: their number."""
        row: Row = {"trace": trace["trace"], "turns": trace["turns"]}
        try:
            return row | self.judge(trace)
        except Exception as error:  # noqa: BLE001  (that is what the row is to say)
            return row | {
                "outcome": ERROR,
                "rule": "",
                "wrong": type(error).__name__,
                "message": f"{type(error).__name__}: {error}"[:_SAYING],
            }

    def judge(self, trace: Mapping[str, Any]) -> Row:
        """Judge a trace.  Raises the errors of its rows, and of the oracle."""
        events = events_of(trace["steps"])
        oracle = Oracle(self.revision, dict(trace["config"]), lag_ms=trace["lag_ms"])
        broken: set[str] = set()
        earlier: tuple[object, ...] = ()
        for event in events:
            oracle.observe(event)
            explanations = oracle.explanations()
            groups = tuple([c.groups for c in explanations])
            if groups and groups != earlier:
                earlier = groups
                broken |= frozenset.intersection(*map(self._of_explanation, groups))
        reading = Reading(events)
        broken |= {p.id for p in self._of_answers if p.holds and p.holds(reading) is not None}
        return self._row(oracle.verdict(), events, sorted(broken))

    def _of_explanation(self, groups: tuple[tuple[str, Group], ...]) -> frozenset[str]:
        """Return the properties that a state of the model breaks."""
        broken: frozenset[str] = frozenset()
        for _, group in groups:
            abstract = abstract_group(group)
            wrong = self._known.get(abstract)
            if wrong is None:
                if len(self._known) >= _REMEMBERED:
                    self._known.clear()
                wrong = self._known[abstract] = frozenset(
                    p.id for p, holds in self._of_groups if not holds(abstract, abstract, None)
                )
            broken |= wrong
        return broken

    def _row(self, verdict: Verdict, events: list[Event], broken: list[str]) -> Row:
        violation = verdict.violation
        if violation is None:
            outcome = HOLDS if verdict.unknown is None else UNKNOWN
            first = f"{broken[0]}: {PROPERTIES[broken[0]].meaning}" if broken else ""
            return {
                "outcome": VIOLATED if broken else outcome,
                "rule": "",
                "wrong": PROPERTY if broken else None,
                "seen": ", ".join(broken),
                "broken": broken,
                "message": first or verdict.unknown or "",
            }
        fingerprint = fingerprint_of(violation, self.revision, events)
        return {
            "outcome": VIOLATED,
            "level": violation.level.value,
            "rule": fingerprint.rule,
            "api": fingerprint.api,
            "wrong": fingerprint.wrong,
            "seen": fingerprint.answer_kind,
            "request": violation.request_id,
            "decided_by": list(violation.decided_by),
            "broken": broken,
            "message": violation.detail,
        }


@cache
def checker(revision: str) -> Checker:
    """Make the checker of a revision, by its name.  Raises KeyError."""
    return Checker(find_revision(revision))


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
        """Leave out the list of shards, which is made again when needed."""
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
        return done_table(number, len(table))


@dataclass(frozen=True)
class CheckJob:
    """Judges the traces of a shard by a revision and writes the verdicts."""

    corpus: Corpus
    judge: str
    schema = DONE

    @property
    def folder(self) -> str:
        """Folder of this judge's verdicts."""
        return verdicts_folder(self.judge)

    def __call__(self, number: int) -> pa.Table:
        """Write the shard; return its number and the number of its rows."""
        shard = self.corpus.shards[number]
        with unwatched():
            judged = checked(self.corpus.table(shard), checker(self.judge).row)
        self.corpus.place.write(f"{self.folder}/{shard.file}", judged)
        return done_table(number, len(judged))


def verdicts_folder(judge: str) -> str:
    """Return the folder of a revision's verdicts."""
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


def done_table(number: int, rows: int) -> pa.Table:
    """Return the result of a job that wrote its rows to a file."""
    return pa.Table.from_pylist([{"shard": number, "rows": rows}], schema=DONE)


@contextmanager
def unwatched() -> Iterator[None]:
    """Turn the cyclic garbage collector off, which would visit the model's caches again.

    Objects that are left at the end are looked at once, and never again.
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
