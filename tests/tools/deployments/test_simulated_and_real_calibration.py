"""How long members take to read again is what real bounces took longer than simulated ones."""

from __future__ import annotations

from statistics import median

import msgspec
import pytest
from support.places import ROOT
from support.real_figures import FIGURES, case_result

from fencepost.conformance.simulate.deployment_scenario import RESUME_S
from tools.deployments.simulated_and_real import CASE, read_results, resumes_s
from tools.docs.deployments_page import DATA


def test_the_default_is_the_median_of_the_real_bounces() -> None:
    found = resumes_s(read_results(ROOT / "docs" / DATA))
    assert found
    assert round(median(found), 2) == RESUME_S


def test_it_is_what_a_partition_waited_longer_in_each_rebalance() -> None:
    one = msgspec.structs.replace(FIGURES, rebalances=24, unavailable_partition_s=170.0)
    result = msgspec.structs.replace(
        case_result(one),
        case=CASE,
        partitions=60,
        simulated={"unavailable_partition_s": (68.0, 72.0)},
    )
    assert resumes_s([result]) == [pytest.approx(100 / 24 / 60)]
    assert resumes_s([msgspec.structs.replace(result, case="crash-eager")]) == []
