"""A result is held to what was simulated; one that is wrong is caught."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from support.real_figures import FIGURES, case_result

from tools.deployments.simulated_and_real import (
    CASES_BY_NAME,
    LEAST_JITTER_S,
    differences,
    jitter_s,
    read_results,
    simulated,
    write_results,
)


@pytest.mark.parametrize(
    ("wrong", "figures"),
    [
        ({}, []),
        ({"rebalances": 9}, ["rebalances"]),
        ({"partitions_moved": 41}, []),
        ({"partitions_moved": 39}, ["partitions_moved"]),
        ({"partitions_stopped": 11}, ["partitions_stopped"]),
        ({"failures": ("app-1: FENCED_INSTANCE_ID (poll)",)}, ["failed"]),
        ({"longest_gap_s": 1.21}, []),
        ({"longest_gap_s": 1.23}, ["longest_gap_s"]),
        ({"longest_gap_s": 1.23, "control_ms": 50}, []),
        ({"longest_gap_s": 0.3}, ["longest_gap_s"]),
    ],
)
def test_what_is_not_as_simulated_is_named(wrong: dict[str, object], figures: list[str]) -> None:
    one = case_result(FIGURES, msgspec.structs.replace(FIGURES, **wrong))
    assert differences(one, LEAST_JITTER_S) == figures


@pytest.mark.parametrize(
    ("causes", "figures"),
    [
        ({"leave": 4, "new member": 4}, []),
        ({"leave": 4, "expiry": 4}, ["expiries", "new_members"]),
        ({"leave": 4, "new member": 3, "leader rejoin": 1}, ["new_members", "rejoins"]),
        ({}, []),  # an old run, of which they were not kept
    ],
)
def test_so_are_rebalances_of_other_causes(causes: dict[str, int], figures: list[str]) -> None:
    one = case_result(msgspec.structs.replace(FIGURES, causes=causes))
    by_cause = {"leaves": (4, 4), "expiries": (0, 0), "new_members": (4, 4), "rejoins": (0, 0)}
    one = msgspec.structs.replace(one, simulated={**one.simulated, **by_cause})
    assert differences(one, LEAST_JITTER_S) == figures


def test_causes_are_counted_in_a_simulation_of_the_case() -> None:
    ranges = simulated(CASES_BY_NAME["bounce-eager"].at(3, 15), (), seeds=2)
    assert (ranges["leaves"], ranges["new_members"], ranges["rejoins"]) == ((3, 3), (3, 3), (0, 0))


def test_a_figure_that_was_not_simulated_differs() -> None:
    one = msgspec.structs.replace(case_result(FIGURES), simulated={})
    assert "rebalances" in differences(one, LEAST_JITTER_S)


def test_the_jitter_is_how_far_repeats_lie_apart() -> None:
    assert jitter_s([case_result(FIGURES)]) == LEAST_JITTER_S
    later = msgspec.structs.replace(FIGURES, longest_gap_s=1.75)
    assert jitter_s([case_result(FIGURES), case_result(FIGURES, later)]) == pytest.approx(0.75)


def test_a_gap_that_is_a_restart_is_no_jitter() -> None:
    restarted = msgspec.structs.replace(FIGURES, longest_gap_s=2.5)
    away = msgspec.structs.replace(FIGURES, longest_gap_s=1.9, downs_s=(1.9,))
    slow = msgspec.structs.replace(FIGURES, longest_gap_s=1.9, control_ms=700)
    for one in (restarted, away, slow):
        assert jitter_s([case_result(FIGURES, one)]) == LEAST_JITTER_S


def test_an_outage_of_the_broker_is_no_fault_of_the_machine() -> None:
    slow = msgspec.structs.replace(FIGURES, control_ms=9000)
    assert slow.was_disturbed
    assert not msgspec.structs.replace(slow, downs_s=(9.0,)).was_disturbed


def test_it_is_simulated_with_the_restarts_that_were() -> None:
    scenario = case_result(FIGURES).scenario
    quick = simulated(scenario, [FIGURES], seeds=2)
    slow = simulated(scenario, [msgspec.structs.replace(FIGURES, restarts_s=(6.0,))], seeds=2)
    for one in (quick, slow):
        assert one["rebalances"] == (8, 8)
    assert quick["balanced_after_s"][1] + 12 < slow["balanced_after_s"][0]


def test_results_are_kept_in_the_order_of_cases(tmp_path: Path) -> None:
    path = tmp_path / "reality.json"
    assert read_results(path) == []
    first, last = (
        case_result(FIGURES),
        msgspec.structs.replace(case_result(FIGURES), case="failover"),
    )
    write_results(path, [last, first])
    assert read_results(path) == [first, last]
