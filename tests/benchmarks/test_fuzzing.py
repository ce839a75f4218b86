from __future__ import annotations

import json

from click.testing import CliRunner

from benchmarks.__main__ import bench_group


def test_a_fuzz_of_the_model_has_figures() -> None:
    result = CliRunner().invoke(bench_group, ["fuzz", "--requests", "20"], standalone_mode=False)
    assert result.exception is None, result.output
    figures = json.loads(result.stdout)
    assert figures["target"] == "model:kafka-4"
    assert figures["requests"] >= 20
    assert figures["requests_per_cpu_second"] > 0
    assert figures["unknown"] == 0
    assert not figures["cores"]["the target's"]
