"""A reason is given where it fits, and nowhere else."""

from __future__ import annotations

import msgspec
import pytest
from support.real_figures import FIGURES, case_result

from tools.deployments.simulated_and_real import (
    CASES_BY_NAME,
    CAUSE_COUNTS,
    COUNTS,
    REASONS,
    TIMES,
    reason,
)


@pytest.mark.parametrize(
    ("case", "figure", "still_ms", "name"),
    [
        ("scale-up-eager", "longest_gap_s", 20, "heartbeats-out-of-step"),
        ("scale-up-eager", "rebalances", 20, None),
        ("bounce-eager", "longest_gap_s", 20, None),
        ("bounce-eager", "longest_gap_s", 1200, "machine"),
        ("bounce-eager", "rebalances", 1200, None),
    ],
)
def test_a_reason_fits_or_not(case: str, figure: str, still_ms: int, name: str | None) -> None:
    figures = msgspec.structs.replace(FIGURES, control_ms=still_ms)
    assert reason(msgspec.structs.replace(case_result(figures), case=case), figure) == name


@pytest.mark.parametrize(
    ("case", "happened", "name"),
    [
        ("scale-up-eager", {"longest_gap_s": 2.1}, "heartbeats-out-of-step"),
        ("scale-up-eager", {"longest_gap_s": 2.3}, None),
        ("bounce-eager", {"longest_gap_s": 5.6, "control_ms": 1200}, "machine"),
        ("bounce-eager", {"longest_gap_s": 5.8, "control_ms": 1200}, None),
        ("failover", {"rebalances": 9}, "rebalance-after-the-outage"),
        ("failover", {"rebalances": 10}, None),
    ],
)
def test_a_reason_excuses_no_more_than_it_explains(
    case: str, happened: dict[str, float], name: str | None
) -> None:
    (figure, *_) = happened
    figures = msgspec.structs.replace(FIGURES, **happened)
    assert reason(msgspec.structs.replace(case_result(figures), case=case), figure) == name


def test_a_figure_that_was_not_simulated_has_no_reason() -> None:
    one = msgspec.structs.replace(case_result(FIGURES), case="scale-up-eager", simulated={})
    assert reason(one, "longest_gap_s") is None


def test_reasons_are_about_cases_and_figures_that_there_are() -> None:
    for one in REASONS.values():
        assert set(one.cases) <= CASES_BY_NAME.keys()
        assert set(one.figures) <= {*COUNTS, *CAUSE_COUNTS, *TIMES}
