"""How traces came out: a count of each outcome, by model."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pyarrow as pa

from fencepost.traces.pipeline.corpus.jobs import Corpus, verdicts_folder
from fencepost.traces.pipeline.corpus.schema import OUTCOMES


@dataclass(frozen=True)
class Outcomes:
    """Counts the outcomes of a shard."""

    corpus: Corpus
    judge: str
    schema = OUTCOMES

    def __call__(self, number: int) -> pa.Table:
        """A row for each outcome, as `schema.OUTCOMES` says."""
        shard = self.corpus.shards[number]
        name = f"{verdicts_folder(self.judge)}/{shard.file}"
        verdicts = self.corpus.place.read(name, ["outcome"])
        source = {"revision": shard.source.revision, "mutant": shard.source.mutant}
        rows = [
            {**source, "outcome": outcome, "traces": traces}
            for outcome, traces in sorted(Counter(verdicts["outcome"].to_pylist()).items())
        ]
        return pa.Table.from_pylist(rows, schema=OUTCOMES)
