"""A sweep as a job: the same from an engine as from this process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
from support.in_this_process import invoke
from support.places import ROOT

from fencepost.conformance.simulate.deployment_scenario import ScenarioError, find_scenario
from fencepost.conformance.simulate.simulate import SimulationRun, simulate
from fencepost.conformance.simulate.sweep import varied, with_values
from fencepost.conformance.simulate.sweep_job import SimulateJob, run_on_engine
from fencepost.traces.pipeline.corpus.shard_jobs import Job, LocalEngine
from fencepost.traces.pipeline.spark.spark import write_archive

TINY = with_values(find_scenario("crash"), {"members": 2, "partitions": 3}, "a test")
RUNS = [
    SimulationRun(scenario, form, seed, is_brief=seed > 0)
    for form, scenario in varied({"a": TINY}, ["restart_s=1,60"]).items()
    for seed in range(3)
]
PROBE = """
import json, sys
sys.path.insert(0, sys.argv[1])
import msgspec
from fencepost.conformance.simulate import simulate
assert simulate.__file__.startswith(sys.argv[1]), simulate.__file__
run = msgspec.json.decode(sys.stdin.buffer.read(), type=simulate.SimulationRun)
sys.stdout.buffer.write(msgspec.json.encode(simulate.simulate(run)))
"""


class Backwards(LocalEngine):
    """An engine that gives rows in another order."""

    def each(self, job: Job, shards: Sequence[int]) -> pa.Table:
        return super().each(job, list(reversed(shards)))


@pytest.mark.parametrize("engine", [LocalEngine(), Backwards()])
def test_an_engine_comes_to_the_same_in_the_same_order(engine: LocalEngine) -> None:
    assert run_on_engine(engine, RUNS) == [simulate(run) for run in RUNS]
    assert run_on_engine(engine, []) == []


def test_every_run_is_in_one_shard() -> None:
    for count in (1, 199, 200, 201, 2000, 2001):
        job = SimulateJob(tuple(RUNS[:1] * count))
        parts = [min(job.per_shard, count - number * job.per_shard) for number in job.shards]
        assert sum(parts) == count
        assert min(parts) > 0
        assert len(parts) <= 200


def test_what_can_not_be_run_is_told_as_in_this_process() -> None:
    same = with_values(TINY, {"membership": "static", "instance_id": "all"}, "a test")
    runs = [RUNS[0], SimulationRun(same, "same", 0), SimulationRun(same, "same", 1)]
    with pytest.raises(ScenarioError) as here:
        [simulate(run) for run in runs]
    with pytest.raises(ScenarioError) as there:
        run_on_engine(LocalEngine(), runs)
    assert str(there.value) == str(here.value)


def test_machines_need_no_fencepost_of_their_own(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "fencepost.zip", ["conformance"])
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(archive)],
        cwd=tmp_path,
        input=msgspec.json.encode(RUNS[0]),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == msgspec.json.encode(simulate(RUNS[0])), done.stderr.decode()


def test_a_revision_in_a_file_stays_on_this_machine() -> None:
    own = f"{ROOT}/examples/revisions/open_ends.py:STANDBY"
    done = invoke("simulate", "crash", "--revision", own, "--engine", "spark")
    assert (done.code, "Spark's machines don't have" in done.err) == (64, True)


def test_a_master_needs_spark() -> None:
    done = invoke("simulate", "crash", "--master", "local[2]")
    assert (done.code, "needs --engine spark" in done.err) == (64, True)


@pytest.mark.needs("java")
def test_spark_prints_the_same(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    options = ("simulate", "crash", "--members", "2", "--vary", "restart_s=1,60", "--seeds", "3")
    spark = ("--engine", "spark", "--master", "local[2]")
    here, there = (
        invoke(*options, *more, "--json", "--report", str(tmp_path / name))
        for name, more in (("here", ()), ("there", spark))
    )
    assert there.code == 0, there.err
    assert len(json.loads(there.out)["compared"]) == 2
    assert there.out == here.out
    for name in ("simulation.json", "runs.csv", "index.html"):
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()
