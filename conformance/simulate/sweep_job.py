"""Run a sweep as a job of the pipeline, which Spark spreads over a cluster.

The result is the same as from the processes of one machine, byte for byte.  Needs pyarrow, which is
in the extras `corpus` and `spark`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import pyarrow as pa

from fencepost.conformance.simulate.deployment_scenario import ScenarioError
from fencepost.conformance.simulate.simulate import Cost, SimulationRun, simulate
from fencepost.traces.pipeline.corpus.shard_jobs import JobEngine

_SHARDS = 200
"""At most; a task has a shard, and starting one takes as long as a small run."""


@dataclass(frozen=True)
class SimulateJob:
    """Runs a shard of a sweep: a row for each run, with its cost as JSON, or its error."""

    runs: tuple[SimulationRun, ...]
    schema = pa.schema(
        [("shard", pa.int64()), ("run", pa.int64()), ("cost", pa.binary()), ("error", pa.string())]
    )

    @property
    def per_shard(self) -> int:
        """Number of runs in a shard; the last one may have fewer."""
        return -(-len(self.runs) // _SHARDS) or 1

    @property
    def shards(self) -> range:
        """The numbers of the shards."""
        return range(-(-len(self.runs) // self.per_shard))

    def __call__(self, number: int) -> pa.Table:
        """Run the shard."""
        first = number * self.per_shard
        runs = enumerate(self.runs[first : first + self.per_shard], first)
        rows = [{"shard": number, "run": place, **_row(run)} for place, run in runs]
        return pa.Table.from_pylist(rows, schema=self.schema)


def _row(run: SimulationRun) -> dict[str, bytes | str]:
    try:
        return {"cost": msgspec.json.encode(simulate(run))}
    except ScenarioError as error:
        return {"error": str(error)}


def run_on_engine(engine: JobEngine, runs: Sequence[SimulationRun]) -> list[Cost]:
    """Run each on an engine.  Raises ScenarioError, that of the first that can't be run."""
    job = SimulateJob(tuple(runs))
    table = engine.each(job, job.shards).sort_by([("run", "ascending")])
    for why in table["error"].to_pylist():
        if why is not None:
            raise ScenarioError(why)
    return [msgspec.json.decode(cost, type=Cost) for cost in table["cost"].to_pylist()]
