"""The worked adapters in Go and TypeScript reply as the page says, and pass a sample of the cases.

`big_adapters.py` runs all cases.
"""

from __future__ import annotations

import asyncio
import shlex

import pytest
from support.adapters import EXAMPLES, built
from support.exchange import departures
from support.message_samples import NEWER
from support.runs import KAFKA_4

from fencepost.conformance.cases.suites import CATALOGUE, find_suite
from fencepost.conformance.run.certify import Options, certify
from fencepost.conformance.targets.target_registry import TargetOptions, find_target
from fencepost.properties.judging.outcome import Outcome

EVERY = 5
"""One case of so many is run here."""

pytestmark = [
    pytest.mark.skipif(not EXAMPLES.is_dir(), reason="needs the examples of the checkout"),
    pytest.mark.parametrize(
        ("name", "most_unsupported"),
        [
            pytest.param("go-coordinator", 15, marks=pytest.mark.needs("go")),
            pytest.param(
                "typescript-coordinator", 12, marks=[pytest.mark.needs("node"), pytest.mark.slow]
            ),
        ],
    ),
]


def test_a_worked_adapter_is_right(
    name: str, most_unsupported: int, pytestconfig: pytest.Config
) -> None:
    command = built(name, pytestconfig.cache)
    assert departures(shlex.split(command)) == []

    catalogue = find_suite(CATALOGUE, KAFKA_4).entries
    known = [e for e in catalogue if not NEWER & {api for api, _ in e.needs.apis}]
    entries = known[::EVERY]
    target = find_target(f"exec:{command}", TargetOptions())
    certificate = asyncio.run(certify(target, KAFKA_4, entries, Options()))

    outcomes = [result.outcome for result in certificate.results]
    assert certificate.provenance.implementation == name
    assert [r.case.id for r in certificate.results if r.outcome is Outcome.FAIL] == []
    assert set(outcomes) == {Outcome.PASS, Outcome.UNSUPPORTED}
    assert outcomes.count(Outcome.UNSUPPORTED) <= most_unsupported
