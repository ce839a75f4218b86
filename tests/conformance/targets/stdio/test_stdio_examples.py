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

LACKS = {
    f"the target lacks {name}"
    for name in (
        *("DescribeGroups v0", "DescribeGroups v4", "ListGroups v0", "OffsetFetch v9"),
        *("the setting message.max.bytes", "the setting offsets.retention.check.interval.ms"),
        "feature move-coordinator",
    )
}
"""Reasons for unsupported cases that all worked adapters share."""

pytestmark = [
    pytest.mark.skipif(not EXAMPLES.is_dir(), reason="needs the examples of the checkout"),
    pytest.mark.parametrize(
        ("name", "lacks"),
        [
            pytest.param("go-coordinator", {"restart"}, marks=pytest.mark.needs("go")),
            pytest.param(
                "typescript-coordinator",
                {"missing-topics"},
                marks=[pytest.mark.needs("node"), pytest.mark.slow],
            ),
        ],
    ),
]


def test_a_worked_adapter_is_right(name: str, lacks: set[str], pytestconfig: pytest.Config) -> None:
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
    reasons = {r.message for r in certificate.results if r.outcome is Outcome.UNSUPPORTED}
    assert reasons == LACKS | {f"the target lacks feature {feature}" for feature in lacks}
