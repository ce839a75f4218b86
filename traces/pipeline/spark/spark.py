"""Run jobs on Spark: a session, fencepost on every executor, and jobs as DataFrames.

A job gets a row for each shard, one to a partition, through `mapInArrow`; Spark merges the tables.
If PySpark or Java is missing, or Java has a wrong version, the error says how to fix it.

The levels of an exploration are DataFrames, too.  The worlds of the last level are expanded where
they are stored, equal ones are merged, and those of earlier levels are removed.  Only counts come
to the driver.

The installed fencepost is packed into one archive, for machines that don't have it.  Only the
floors that jobs need are packed.  They are those that this process runs, so driver and executors
can't disagree.  The archive is laid out like a wheel, with an entry for each folder: a package
without `__init__.py` is found in an archive by its entry alone.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fencepost.traces.files.bounded import pip_install
from fencepost.traces.files.text_files import temporary_folder
from fencepost.traces.pipeline.corpus.exploring import (
    REACHED,
    WORLDS,
    ExplorationBounds,
    Frontiers,
    expanded,
    level_name,
)
from fencepost.traces.pipeline.corpus.shard_jobs import Job, Merge
from fencepost.traces.pipeline.storage.location import Place
from fencepost.traces.pipeline.storage.trace_rows import ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_FLOORS = ("model", "properties", "traces")
_SEALED = (1980, 1, 1, 0, 0, 0)
"""A fixed time for all files: the same content gives the same archive."""


def write_archive(path: Path, more_floors: Sequence[str] = ()) -> Path:
    """Write the archive.  `more_floors`: those above that are packed, too."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("fencepost/", _SEALED), b"")
        for name, file in sorted(_files((*_FLOORS, *more_floors)).items()):
            data = b"" if file.is_dir() else file.read_bytes()
            archive.writestr(zipfile.ZipInfo(name, _SEALED), data, zipfile.ZIP_DEFLATED)
    return path


def _files(floors: Iterable[str]) -> dict[str, Path]:
    """Return the archive's files by name; of a module that is installed twice, the one in use."""
    files_: dict[str, Path] = {}
    for floor in floors:
        package = importlib.import_module(f"fencepost.{floor}")
        for root in map(Path, package.__path__):
            for name, file in _within(root):
                files_.setdefault(f"fencepost/{floor}/{name}", file)
    return files_


def _within(root: Path) -> Iterator[tuple[str, Path]]:
    yield "", root
    for file in root.rglob("*"):
        name = file.relative_to(root).as_posix()
        if "__pycache__" in file.parts:
            continue
        if file.is_dir():
            yield f"{name}/", file
        elif file.suffix in {".py", ".json"}:
            yield name, file


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
        frame = (
            frontier.repartition(tasks)
            .mapInArrow(_expanding(bounds), ddl(REACHED))
            .groupBy("world", "broken")
            .agg(f.sum("ways").alias("ways"))
            .persist()
        )
        try:
            totals = frame.agg(f.sum("ways"), f.collect_set("broken")).head()
            reached = frame.where(f.col("broken").isNull()).select("world")
            known = self._read(range(depth + 1))
            fresh = self._write(depth + 1, reached.join(known, "world", "left_anti"))
        finally:
            frame.unpersist()
        return fresh, int(totals[0] or 0), tuple(sorted(totals[1]))

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


LEAST_JAVA = 17
_REMEDY = f"install a JDK or JRE, version {LEAST_JAVA} or later (Debian: openjdk-17-jre-headless)"
_VERSION_S = 30
_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set where spark-submit started this process: then master and JVM are chosen."""


class SparkUnavailableError(Exception):
    """Spark can't run here.  `str()` names what is missing, and the fix."""


class SparkEngine:
    """The engine that runs jobs on a Spark session."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session

    def each(self, job: Job, shards: Sequence[int]) -> pa.Table:
        """See JobEngine."""
        if not shards:
            return job.schema.empty_table()
        table = self._frame(job, shards).toArrow().cast(job.schema)
        return table.sort_by([("shard", "ascending")])

    def merged(self, job: Job, shards: Sequence[int], merge: Merge) -> pa.Table:
        """See JobEngine."""
        if not shards:
            return job.schema.empty_table()
        from pyspark.sql import functions as f  # noqa: PLC0415  (an extra)

        added = [f.sum(name).alias(name) for name in merge.sums]
        least = [f.min(name).alias(name) for name in merge.mins]
        frame = self._frame(job, shards).groupBy(*merge.keys).agg(*added, *least)
        table = frame.select(*job.schema.names).toArrow().cast(job.schema)
        return table.sort_by([(key, "ascending") for key in merge.keys])

    def frontiers(self, place: Place) -> Frontiers:
        """See JobEngine."""
        return SparkFrontiers(self.session, place)

    def _frame(self, job: Job, shards: Sequence[int]) -> DataFrame:
        numbers = self.session.range(0, len(shards), 1, numPartitions=len(shards))
        return numbers.mapInArrow(_mapped(job, tuple(shards)), ddl(job.schema))


def _mapped(
    job: Job, shards: tuple[int, ...]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for place in batch.column(0).to_pylist():
                yield from job(shards[place]).replace_schema_metadata(None).to_batches()

    return each


@contextmanager
def spark_session(
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    *,
    more_floors: Sequence[str] = (),
) -> Iterator[SparkSession]:
    """Open a session for a block.  `master`: by default `local[*]`, or spark-submit's.

    `settings`: what it needs beside the usual ones, by Spark's names.  `more_floors`: see
    `write_archive`.

    Raises SparkUnavailableError.
    """
    submitted = _SUBMITTED in os.environ
    if not submitted:
        _check_java()
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise SparkUnavailableError(
            f"PySpark can't be imported ({error}): {pip_install('spark')}"
        ) from error
    builder: Any = SparkSession.builder.appName("fencepost")
    where = master or (None if submitted else "local[*]")
    if where is not None:
        builder = builder.master(where)
        if where.startswith("local"):
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            builder = builder.config("spark.driver.host", "localhost")
            builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
    usual = {} if submitted else _SETTINGS
    for name, value in {**usual, **(settings or {})}.items():
        builder = builder.config(name, value)
    with temporary_folder() as folder:
        archive = write_archive(folder / "fencepost.zip", more_floors)
        try:
            session = builder.getOrCreate()
        except Exception as error:
            raise SparkUnavailableError(
                f"Spark didn't start with master {where or 'of spark-submit'} "
                f"({_first_line(error)}): check --master and what stands above"
            ) from error
        try:
            before = list(sys.path)
            session.sparkContext.addPyFile(str(archive))
            sys.path[:] = before  # this process has its own
            yield session
        finally:
            session.stop()


_SETTINGS = {  # with spark-submit they are its caller's
    "spark.log.level": "ERROR",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.shuffle.partitions": "16",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=None if not home else str(Path(home) / "bin"))
    if java is None:
        where = f"JAVA_HOME is {home}, which has no bin/java" if home else "java is not on the PATH"
        raise SparkUnavailableError(f"{where}: {_REMEDY}")
    try:
        process = subprocess.run(  # noqa: S603  (the Java that Spark would run)
            [java, "-version"], capture_output=True, text=True, timeout=_VERSION_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SparkUnavailableError(f"{java} can't be run ({error}): {_REMEDY}") from error
    output = process.stderr + process.stdout
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    if match is None:
        raise SparkUnavailableError(f"{java} doesn't print its version: {_REMEDY}")
    if int(match[1]) < LEAST_JAVA:
        raise SparkUnavailableError(f"{java} is Java {match[1]}: {_REMEDY}")


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
