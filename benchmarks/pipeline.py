"""Measure traces per second of the pipeline, engine beside engine, in one run.

Each engine draws and checks the same traces in a process of its own, so that none is warmed up by
another.  So does a bare loop over the same functions, for the cost of the local engine itself;
since that cost per trace doesn't depend on the number of traces, the loop takes a tenth of them
only.  Spark's session is up, and its workers have done a little, before the clock starts: the start
is reported beside the work.  `processor_seconds` are those of the driving process alone, so
`checked_per_cpu_second` is left out for Spark. Memory is the peak of that process, which must not
grow with the number of traces.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.traces.pipeline.corpus.corpus import Recipe, trace_row
from fencepost.traces.pipeline.corpus.shard_jobs import JobEngine, LocalEngine, checker
from fencepost.traces.pipeline.corpus.triage import check_corpus, generate_corpus, open_corpus
from fencepost.traces.pipeline.spark.spark import SparkEngine, SparkUnavailableError, spark_session
from fencepost.traces.pipeline.storage.location import Place

JUDGE = "kafka-4"
MODELS = (JUDGE, "mutant:kafka-8500")
BARE, LOCAL = "bare", "local"
_WARMING = 40
_SHARDS = 40
_TENTH = 10
_UNAVAILABLE = 69


class BenchError(Exception):
    """A way can't be measured; `str()` gives the reason."""


def pipeline_figures(traces: int, ways: Sequence[str]) -> dict[str, Any]:
    """Return figures of each way; each is printed on stderr as it comes.  Raises BenchError.

    An engine's are of this many traces and, as `a_tenth`, of a tenth of them, the bare loop's of
    the tenth alone.  `against_local` compares traces per second, of the same number of traces.
    """
    tenth = max(1, traces // _TENTH)
    by_way: dict[str, Any] = {}
    for way in ways:
        small = by_way[way] = _apart(way, tenth)
        if way != BARE:
            large = _apart(way, traces)
            times = round(large["seconds"] / max(small["seconds"], 1e-9), 2)
            by_way[way] = {**large, "a_tenth": small, "times_as_long": times}
    figures = {"traces": traces, "models": list(MODELS), "ways": by_way}
    if LOCAL in by_way:
        figures["against_local"] = {way: _against(of, by_way[LOCAL]) for way, of in by_way.items()}
    return figures


def _against(way: dict[str, Any], local: dict[str, Any]) -> float:
    """Return the ratio of traces per second."""
    same = local if way["traces"] == local["traces"] else local["a_tenth"]
    return float(round(way["traces_per_second"] / same["traces_per_second"], 2))


def _apart(way: str, traces: int) -> dict[str, Any]:
    """Run one measurement in a process of its own."""
    done = subprocess.run(  # noqa: S603  (this very program)
        [sys.executable, "-m", __name__, way, str(traces)],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BenchError(f"{way} with {traces} traces ended with code {done.returncode}")
    figures: dict[str, Any] = json.loads(done.stdout)
    rate, peak = figures["traces_per_second"], figures["peak_mib"]
    line = f"{way}: {traces:,} traces in {figures['seconds']:.0f} s, {rate:.1f}/s, {peak} MiB"
    print(line, file=sys.stderr)  # noqa: T201
    return figures


def measured(way: str, traces: int) -> dict[str, Any]:
    """Draw and check this many traces in one way.  Raises SparkUnavailableError."""
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="fencepost-") as folder, _ready(way) as work:
        work(Path(folder) / "warm", _WARMING)
        started = time.perf_counter()
        used = time.process_time()
        spent = work(Path(folder) / "corpus", traces)
        used = time.process_time() - used
        seconds = time.perf_counter() - started
    return {
        "traces": traces,
        "traces_per_second": round(traces / seconds, 1),
        "seconds": round(seconds, 2),
        "drawing_seconds": round(spent.drawing, 2),
        "checking_seconds": round(spent.checking, 2),
        "checked_per_cpu_second": None
        if way not in {BARE, LOCAL}
        else round(traces / spent.checking_cpu, 1),
        "processor_seconds": round(used, 2),
        "starting_seconds": round(started - begun, 2),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    }


@dataclass(slots=True)
class Spent:
    """Seconds of drawing and checking traces, and of the processor for checking them."""

    drawing: float = 0.0
    checking: float = 0.0
    checking_cpu: float = 0.0

    @contextmanager
    def on_checking(self) -> Iterator[None]:
        """Count the time of this block."""
        begun, used = time.perf_counter(), time.process_time()
        yield
        self.checking += time.perf_counter() - begun
        self.checking_cpu += time.process_time() - used


_Work = Callable[[Path, int], Spent]


@contextmanager
def _ready(way: str) -> Iterator[_Work]:
    if way == BARE:
        yield _bare
    elif way == LOCAL:
        yield lambda folder, traces: _with(LocalEngine(), folder, traces)
    else:
        with spark_session(way) as session:
            yield lambda folder, traces: _with(SparkEngine(session), folder, traces)


def _with(engine: JobEngine, folder: Path, traces: int) -> Spent:
    place = Place(str(folder))
    recipe = Recipe(1, traces, MODELS, per_shard=max(1, min(1_000, traces // _SHARDS)))
    begun = time.perf_counter()
    generate_corpus(engine, place, recipe)
    spent = Spent(time.perf_counter() - begun)
    with spent.on_checking():
        check_corpus(engine, open_corpus(place), JUDGE)
    return spent


def _bare(folder: Path, traces: int) -> Spent:
    """Run the same functions in two loops; nothing is written, nothing is read."""
    del folder
    spent = Spent()
    begun = time.perf_counter()
    for number in range(traces):
        model = MODELS[number % len(MODELS)]
        row = trace_row(model, 1, number)
        with spent.on_checking():
            steps = [_STEP | step for step in row["steps"]]
            filled = {**row, "steps": steps, "turns": len(row["turns"])}
            checker(JUDGE).row(filled)
    spent.drawing = time.perf_counter() - begun - spent.checking
    return spent


_STEP = dict.fromkeys(("findings", "dropped"))


if __name__ == "__main__":
    try:
        print(json.dumps(measured(sys.argv[1], int(sys.argv[2]))))  # noqa: T201
    except SparkUnavailableError as error:
        print(f"Error: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(_UNAVAILABLE)
