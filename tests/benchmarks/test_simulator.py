"""What large deployments take to simulate, and that the page tells what was measured."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from support.places import ROOT

from benchmarks import simulator
from benchmarks.__main__ import bench_group

DEPLOYMENTS = ROOT / "docs" / "deployments"
STATIC, DYNAMIC = simulator.LARGE


def test_figures_of_a_deployment_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {**simulator.LARGE[STATIC], "members": 4, "partitions": 8}
    monkeypatch.setitem(simulator.LARGE, STATIC, small)
    argv = ["simulator", "--deployment", STATIC]
    result = CliRunner().invoke(bench_group, argv, standalone_mode=False)
    assert result.exception is None, result.output
    found = json.loads(result.stdout)[STATIC]
    assert (found["members"], found["partitions"], found["rebalances"]) == (4, 8, 0)
    assert found["cpu_s"] >= 0


def test_the_page_tells_what_was_measured() -> None:
    kept = json.loads((DEPLOYMENTS / "simulator-speed.json").read_text("utf-8"))
    page = " ".join((DEPLOYMENTS / "simulate.md").read_text("utf-8").split())
    static, dynamic = kept[STATIC], kept[DYNAMIC]
    for row, told in (
        (
            static,
            "a deployment to {members:,} static members with {partitions:,} partitions, 50 at a",
        ),
        (dynamic, "one to {members} dynamic members with {partitions:,} partitions, one by one"),
    ):
        assert told.format(**row) in page
        assert row["cpu_s"] < 60
    assert f"took {static['cpu_s']:.0f} s;" in page
    assert f"one by one, {dynamic['cpu_s']:.0f} s." in page
