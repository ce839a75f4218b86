"""The pipeline on Spark, at size: both engines row by row, a kill midway, exploration, submitting.

`FENCEPOST_SPARK_TRACES` says how many traces (200,000); with fewer it takes minutes.  One session
serves all tests but those that must start, or end, one of their own.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.exploring import SCOPES, on_one_machine

from fencepost.traces.pipeline.corpus import triage
from fencepost.traces.pipeline.corpus.corpus import Recipe
from fencepost.traces.pipeline.corpus.corpus_coverage import coverage_json
from fencepost.traces.pipeline.corpus.exploring import ExplorationBounds, explore_levels
from fencepost.traces.pipeline.corpus.shard_jobs import Corpus, JobEngine, LocalEngine
from fencepost.traces.pipeline.spark.spark import SparkEngine, spark_session
from fencepost.traces.pipeline.storage.location import Place

TRACES = int(os.environ.get("FENCEPOST_SPARK_TRACES", "200000"))
MODELS = ("kafka-4", "mutant:kafka-8500", "mutant:kafka-9752", "mutant:kafka-12890")
RECIPE = Recipe(seed=7, traces=TRACES, models=MODELS, per_shard=max(10, min(1_000, TRACES // 40)))
SMALL = Recipe(seed=7, traces=400, models=MODELS, per_shard=20)
WITHIN_S = 600
COMMANDS = Path(sys.executable).parent


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkEngine]:
    with spark_session("local[2]") as session:
        yield SparkEngine(session)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, Place]:
    folder = tmp_path_factory.mktemp("corpora")
    return Place(str(folder / "local")), Place(str(folder / "spark"))


def test_both_engines_agree_row_by_row(spark: SparkEngine, places: tuple[Place, Place]) -> None:
    answers = []
    engines: tuple[JobEngine, ...] = (LocalEngine(), spark)
    for engine, place in zip(engines, places, strict=True):
        begun = time.monotonic()
        triage.generate_corpus(engine, place, RECIPE)
        corpus = triage.open_corpus(place)
        triage.check_corpus(engine, corpus, "kafka-4")
        counted = triage.count_outcomes(engine, corpus, "kafka-4").to_pylist()
        covered = coverage_json(corpus, triage.cover_corpus(engine, corpus))
        found = [one.to_json() for one in triage.triage_corpus(engine, corpus, "kafka-4")]
        answers.append((counted, covered, found))
        took = time.monotonic() - begun
        print(f"{type(engine).__name__}: {TRACES:,} traces in {took:,.0f} s")  # noqa: T201
    assert answers[0] == answers[1]
    assert sum(row["traces"] for row in answers[0][0]) == TRACES
    assert differing(*(triage.open_corpus(place) for place in places)) == []


def differing(one: Corpus, other: Corpus) -> list[str]:
    """The files of which the rows are not the same."""
    names = [
        f"{folder}/{shard.file}"
        for folder in ("traces", "verdicts/judge=kafka-4")
        for shard in one.shards
    ]
    return [name for name in names if not one.place.read(name).equals(other.place.read(name))]


def test_a_row_that_differs_is_seen(spark: SparkEngine, tmp_path: Path) -> None:
    corpora = []
    for name in ("a", "b"):
        place = Place(str(tmp_path / name))
        triage.generate_corpus(spark, place, SMALL)
        corpora.append(triage.open_corpus(place))
        triage.check_corpus(spark, corpora[-1], "kafka-4")
    file = f"verdicts/judge=kafka-4/{corpora[0].shards[3].file}"
    corpora[1].place.write(file, corpora[1].place.read(file).slice(1))
    assert differing(*corpora) == [file]


def test_killed_midway_and_run_again(spark: SparkEngine, tmp_path: Path) -> None:
    recipe = Recipe(seed=7, traces=4_000, models=MODELS, per_shard=50)
    folder = tmp_path / "killed"
    options = ["--traces", "4000", "--seed", "7", "--mutants", "kafka-8500,kafka-9752,kafka-12890"]
    killed(folder, "traces", ["generate", *options, "--per-shard", "50", "--out", str(folder)])
    place = Place(str(folder))
    half = len(triage.open_corpus(place).written("traces"))
    assert 0 < half < len(recipe.shards())
    ran = triage.generate_corpus(spark, place, recipe)
    assert ran.shards_before >= half
    assert ran.shards_before + ran.shards == len(recipe.shards())

    killed(folder, "verdicts", ["check", str(folder)])
    corpus = triage.open_corpus(place)
    judged = len(corpus.written("verdicts/judge=kafka-4"))
    assert 0 < judged < len(recipe.shards())
    assert triage.check_corpus(spark, corpus, "kafka-4").shards_before >= judged

    whole = Place(str(tmp_path / "whole"))
    triage.generate_corpus(LocalEngine(), whole, recipe)
    triage.check_corpus(LocalEngine(), triage.open_corpus(whole), "kafka-4")
    assert differing(triage.open_corpus(whole), corpus) == []
    left = [file.name for file in folder.rglob("*") if file.is_file()]
    assert len(left) == 1 + 2 * len(recipe.shards())  # corpus.json, and each shard once


def killed(folder: Path, table: str, arguments: list[str]) -> None:
    """Run a command on Spark, and kill it and all its processes once it has written something."""
    command = [str(COMMANDS / "fencepost"), "corpus", *arguments]
    process = subprocess.Popen(
        [*command, "--engine", "spark", "--master", "local[2]"],
        cwd=folder.parent,
        start_new_session=True,
    )
    try:
        end = time.monotonic() + WITHIN_S
        while len(list((folder / table).rglob("shard-*.parquet"))) < 3:
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < end, "nothing was written"
            with_patience(process)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(WITHIN_S)


def with_patience(process: subprocess.Popen[bytes]) -> None:
    """Wait a moment, or until it ends."""
    try:
        process.wait(0.2)
    except subprocess.TimeoutExpired:
        return


@pytest.mark.parametrize("number", range(len(SCOPES)))
def test_spark_explores_what_one_machine_explores(
    number: int, spark: SparkEngine, tmp_path: Path
) -> None:
    scope = SCOPES[number]
    place = Place(str(tmp_path))
    bounds = ExplorationBounds("kafka-4", scope)
    first = explore_levels(spark.frontiers(place), place, bounds, 5)
    assert not first.complete
    shutil.rmtree(tmp_path / "levels" / "000005")  # as if killed before the last level was whole
    (tmp_path / "levels" / "000005.json").unlink()
    found = explore_levels(spark.frontiers(place), place, bounds)
    known = on_one_machine(scope)
    assert found.before == 5
    assert (found.states, found.transitions) == (known.states, known.transitions)
    assert tuple(level.states for level in found.levels) == known.levels


def test_few_traces_cover_the_same_whoever_picks(spark: SparkEngine, tmp_path: Path) -> None:
    corpora = [Place(str(tmp_path / name)) for name in ("all", "local", "spark")]
    triage.generate_corpus(LocalEngine(), corpora[0], SMALL)
    corpus = triage.open_corpus(corpora[0])
    engines: tuple[JobEngine, ...] = (LocalEngine(), spark)
    kept = [
        triage.minimise_corpus(engine, corpus, place)
        for engine, place in zip(engines, corpora[1:], strict=True)
    ]
    assert kept[0] == kept[1]
    one, other = (triage.open_corpus(place) for place in corpora[1:])
    numbers = sorted(one.written("traces"))
    assert numbers == sorted(other.written("traces"))
    assert all(one.table(one.shards[n]).equals(other.table(other.shards[n])) for n in numbers)


def test_plain_spark_submit_runs_the_entry_point(tmp_path: Path) -> None:
    entry = subprocess.run(
        [COMMANDS / "fencepost", "corpus", "entry-point"],
        capture_output=True,
        text=True,
        check=True,
        timeout=WITHIN_S,
    ).stdout.strip()
    place = str(tmp_path / "submitted")
    said = [
        submitted(entry, *arguments)
        for arguments in (
            ["generate", "--traces", "40", "--seed", "7", "--per-shard", "20", "--out", place],
            ["check", place],
        )
    ]
    assert [row["rows"] for row in said] == [40, 40]
    assert said[1]["models"][0]["outcome"] == "holds"


def submitted(entry: str, *arguments: str) -> Any:
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [COMMANDS / "spark-submit", "--master", "local[2]", entry, *arguments, "--json"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)
