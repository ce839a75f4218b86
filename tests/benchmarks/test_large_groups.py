from __future__ import annotations

import json

from click.testing import CliRunner

from benchmarks.__main__ import bench_group


def test_groups_have_figures() -> None:
    arguments = ["groups", "--members", "2", "--members", "40"]
    result = CliRunner().invoke(bench_group, arguments, standalone_mode=False)
    assert result.exception is None, result.output
    figures = json.loads(result.stdout)
    assert list(figures) == ["2", "40"]
    assert all(row["rebalance_seconds"] > 0 for row in figures.values())
    assert all(row["heartbeat_ms"] > 0 for row in figures.values())
