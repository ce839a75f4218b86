from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from benchmarks.__main__ import bench_group
from fencepost.conformance.cli.cli import main


@pytest.mark.slow
def test_ways_are_measured_beside_each_other() -> None:
    arguments = ["pipeline", "--traces", "20", "--way", "bare", "--way", "local"]
    result = CliRunner().invoke(bench_group, arguments, standalone_mode=False)
    assert result.exception is None, result.output
    figures = json.loads(result.stdout)
    assert list(figures["ways"]) == ["bare", "local"]
    assert figures["against_local"].keys() == {"bare", "local"}
    assert figures["against_local"]["local"] == 1
    tenth = figures["ways"]["local"]["a_tenth"]
    assert figures["ways"]["bare"]["traces"] == tenth["traces"] == 2
    for way in figures["ways"].values():
        assert way["traces_per_second"] > 0
        assert {"seconds", "drawing_seconds", "checking_seconds", "peak_mib"} <= way.keys()


@pytest.mark.slow
def test_a_way_that_cannot_be_had_is_unavailable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        main(["bench", "pipeline", "--traces", "20", "--way", "local[1]"])
    assert ended.value.code == 69
    assert "has no bin/java" in capfd.readouterr().err
