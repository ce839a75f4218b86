"""Triage: violations that are one, the smallest of each, made smaller, as trace files.

Violations with one fingerprint are a group; of a group the shortest trace is taken, of several the
first, and acts are left out as long as the verdict has the same fingerprint.  A checker that failed
is a group by its error, and is reported as it is.

Run the pipeline's commands: which jobs, on which shards, with which engine.

A shard that is written is done, so a command that was killed continues when it is run again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.model.revisions.revisions import find as find_revision
from fencepost.properties.checking.random_walk import Walk, WalkChoice, simpler
from fencepost.properties.checking.shrinking import Reproducer, shrink_items
from fencepost.properties.oracle.fingerprint import Fingerprint
from fencepost.properties.worlds.classic_worlds import CLASSIC_WORLDS
from fencepost.traces.files.run_trace import run_trace
from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.pipeline.corpus import corpus_coverage
from fencepost.traces.pipeline.corpus.corpus import (
    GROUPS,
    SCOPES,
    Recipe,
    Shard,
    choices_of,
    ground,
    row_of,
)
from fencepost.traces.pipeline.corpus.shard_jobs import (
    ERROR,
    MANIFEST,
    PROPERTY,
    TRACES_FOLDER,
    VIOLATED,
    CheckJob,
    Corpus,
    CountOutcomesJob,
    GenerateJob,
    JobEngine,
    Merge,
    checker,
    rows_of,
    verdicts_folder,
)
from fencepost.traces.pipeline.storage.location import CorpusError, Place
from fencepost.traces.pipeline.storage.trace_rows import Row

_FINGERPRINT = ("rule", "api", "wrong", "seen")
ALIKE = ("outcome", *_FINGERPRINT)
MERGE = Merge(ALIKE, ("traces",), ("smallest", "message"))
_NUMBERS = 1 << 40
_TRIES = 2_000
_LONGEST_NAME = 120
_COLUMNS = ["trace", *ALIKE, "message", "turns"]

Choices = tuple[WalkChoice, ...]


@dataclass(frozen=True)
class Groups:
    """Groups the violations of a shard."""

    corpus: Corpus
    judge: str
    schema = GROUPS

    def __call__(self, number: int) -> pa.Table:
        """Return a row for each group, as `schema.GROUPS` says."""
        shard = self.corpus.shards[number]
        name = f"{verdicts_folder(self.judge)}/{shard.file}"
        verdicts = self.corpus.place.read(name, _COLUMNS)
        bad = verdicts.filter(pc.is_in(verdicts["outcome"], pa.array([VIOLATED, ERROR])))
        count: Counter[tuple[str, ...]] = Counter()
        smallest: dict[tuple[str, ...], int] = {}
        message: dict[tuple[str, ...], str] = {}
        for row in rows_of(bad):
            key = row["outcome"], *_words(row)
            count[key] += 1
            size = row["turns"] * _NUMBERS + row["trace"]
            smallest[key] = min(size, smallest.get(key, size))
            message[key] = min(row["message"], message.get(key, row["message"]))
        rows = [
            dict(zip(ALIKE, key, strict=True))
            | {"traces": count[key], "smallest": smallest[key], "message": message[key]}
            for key in sorted(count)
        ]
        return pa.Table.from_pylist(rows, schema=GROUPS)


@dataclass(frozen=True, slots=True)
class Drawn:
    """The acts of a trace, and their clients."""

    model: str
    scope: int
    choices: Choices

    def walk(self) -> Walk:
        """Return the walk of these acts, as far as they can be done."""
        walk = Walk(ground(self.model, self.scope))
        for choice in self.choices:
            walk.take(choice)
        return walk


@dataclass(frozen=True, slots=True)
class Triaged:
    """A group with its smallest trace.

    `outcome`: violated, or failed where the checker failed; `fingerprint`: of the violation, or the
    error in `wrong`; `traces`: the number of traces in the group; `trace`: the number of the
    smallest; `model`: its model; `turns`: its length, before and now; `file`: None where the
    checker failed.
    """

    outcome: str
    fingerprint: Fingerprint
    traces: int
    trace: int
    model: str
    message: str
    turns: tuple[int, int]
    file: TraceFile | None

    @property
    def name(self) -> str:
        """Name of its file, without the suffix."""
        plain = re.sub(r"[^A-Za-z0-9]+", "-", str(self.fingerprint))
        return plain.strip("-")[:_LONGEST_NAME] or ERROR

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        known = self.fingerprint
        return {
            "outcome": self.outcome,
            "rule": known.rule,
            "api": known.api,
            "wrong": known.wrong,
            "seen": known.answer_kind,
            "traces": self.traces,
            "smallest": self.trace,
            "model": self.model,
            "turns": self.turns[0],
            "turns_shrunk": self.turns[1],
            "message": self.message,
        }


def triaged(corpus: Corpus, judged_by: str, groups: pa.Table) -> list[Triaged]:
    """Each group's smallest trace, made smaller.  The most frequent group comes first."""
    groups_ = [_triaged(corpus, judged_by, row) for row in rows_of(groups)]
    return sorted(groups_, key=lambda group: (-group.traces, group.outcome, group.fingerprint))


