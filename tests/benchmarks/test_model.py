from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from benchmarks import model
from benchmarks.__main__ import bench_group


def test_requests_and_memory_have_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "_GROUPS", 100)
    arguments = ["model", "--seconds", "0.1"]
    result = CliRunner().invoke(bench_group, arguments, standalone_mode=False)
    assert result.exception is None, result.output
    figures = json.loads(result.stdout)["model"]
    assert figures["requests"] > 0
    assert figures["requests_per_second"] > 0
    assert figures["bytes_per_10000_groups"] > 0
