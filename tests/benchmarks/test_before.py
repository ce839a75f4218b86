from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.__main__ import bench_group
from fencepost.conformance.cli.cli import exit_code

CHECKOUT = Path(__file__).parents[2]


def test_another_checkout_is_measured_beside_this_one() -> None:
    arguments = ["groups", "--members", "2", "--rounds", "1", "--before", str(CHECKOUT)]
    result = CliRunner().invoke(bench_group, arguments, standalone_mode=False)
    assert result.exception is None, result.output
    (figures,) = json.loads(result.stdout).values()
    assert list(figures) == ["rebalance_seconds", "heartbeat_ms"]
    for figure in figures.values():
        assert figure["times"] == pytest.approx(figure["now"] / figure["before"], abs=0.01)


def test_the_other_package_is_what_is_measured(tmp_path: Path) -> None:
    """A checkout without a module that the measurement needs can't be measured."""
    for floor in ("model", "properties", "traces", "conformance"):
        (tmp_path / floor).mkdir()
        (tmp_path / floor / "__init__.py").touch()
    arguments = ["groups", "--members", "2", "--before", str(tmp_path)]
    assert exit_code(bench_group, arguments, "bench") == 69


def test_a_folder_that_is_no_checkout_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(bench_group, ["groups", "--before", str(tmp_path)], "bench") == 64
    assert "is no checkout of fencepost: it has no model/" in capfd.readouterr().err