def _triaged(corpus: Corpus, judged_by: str, group: Row) -> Triaged:
    turns, number = divmod(group["smallest"], _NUMBERS)
    shard = _shard_of(corpus, number)
    fingerprint = Fingerprint(*_words(group))
    before = after = turns
    file = None
    if group["outcome"] == VIOLATED:
        table = corpus.table(shard)
        row = next(rows_of(table.filter(pc.equal(table["trace"], number))))
        begun = Drawn(shard.source.name, row["scope"], choices_of(row["turns"]))
        small = smaller(begun, judged_by, fingerprint)
        after = len(small.choices)
        walk = small.walk()
        file = run_trace(
            walk.context.worlds,
            walk.run(),
            judged_by=find_revision(judged_by),
            message=group["message"] if fingerprint.wrong == PROPERTY else "",
            provenance={"seed": corpus.recipe.seed, "trace": number},
        )
    return Triaged(
        group["outcome"],
        fingerprint,
        group["traces"],
        number,
        shard.source.name,
        group["message"],
        (before, after),
        file,
    )


def _words(row: Row) -> tuple[str, str, str, str]:
    """Return the columns of a fingerprint, "" for null."""
    rule, api, wrong, observed = (row.get(name) or "" for name in _FINGERPRINT)
    return rule, api, wrong, observed


def _shard_of(corpus: Corpus, number: int) -> Shard:
    for shard in corpus.shards:
        if number in shard.traces:
            return shard
    raise CorpusError(f"{corpus.place}: no shard has trace {number}; make the corpus anew")


def smaller(begun: Drawn, judged_by: str, fingerprint: Fingerprint) -> Drawn:
    """Return the same with acts as few and simple as still have a verdict with this fingerprint."""

    def shows(tried: Choices) -> Reproducer[Choices, Walk] | None:
        walk = replace(begun, choices=tried).walk()
        verdict = checker(judged_by).row(row_of(walk, begun.scope) | {"turns": len(tried)})
        is_same = verdict["outcome"] == VIOLATED and Fingerprint(*_words(verdict)) == fingerprint
        return Reproducer(tuple(walk.choices), walk) if is_same else None

    plain = partial(
        simpler, kinds=CLASSIC_WORLDS.drawing.kinds, clients=SCOPES[begun.scope].clients
    )
    shortest = shrink_items(begun.choices, shows, plain, tries=_TRIES)
    return begun if shortest is None else replace(begun, choices=shortest.value)


@dataclass(frozen=True, slots=True)
class ShardsDone:
    """The work of a run: shards and rows made now, and shards that were there before."""

    shards: int
    rows: int
    shards_before: int


def open_corpus(place: Place) -> Corpus:
    """Open the corpus in a folder.  Raises CorpusError."""
    text = place.read_text(MANIFEST)
    if text is None:
        raise CorpusError(f"{place} holds no {MANIFEST}; give a folder that `generate` made")
    return Corpus(place, Recipe.from_text(text, place.full(MANIFEST)))


