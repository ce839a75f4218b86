from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from benchmarks.__main__ import bench_group


def test_a_healthy_log_and_one_full_of_problems_are_measured(tmp_path: Path) -> None:
    arguments = ["audit", "--part", "400", "--keep", str(tmp_path)]
    result = CliRunner().invoke(bench_group, arguments, standalone_mode=False)
    assert result.exception is None, result.output
    figures = json.loads(result.stdout)
    assert list(figures) == ["healthy", "problems"]
    for name, found in figures.items():
        lines = (tmp_path / f"{name}.log").read_bytes().count(b"\n")
        assert found["lines"] == lines > 0
        assert {"orjson", "json", "reader", "judge", "audit"} == found["lines_per_second"].keys()


def test_one_log_is_measured(tmp_path: Path) -> None:
    log = tmp_path / "healthy.log"
    runner = CliRunner()
    runner.invoke(bench_group, ["audit", "--part", "1000", "--keep", str(tmp_path)])
    result = runner.invoke(bench_group, ["audit", str(log)], standalone_mode=False)
    assert json.loads(result.stdout)["lines"] == 200
