"""The terminal's tables and the files of a report."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import msgspec
from rich.console import Console

from fencepost.conformance.simulate.deployment_scenario import checked_scenario
from fencepost.conformance.simulate.simulate import FIGURES, Variant
from fencepost.conformance.simulate.simulation_report import (
    ROWS,
    print_variants,
    runs_csv,
    write_simulation,
)
from fencepost.conformance.simulate.sweep import (
    in_processes,
    simulate_all,
    variants_of,
    varied,
    with_values,
)

SMALL = checked_scenario(
    {"name": "small", "members": 2, "partitions": 2, "step": [{"do": "bounce"}]}, "a test"
)


def printed(forms: str, seeds: int) -> str:
    console = Console(width=160, record=True, quiet=False, file=None)
    with console.capture() as told:
        print_variants(
            SMALL, simulate_all(variants_of(SMALL, forms), range(seeds), in_processes(1)), console
        )
    return told.get()


def test_every_figure_has_a_row() -> None:
    assert set(ROWS) == set(FIGURES)


def test_racks_have_a_row_where_they_are_known() -> None:
    assert "another rack" not in printed("eager", 2)
    racked = with_values(SMALL, {"racks": ["a", "b"], "replicas": 1}, "a test")
    console = Console(width=160)
    for as_rows in (False, True):
        variants = simulate_all({"eager": racked}, range(1), in_processes(1))
        with console.capture() as told:
            print_variants(racked, variants, console, as_rows=as_rows)
        assert "another rack" in told.get()


def test_one_form_is_printed_with_its_rebalances() -> None:
    lines = [" ".join(line.split()) for line in printed("eager", 1).splitlines()]
    assert lines[0].startswith("small: 4 rebalances, ")
    assert lines[1] == "2 members, 2 partitions, seed 0."
    assert "rebalances 4" in lines
    assert sum("leave: app-" in line for line in lines) == 2


def test_several_forms_stand_side_by_side_with_percentiles() -> None:
    lines = [" ".join(line.split()) for line in printed("eager,static", 2).splitlines()]
    assert lines[0].startswith("small: ")
    assert " loses least, " in lines[0]
    assert lines[1] == "2 members, 2 partitions, 2 seeds from 0 on."
    assert lines[2:5] == ["eager static", "p50 / p95 p50 / p95", "rebalances 4 / 4 0 / 0"]
    assert not any("leave" in line for line in lines)


def test_of_many_sets_of_values_each_is_a_row() -> None:
    console = Console(width=160)
    forms = varied(variants_of(SMALL, "static"), ["restart_s=2,4", "members=2,3"])
    variants = simulate_all(forms, range(1), in_processes(1))
    with console.capture() as told:
        print_variants(SMALL, variants, console, as_rows=True)
    lines = [" ".join(line.split()) for line in told.get().splitlines()]
    assert lines[0].startswith("small: static, restart_s=2, ")
    assert lines[1] == "4 sets of values, seed 0."
    assert lines[2] == "rebalances moved not consumed longest balanced after"
    assert lines[3].startswith("static, restart_s=2, members=2 0 0 4.3 s 2.2 s")
    assert len(lines) == 7


def test_each_run_is_a_row_of_the_csv() -> None:
    variants = simulate_all(variants_of(SMALL, "eager,static"), range(2), in_processes(1))
    rows = list(csv.DictReader(runs_csv(variants).splitlines()))
    assert [(row["variant"], row["seed"]) for row in rows] == [
        (form, seed) for form in ("eager", "static") for seed in "01"
    ]
    assert [row["rebalances"] for row in rows] == ["4", "4", "0", "0"]
    never = msgspec.structs.replace(variants[0].first, balanced_after_s=None)
    (row,) = csv.DictReader(runs_csv([Variant((never,))]).splitlines())
    assert row["balanced_after_s"] == ""


def test_a_report_is_json_and_a_page_and_always_the_same(tmp_path: Path) -> None:
    for name in ("one", "other"):
        variants = simulate_all(variants_of(SMALL, "eager,static"), range(1), in_processes(1))
        write_simulation(SMALL, variants, tmp_path / name)
    written = {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()}
    assert written == {path.name: path.read_bytes() for path in (tmp_path / "other").iterdir()}
    assert set(written) == {"simulation.json", "runs.csv", "index.html"}
    assert len(json.loads(written["simulation.json"])["compared"]) == 2
