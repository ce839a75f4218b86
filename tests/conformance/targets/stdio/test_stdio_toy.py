"""The toy coordinator of the examples: both of its mistakes are found, and named by their rules."""

from __future__ import annotations

import asyncio
import shlex

import pytest
from support.places import ROOT
from support.runs import KAFKA_4

from fencepost.conformance.cases import matching
from fencepost.conformance.run.certify import Options, certify
from fencepost.conformance.targets.target_registry import TargetOptions, find_target
from fencepost.model.table.table import Level
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.judging.report import Certificate, Overall
from fencepost.properties.oracle.fingerprint import broken_rule

TOY = ROOT / "examples" / "toy-coordinator.mjs"
GLOBS = ("JOIN-STATIC-EMPTY-STABLE/*", "LEAVE-MEMBER-INSTANCE-FENCED/*", "HEARTBEAT-STABLE/*")

pytestmark = [
    pytest.mark.needs("node"),
    pytest.mark.skipif(not TOY.is_file(), reason="needs the examples of the checkout"),
]


@pytest.fixture(scope="module")
def toy() -> Certificate:
    entries = [entry for glob in GLOBS for entry in matching(glob)]
    target = find_target(f"exec:node {shlex.quote(str(TOY))}", TargetOptions())
    return asyncio.run(certify(target, KAFKA_4, entries, Options()))


def broken(result: CaseResult) -> str | None:
    if result.verdict is None or result.verdict.violation is None:
        return None
    rule = broken_rule(result.verdict.violation, KAFKA_4)
    return None if rule is None else rule.id


def test_it_is_violated(toy: Certificate) -> None:
    assert toy.overall() is Overall.VIOLATED
    assert toy.provenance.implementation == "toy-coordinator"


def test_an_id_that_is_handed_out_twice_is_found(toy: Certificate) -> None:
    found = [r for r in toy.results if broken(r) == "JOIN-STATIC-EMPTY-STABLE"]
    assert found
    for result in found:
        assert (result.outcome, result.level) == (Outcome.FAIL, Level.MUST)
    (keeps,) = [r for r in found if r.case.id == "JOIN-STATIC-EMPTY-STABLE/instance-keeps-its-id"]
    assert "[a new id]" in keeps.message  # what should have been told…
    assert "leads [A1], skips" in keeps.message  # …and what was


def test_a_leave_that_evicts_the_holder_is_found(toy: Certificate) -> None:
    found = [r for r in toy.results if broken(r) == "LEAVE-MEMBER-INSTANCE-FENCED"]
    assert found
    for result in found:
        assert (result.outcome, result.level) == (Outcome.FAIL, Level.MUST)
        assert "instance B: NONE" in result.message


def test_nothing_else_is_held_against_it(toy: Certificate) -> None:
    mistakes = {"JOIN-STATIC-EMPTY-STABLE", "LEAVE-MEMBER-INSTANCE-FENCED"}
    rows = {"LEAVE-ROWS"}  # where the wrong row is one of several
    assert {broken(result) for result in toy.results} == mistakes | rows | {None}
    assert any(r.outcome is Outcome.PASS for r in toy.results)
