"""A small corpus, and ways to make one, for the tests of the pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fencepost.traces.pipeline.corpus import triage
from fencepost.traces.pipeline.corpus.corpus import Recipe
from fencepost.traces.pipeline.corpus.shard_jobs import Corpus, LocalEngine
from fencepost.traces.pipeline.storage.location import Place

MODELS = ("kafka-4", "mutant:kafka-8500")
RECIPE = Recipe(seed=1, traces=120, models=MODELS, per_shard=20)


def made(folder: Path, recipe: Recipe = RECIPE) -> Corpus:
    place = Place(str(folder))
    triage.generate_corpus(LocalEngine(), place, recipe)
    return triage.open_corpus(place)


def traces(corpus: Corpus) -> list[dict[str, Any]]:
    """Every trace of a corpus, by number."""
    rows = [row for shard in corpus.shards for row in corpus.table(shard).to_pylist()]
    return sorted(rows, key=lambda row: row["trace"])


def verdicts(corpus: Corpus, judge: str = "kafka-4") -> list[dict[str, Any]]:
    """Every verdict, by the number of its trace."""
    folder = f"verdicts/judge={judge}"
    rows = [
        row
        for shard in corpus.shards
        for row in corpus.place.read(f"{folder}/{shard.file}").to_pylist()
    ]
    return sorted(rows, key=lambda row: row["trace"])
