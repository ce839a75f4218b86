"""Keep the levels of an exploration on Spark, as DataFrames.

The worlds of the last level are expanded where they are stored, equal ones are merged, and those of
earlier levels are removed.  Only counts come to the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from fencepost.traces.pipeline.corpus.exploring import (
    FOUND,
    WORLDS,
    ExplorationBounds,
    expanded,
    level_name,
)
from fencepost.traces.pipeline.storage.ddl import ddl
from fencepost.traces.pipeline.storage.location import Place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PER_TASK = 1_000
_TASKS_A_CORE = 3


class SparkFrontiers:
    """Levels in a place that every executor sees."""

    def __init__(self, session: SparkSession, place: Place) -> None:
        self.session = session
        self.place = place

    def begin(self, worlds: Iterable[str]) -> int:
        """See Frontiers."""
        first = pa.table({"world": list(worlds)}, schema=WORLDS)
        return self._write(0, self.session.createDataFrame(first))

    def next(
        self, depth: int, states: int, bounds: ExplorationBounds
    ) -> tuple[int, int, tuple[str, ...]]:
        """See Frontiers."""
        from pyspark.sql import functions as f  # noqa: PLC0415  (an extra)

        frontier = self._read([depth])
        most = self.session.sparkContext.defaultParallelism * _TASKS_A_CORE
        tasks = max(1, min(most, states // _PER_TASK))
        found = (
            frontier.repartition(tasks)
            .mapInArrow(_expanding(bounds), ddl(FOUND))
            .groupBy("world", "broken")
            .agg(f.sum("ways").alias("ways"))
            .persist()
        )
        try:
            told = found.agg(f.sum("ways"), f.collect_set("broken")).head()
            reached = found.where(f.col("broken").isNull()).select("world")
            known = self._read(range(depth + 1))
            fresh = self._write(depth + 1, reached.join(known, "world", "left_anti"))
        finally:
            found.unpersist()
        return fresh, int(told[0] or 0), tuple(sorted(told[1]))

    def _read(self, depths: Iterable[int]) -> DataFrame:
        names = [self.place.full(level_name(depth)) for depth in depths]
        return self.session.read.schema(ddl(WORLDS)).parquet(*names)

    def _write(self, depth: int, worlds: DataFrame) -> int:
        worlds.write.mode("overwrite").parquet(self.place.full(level_name(depth)))
        return int(self._read([depth]).count())


def _expanding(
    bounds: ExplorationBounds,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield expanded(bounds, batch.column(0).to_pylist())

    return each
