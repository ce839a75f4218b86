"""Run the pipeline's commands: which jobs, on which shards, with which engine.

A shard that is written is done, so a command that was killed continues when it is run again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.properties.mutants.mutants import find_revision
from fencepost.traces.pipeline.corpus import corpus_coverage, triage
from fencepost.traces.pipeline.corpus.corpus import Recipe
from fencepost.traces.pipeline.corpus.job_engine import JobEngine, Merge
from fencepost.traces.pipeline.corpus.shard_jobs import (
    MANIFEST,
    TRACES_FOLDER,
    CheckJob,
    Corpus,
    CountOutcomesJob,
    GenerateJob,
    verdicts_folder,
)
from fencepost.traces.pipeline.storage.location import Place
from fencepost.traces.pipeline.storage.manifest import CorpusError


@dataclass(frozen=True, slots=True)
class ShardsDone:
    """The work of a run: shards and rows made now, and shards that were there before."""

    shards: int
    rows: int
    before: int


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
    """Judge what is not judged yet.  Raises CorpusError if traces are missing."""
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


def triage_corpus(engine: JobEngine, corpus: Corpus, judged_by: str) -> list[triage.Triaged]:
    """Group violations, and shrink the smallest trace of each group."""
    find_revision(judged_by)
    shards = judged_shards(corpus, judged_by)
    groups = engine.merged(triage.Groups(corpus, judged_by), shards, triage.MERGE)
    return triage.triaged(corpus, judged_by, groups)
