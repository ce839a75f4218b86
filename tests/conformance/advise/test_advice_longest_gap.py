"""No partition waits longer than `advise` says, and a deployment takes about as long."""

from __future__ import annotations

from statistics import mean
from typing import Any

import pytest
from support.arithmetic_runs import known, simulated

from fencepost.conformance.advise.advice import (
    deployment_s,
    longest_crash_s,
    longest_death_s,
    longest_restart_s,
)
from fencepost.conformance.advise.known_facts import FORMS

SPREAD = {"members": 4, "topics": (8,), "restart_s": {"median": 6, "p95": 14}}


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("more", [{}, {"processing_s": 2.0}], ids=str)
def test_no_partition_waits_longer_and_a_deployment_lasts_so_long(
    more: dict[str, Any], form: Any
) -> None:
    own = known({**SPREAD, **more})
    costs = simulated(own, form, 10.0, "rolling-bounce", 6)
    longest_s = max(cost.longest_gap_s for cost in costs)
    said_s = longest_restart_s(own, form, 10.0)
    assert longest_s <= said_s
    assert said_s < 1.6 * longest_s
    lasted = [cost.balanced_after_s for cost in costs if cost.balanced_after_s is not None]
    assert deployment_s(own, form, 10.0) == pytest.approx(mean(lasted), rel=0.25)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_nor_after_a_crash_or_a_death(form: Any) -> None:
    own = known({**SPREAD, "restart_s": 4.0})
    for name, said_s in (
        ("crash", longest_crash_s(own, form, 10.0)),
        ("crash-for-good", longest_death_s(own, 10.0)),
    ):
        longest_s = max(cost.longest_gap_s for cost in simulated(own, form, 10.0, name, 6))
        assert longest_s <= said_s < 1.6 * longest_s


def test_a_session_ends_the_longest_restart() -> None:
    static = FORMS[2]
    assert longest_restart_s(known({"restart_s": 4.0}), static, 45) == pytest.approx(4.18)
    assert longest_restart_s(known(SPREAD), static, 45) == pytest.approx(48.18)
    assert longest_restart_s(known(SPREAD), FORMS[0], 45) == pytest.approx(3.18)
