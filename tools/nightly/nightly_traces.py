"""The data pipeline as a part of the nightly run: traces of the model, made until the time is over.

The pipeline draws, judges, counts and triages batches of traces, with its engine for one process.
The model must be able to explain its own traces.  So each violation is a finding, and so is a judge
that fails.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.model.table.table import Level
from fencepost.properties.workers.cancellation import Stop
from fencepost.properties.workers.pool import Tell
from fencepost.traces.files.install import pip_install
from tools.nightly.dedup import EACH_TIME, ShardFinding
from tools.nightly.nightly_search import ShardCoverage, ShardReport

if TYPE_CHECKING:
    from fencepost.traces.pipeline.corpus.triage import Triaged

JUDGE = "kafka-4"
TARGET = "traces of the model"
_BATCH = 400
"""The size of a batch: the time is checked after each."""


@dataclass(frozen=True, slots=True)
class TracesTask:
    """Traces to make of a model: seeds from this one on; `traces`: the most, None: any number."""

    shard: str
    seed: int
    model: str = JUDGE
    traces: int | None = None


async def make_traces(given: TracesTask, stop: Stop, tell: Tell) -> None:
    """Make and judge batches of traces until stopped, and report each batch."""
    try:
        import pyarrow as pa  # noqa: F401, PLC0415  (an extra)
    except ImportError:
        tell(ShardReport(TARGET, unavailable=f"Arrow is missing: {pip_install('corpus')}"))
        return
    made = 0
    while not stop.asked and (given.traces is None or made < given.traces):
        batch = _BATCH if given.traces is None else min(_BATCH, given.traces - made)
        tell(_batch(given, given.seed + made, batch))
        made += batch
        await asyncio.sleep(0)  # so that a stop is noticed


def _batch(given: TracesTask, seed: int, traces: int) -> ShardReport:
    from fencepost.traces.pipeline.corpus import corpus_jobs  # noqa: PLC0415
    from fencepost.traces.pipeline.corpus.corpus import corpus_recipe  # noqa: PLC0415
    from fencepost.traces.pipeline.corpus.job_engine import LocalEngine  # noqa: PLC0415
    from fencepost.traces.pipeline.storage.location import Place  # noqa: PLC0415

    recipe = corpus_recipe(
        seed=seed, traces=traces, revisions=(given.model,), mutants=(), per_shard=traces
    )
    engine = LocalEngine()
    with tempfile.TemporaryDirectory(prefix="fencepost-night-") as folder:
        place = Place(str(Path(folder) / "corpus"))
        corpus_jobs.generate_corpus(engine, place, recipe)
        corpus = corpus_jobs.open_corpus(place)
        corpus_jobs.check_corpus(engine, corpus, JUDGE)
        items = corpus_jobs.cover_corpus(engine, corpus).to_pylist()
        found = corpus_jobs.triage_corpus(engine, corpus, JUDGE)
    return ShardReport(
        TARGET,
        tuple(_finding(given, seed, one) for one in found),
        ShardCoverage(_of("rule", items), _of("pair", items), _of("state", items)),
        plans=traces,
    )


def _of(kind: str, items: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    return frozenset(row["item"] for row in items if row["kind"] == kind)


def _finding(given: TracesTask, seed: int, one: Triaged) -> ShardFinding:
    level = None if one.file is None else one.file.verdict.level
    return ShardFinding(
        "model",
        one.fingerprint.rule,
        level or Level.MUST.value,
        str(one.fingerprint) or f"the judge failed: {one.message}",
        one.message,
        one.traces,
        EACH_TIME,
        given.shard,
        seed,
        trace=None if one.file is None else one.file.text(),
    )
