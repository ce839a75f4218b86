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
def told() -> tuple[dict[str, int], int]:
    """The page's figures: obligations by experiment, and how many fail as expected."""
    figures = r"\(([\d,]+), ([\d,]+) and ([\d,]+) obligations; (\d+) fail"
    found = re.search(figures, PAGE.read_text(encoding="utf-8"))
    assert found
    *counts, fail = (int(figure.replace(",", "")) for figure in found.groups())
    return dict(zip(EXPERIMENTS, counts, strict=True)), fail


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_is_proved_as_its_page_says(
    name: str, told: tuple[dict[str, int], int]
) -> None:
    proof = prove(revisions.find(name))
    assert [one.about for one in proof.failures] == []
    assert (len(proof.obligations), len(proof.expected)) == (told[0][name], told[1])
