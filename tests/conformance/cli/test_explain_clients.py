from __future__ import annotations

import json
import re

import pytest
from support.in_this_process import invoke

from fencepost.conformance.cases.clients.scenario import in_words
from fencepost.conformance.cases.clients.scenario_catalogue import SCENARIOS
from fencepost.properties.requirements.requirements import REQUIREMENTS

PYTHON = re.compile(r"\bNone\b|\bTrue\b|\bFalse\b|\(\(|',\)|\w\(.*=|[{}]|frozenset|<\w")
"""Signs of a Python value, which no sentence has."""


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_an_obligation_is_explained(name: str) -> None:
    ran = invoke("explain", name)
    assert (ran.code, ran.err) == (0, "")
    row, words = REQUIREMENTS[name], " ".join(ran.out.split())
    assert ran.out.startswith(name)
    for text in (row.level.value, row.sentence, row.source, row.provoked, row.judged, row.dispute):
        assert " ".join(text.split()) in words
    assert all(each.id in words for each in SCENARIOS.values() if name in each.obligations)
    assert "broken by mutant:" in words


def test_a_case_is_its_scenario_and_its_obligation() -> None:
    out = invoke("explain", "CLIENT-CLOSE-IN-TIME/static-life").out
    assert "  5. let the user of a commit what was read\n" in out
    assert "\nCLIENT-CLOSE-IN-TIME SHOULD\n" in out


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("CLIENT-JOIN-SILEN", "did you mean CLIENT-JOIN-SILENT"),
        ("CLIENT-CLOSE-IN-TIME/static-lif", "did you mean CLIENT-CLOSE-IN-TIME/static-life"),
        ("static-lif", "did you mean static-life"),
    ],
)
def test_an_unknown_id_names_one_that_is_near(name: str, near: str) -> None:
    ran = invoke("explain", name)
    assert ran.code == 64
    assert near in ran.err


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_is_told_in_words(name: str) -> None:
    scenario = SCENARIOS[name]
    out = invoke("explain", name).out
    assert scenario.about in " ".join(out.split())
    for number, act in enumerate(scenario.acts, start=1):
        words = in_words(act)
        assert f"{number:>3}. {words}\n" in out
        assert not PYTHON.search(words), words


def test_scenarios_are_listed() -> None:
    out = invoke("cases", "--client").out
    assert f"{len(SCENARIOS)} of {len(SCENARIOS)} scenarios" in out
    some = json.loads(invoke("cases", "--client", "*-cooperative", "--json").out)
    assert [each["id"] for each in some] == [
        name for name in SCENARIOS if name.endswith("-cooperative")
    ]
    assert all(each["assignor"] == "cooperative" for each in some)
    by_obligation = json.loads(invoke("cases", "--client", "CLIENT-CLOSE-IN-TIME", "--json").out)
    assert {"static-life", "dynamic-life"} <= {each["id"] for each in by_obligation}


def test_what_matches_nothing_is_refused() -> None:
    assert "did you mean static-life" in invoke("cases", "--client", "static-lif").err
    assert invoke("cases", "--client", "--suite", "cover").code == 64