def generate_corpus(engine: JobEngine, place: Place, recipe: Recipe) -> ShardsDone:
    """Generate a corpus, or its missing part.  Raises CorpusError if another one is there."""
    known = place.read_text(MANIFEST)
    if known is None:
        place.write_text(MANIFEST, recipe.text())
    elif known != recipe.text():
        raise CorpusError(
            f"{place} holds a corpus of other options or another fencepost "
            f"({' '.join(known.split())}); choose another folder"
        )
    corpus = Corpus(place, recipe)
    return _ran(engine, corpus, GenerateJob(corpus), TRACES_FOLDER, range(len(corpus.shards)))


def check_corpus(engine: JobEngine, corpus: Corpus, judged_by: str) -> ShardsDone:
    """Judge the traces that are not judged yet.  Raises CorpusError if traces are missing."""
    present = corpus.present()
    return _ran(engine, corpus, CheckJob(corpus, judged_by), verdicts_folder(judged_by), present)


def _ran(
    engine: JobEngine,
    corpus: Corpus,
    job: GenerateJob | CheckJob,
    folder: str,
    shards: range | list[int],
) -> ShardsDone:
    corpus.place.tidy(folder)
    there = corpus.written(folder)
    missing = [number for number in shards if number not in there]
    done = engine.each(job, missing)
    if done["shard"].to_pylist() != missing:
        raise ValueError(f"the engine did {len(done)} shards of {len(missing)}")
    return ShardsDone(len(missing), pc.sum(done["rows"]).as_py() or 0, len(shards) - len(missing))


def judged_shards(corpus: Corpus, judged_by: str) -> list[int]:
    """Return the shards, all judged.  Raises CorpusError if verdicts are missing."""
    present = corpus.present()
    there = corpus.written(verdicts_folder(judged_by))
    missing = len(present) - len(there)
    if missing:
        raise CorpusError(
            f"{corpus.place}: {missing} of {len(present)} shards are not judged by {judged_by}; "
            f"run `corpus check` with --revision {judged_by} first"
        )
    return present


def count_outcomes(engine: JobEngine, corpus: Corpus, judged_by: str) -> pa.Table:
    """Count the traces of each model by outcome."""
    merge = Merge(("revision", "mutant", "outcome"), ("traces",), ())
    return engine.merged(
        CountOutcomesJob(corpus, judged_by), judged_shards(corpus, judged_by), merge
    )


def cover_corpus(engine: JobEngine, corpus: Corpus) -> pa.Table:
    """Compute every item that the corpus covers, and write them to `coverage.parquet`."""
    items = engine.merged(
        corpus_coverage.CoverageJob(corpus), corpus.present(), corpus_coverage.MERGE
    )
    corpus.place.write("coverage.parquet", items)
    return items


def minimise_corpus(engine: JobEngine, corpus: Corpus, out: Place) -> tuple[int, int]:
    """Write a corpus of the traces that coverage needs; return their number, and that of all."""
    if out.read_text(MANIFEST) is not None:
        raise CorpusError(f"{out} holds a corpus; choose another folder")
    picked = engine.each(corpus_coverage.GreedyCoverJob(corpus), corpus.present())
    kept: Mapping[int, list[int]] = corpus_coverage.needed(corpus, picked)
    for number, traces in kept.items():
        shard = corpus.shards[number]
        table = corpus.table(shard)
        rows = table.filter(pc.is_in(table["trace"], pa.array(traces)))
        out.write(f"{TRACES_FOLDER}/{shard.file}", rows)
    out.write_text(MANIFEST, replace(corpus.recipe, part=True).text())
    return sum(map(len, kept.values())), corpus.recipe.traces


def triage_corpus(engine: JobEngine, corpus: Corpus, judged_by: str) -> list[Triaged]:
    """Group violations, and shrink the smallest trace of each group."""
    find_revision(judged_by)
    shards = judged_shards(corpus, judged_by)
    groups = engine.merged(Groups(corpus, judged_by), shards, MERGE)
    return triaged(corpus, judged_by, groups)
