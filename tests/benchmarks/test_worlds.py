"""The figures of the real model: what is counted, and that they stand beside the published ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks import worlds
from benchmarks.__main__ import bench_group
from fencepost.properties.worlds.scope import BOUNDS, NamedScope, Scope

SMALL = Scope(clients=1, members=1)


def test_a_process_tells_its_figures() -> None:
    figures = worlds._apart("quick", 1, judged=False)
    assert figures["complete"] is True
    assert figures["transitions"] > figures["states"] > figures["levels"]


def test_processes_and_properties_are_shown_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a small bound, and in this process: that is left to the test above."""
    argv = ["explore", "--configuration", "A", "--way", "packed"]
    monkeypatch.setattr(worlds, "_PROCESSES", (1,))
    monkeypatch.setattr(worlds, "_apart", worlds.worlds_figures)
    monkeypatch.setitem(BOUNDS, "quick", NamedScope("quick", "one client", SMALL))
    result = CliRunner().invoke(bench_group, argv, standalone_mode=False)
    assert result.exception is None, result.output
    figures: dict[str, Any] = json.loads(result.stdout)
    assert list(figures["explore"]) == ["A"]
    model = figures["real_model"]
    assert (model["bound"], model["revision"]) == ("quick", "kafka-4")
    rows = [model[name]["jobs_1"] for name in ("without_properties", "with_properties")]
    for row in rows:
        assert row["complete"] is True
        assert row["violations"] == []
        assert row["transitions"] > row["states"] > row["levels"]
    assert rows[0]["states"] == rows[1]["states"]


def test_two_processes_count_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BOUNDS, "quick", NamedScope("quick", "one client", SMALL))
    one, two = (worlds.worlds_figures("quick", jobs, judged=True) for jobs in (1, 2))
    for name in ("states", "transitions", "levels", "violations"):
        assert one[name] == two[name]


def test_what_is_printed_is_the_figures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(BOUNDS, "quick", NamedScope("quick", "one client", SMALL))
    worlds.print_worlds_figures("quick", 1, judged=False)
    assert json.loads(capsys.readouterr().out)["complete"] is True


def test_a_bound_that_there_is_not_is_refused() -> None:
    with pytest.raises(KeyError, match="quick, medium, million"):
        worlds.real_model_figures("huge")


def test_a_process_that_fails_is_told_of() -> None:
    assert "unavailable" in worlds._apart("huge", 1, judged=False)
