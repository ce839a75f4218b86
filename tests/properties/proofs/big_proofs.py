"""The accepted text and the experiments are proved, too: `tox -e explore`."""

from __future__ import annotations

import re

import pytest
from support.places import ROOT

from fencepost.model.revisions import revisions
from fencepost.properties.claims.property_registry import FORMULAS
from fencepost.properties.proofs.proofs import prove


def test_the_accepted_text_is_proved() -> None:
    proof = prove(revisions.find("kip-345"))
    assert [one.about for one in proof.failures] == []
    assert proof.uncovered == ()
    assert len(proof.obligations) > 5000
    found: dict[str, set[str]] = {}
    for one in proof.expected:
        found.setdefault(one.about, set()).add(one.rule)
    said = {
        p.id: set(p.expected_rules["kip-345"]) for p in FORMULAS if "kip-345" in p.expected_rules
    }
    assert found == said


PAGE = ROOT / "docs" / "designers" / "experiments.md"
EXPERIMENTS = ("experiment-preregistered", "experiment-standby", "experiment-target-size")


@pytest.fixture(scope="module")
def expected_of_kafka_4() -> set[tuple[str, str]]:
    """Return the property and rule of each obligation of kafka-4 that fails as expected."""
    return {(one.about, one.rule) for one in prove(revisions.find("kafka-4")).expected}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_is_proved_as_its_page_says(
    name: str, expected_of_kafka_4: set[tuple[str, str]]
) -> None:
    count = re.search(
        r"thousands of obligations for each revision; (\d+) fail as expected", _page()
    )
    assert count
    proof = prove(revisions.find(name))
    assert [one.about for one in proof.failures] == []
    assert len(proof.obligations) > 2000
    assert len(proof.expected) == int(count[1])
    assert {(one.about, one.rule) for one in proof.expected} <= expected_of_kafka_4


def _page() -> str:
    return " ".join(PAGE.read_text(encoding="utf-8").split())
