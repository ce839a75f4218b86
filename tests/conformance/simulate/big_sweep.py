"""A sweep of 2,000 runs on Spark and in one process: the same rows.

`FENCEPOST_SPARK_RUNS` says how many runs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from support.in_this_process import invoke

from fencepost.conformance.simulate.deployment_scenario import find_scenario, scenario_names
from fencepost.conformance.simulate.simulate import Cost, SimulationRun
from fencepost.conformance.simulate.sweep import (
    Runner,
    in_processes,
    variants_of,
    varied,
    with_values,
)
from fencepost.conformance.simulate.sweep_job import run_on_engine
from fencepost.traces.pipeline.spark.spark import SparkEngine, spark_session

RUNS = int(os.environ.get("FENCEPOST_SPARK_RUNS", "2000"))
FORMS = "eager,cooperative,static,static+cooperative"
NAMES = [
    name for name in scenario_names() if not name.startswith("to-")
]  # those set what they need


def sweep() -> list[SimulationRun]:
    """Many scenarios in all forms, small, and as many seeds as there must be."""
    scenarios = [
        (f"{name}: {form}", scenario)
        for name in NAMES
        for form, scenario in varied(
            variants_of(with_values(find_scenario(name), {"settle_s": 120}, "a test"), FORMS),
            ["members=3,5", "restart_s=2,12"],
        ).items()
    ]
    seeds = -(-RUNS // len(scenarios))
    runs = [
        SimulationRun(scenario, form, seed, is_brief=seed > 0)
        for seed in range(seeds)
        for form, scenario in scenarios
    ]
    return runs[:RUNS]


def timed(name: str, run_each: Runner, runs: list[SimulationRun]) -> list[Cost]:
    begun = time.monotonic()
    costs = list(run_each(runs))
    print(f"{name}: {len(runs):,} runs in {time.monotonic() - begun:,.0f} s")  # noqa: T201
    return costs


def test_spark_comes_to_the_same_as_one_process() -> None:
    runs = sweep()
    here = timed("one process", in_processes(1), runs)
    with spark_session("local[2]", more_floors=("conformance",)) as session:
        engine = SparkEngine(session)
        there = timed("Spark on two cores", lambda given: run_on_engine(engine, given), runs)
    assert len(here) == RUNS
    assert len({(cost.scenario, cost.variant) for cost in here}) > 100
    assert msgspec.json.encode(there) == msgspec.json.encode(here)
    with pytest.raises(AssertionError):  # one run that differs would be seen
        assert [*there[:-1], msgspec.structs.replace(there[-1], requests=-1)] == here


def test_plain_spark_submit_simulates(tmp_path: Path) -> None:
    commands = Path(sys.executable).parent
    entry = invoke("corpus", "entry-point").out.strip()
    options = ["simulate", "crash", "--vary", "restart_s=1,60", "--seeds", "5", "--json"]
    done = subprocess.run(
        [commands / "spark-submit", "--master", "local[2]", entry, *options],
        env=os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == invoke(*options).out
