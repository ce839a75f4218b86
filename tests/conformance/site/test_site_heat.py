"""The heat map counts each case once, and its colour is that of the worst outcome."""

from __future__ import annotations

import pytest
from support.places import ROOT

from fencepost.conformance.site.site import OTHERS, area_of, by_area, cell, rows
from fencepost.conformance.site.site_results import read_results
from fencepost.traces.report.certificate_data import CaseRow


def cases(*outcomes: str) -> list[CaseRow]:
    return [CaseRow(f"A/{n}", outcome, "MUST", "A", "", None) for n, outcome in enumerate(outcomes)]


@pytest.mark.parametrize(
    ("outcomes", "tone", "heat", "said"),
    [
        (["pass"] * 2, "pass", 0, "2 pass"),
        (["pass"] * 9 + ["known-failure"], "known-failure", 1, "9 pass, 1 known failure"),
        (["pass"] * 3 + ["known-failure"], "known-failure", 2, "3 pass, 1 known failure"),
        (["pass", "fail"], "fail", 3, "1 pass, 1 failure"),
        (["fail", "known-failure", "pass"], "fail", 4, "1 pass, 1 failure, 1 known failure"),
        (["pass", "unknown"], "unknown", 0, "1 pass, 1 unknown"),
        (["unsupported"] * 2, "unsupported", 0, "2 not applicable"),
        (["unsupported", "pass", "skipped"], "pass", 0, "1 pass, 1 not applicable, 1 skipped"),
    ],
)
def test_a_cell(outcomes: list[str], tone: str, heat: int, said: str) -> None:
    found = cell(cases(*outcomes))
    assert found is not None
    assert (found.tone, found.heat, found.counts) == (tone, heat, said)
    undecided = {"unsupported", "skipped", "unknown"}
    assert found.decided == sum(o not in undecided for o in outcomes)


def test_without_cases_there_is_no_cell() -> None:
    assert cell([]) is None


def test_no_case_is_left_out_or_counted_twice() -> None:
    results = read_results([ROOT / "docs" / "certificates"])
    found = rows(by_area(results), results)
    for place, result in enumerate(results):
        held = [row.cells[place] for row in found]
        passed = sum(one.passed for one in held if one is not None)
        assert passed == result.counts()["pass"]


def test_a_rule_of_another_suite_is_among_the_others() -> None:
    assert area_of("NOTHING-LIKE-IT") == OTHERS
    assert area_of("LEAVE-MEMBER") == "leaves"
