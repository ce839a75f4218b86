"""The worked adapters of examples/ on all cases: how many they pass, and why not the others."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from support.adapters import built
from support.runs import KAFKA_4

from fencepost.conformance.cases.suites import CATALOGUE, find_suite
from fencepost.conformance.run.certify import Options, certify
from fencepost.conformance.targets.target_registry import TargetOptions, find_target
from fencepost.properties.judging.outcome import Outcome


@pytest.mark.parametrize(
    ("name", "passed", "unsupported"),
    [
        pytest.param("go-coordinator", 345, 167, marks=pytest.mark.needs("go")),
        pytest.param("typescript-coordinator", 360, 152, marks=pytest.mark.needs("node")),
    ],
)
def test_the_figures_of_a_worked_adapter(
    name: str, passed: int, unsupported: int, pytestconfig: pytest.Config
) -> None:
    target = find_target(f"exec:{built(name, pytestconfig.cache)}", TargetOptions())
    entries = find_suite(CATALOGUE, KAFKA_4).entries
    certificate = asyncio.run(certify(target, KAFKA_4, entries, Options()))

    counted = Counter(result.outcome for result in certificate.results)
    assert counted == {Outcome.PASS: passed, Outcome.UNSUPPORTED: unsupported}
