"""The judge of clients, held to account: `tox -e clients`.

The reference client passes everything, on a served broker and on a real one; each lying client
fails the requirements that it breaks, and none but those and what follows from it; each library
comes out as its kept certificate says.
"""

from __future__ import annotations

import sys
from typing import Any

import pytest
from support.all_client_scenarios import broken_by
from support.places import ROOT

from fencepost.conformance.clients.certify_client import certificate_of
from fencepost.conformance.clients.driver_programs import find_client
from fencepost.conformance.targets.target_registry import find_revision
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.mutants.client_mutants import CLIENT_MUTANTS, ClientMutant
from fencepost.traces.files.known_failure_lists import CLIENT_FOLDER, load
from fencepost.traces.report.client_certificate import ClientCertificate, kept
from fencepost.traces.report.report_folder import certificate_document
from tools.docs.certificates_page import differences
from tools.docs.clients_page import FOLDER, read_all

KAFKA_4 = find_revision("kafka-4")
KEPT = read_all(ROOT / "docs" / FOLDER)
_MINUTES = 3
AGREEING = ("java:4.3.0", "confluent-kafka:2.16.1", "kafka-python:3.0.12", "franz-go:1.22.2")
"""Libraries that a real Kafka is asked about, too."""

JOINS_BEHIND_A_POLL = {"CLIENT-CLOSE-REVOKED/closes-in-revoke-callback"}
"""Needs a client that joins while its user is busy; the reference client joins when it polls."""


async def certified(client: str, broker: str = "serve", *patterns: str) -> ClientCertificate:
    return await certificate_of(find_client(client), broker, KAFKA_4, patterns=patterns)


def _target(old: dict[str, Any]) -> str:
    return str(old["target"])


def _shaky(certificate: dict[str, Any]) -> list[str]:
    """The cases whose known failure comes and goes."""
    known = load(certificate["target"], certificate["version"], folder=CLIENT_FOLDER)
    anywhere = {entry.rule for entry in known if entry.anywhere}
    return [
        *(entry.case for entry in known if entry.intermittent),
        *(case for case in certificate["cases"] if case.split("/")[0] in anywhere),
    ]


@pytest.mark.parametrize(
    "broker", ["serve", pytest.param("kafka:4.3.0", marks=pytest.mark.needs("java", "mvn"))]
)
async def test_the_reference_client_does_all_that_it_owes(broker: str) -> None:
    certificate = await certified("reference", broker)
    sys.stdout.write(f"{certificate.summary()}; {certificate.seconds:.0f} s\n")
    assert certificate.exit_code() == 0
    outcomes = {r.case.id: r.outcome for r in certificate.results}
    lacks = {name for name, outcome in outcomes.items() if outcome is Outcome.UNSUPPORTED}
    assert set(outcomes.values()) <= {Outcome.PASS, Outcome.UNSUPPORTED}
    if broker == "serve":
        assert lacks == JOINS_BEHIND_A_POLL
    else:
        assert len(outcomes) - len(lacks) > 50


@pytest.mark.parametrize("mutant", CLIENT_MUTANTS.values(), ids=lambda mutant: mutant.name)
async def test_a_lying_client_is_caught_by_what_it_breaks_and_by_what_follows(
    mutant: ClientMutant,
) -> None:
    """What follows is what the lying client fails in the simulation, on a virtual clock."""
    certificate = await certified(f"mutant:{mutant.name}")
    failed = {r.obligation for r in certificate.results if r.outcome is Outcome.FAIL}
    sys.stdout.write(f"{mutant.name}: {sorted(failed)}; {certificate.seconds:.0f} s\n")
    assert set(mutant.breaks) <= failed
    assert failed <= broken_by(mutant.conduct)


@pytest.mark.needs("javac", "mvn", "go", "npm")
@pytest.mark.parametrize("old", KEPT, ids=_target)
async def test_a_library_comes_out_as_it_did(old: dict[str, Any]) -> None:
    certificate = await certified(old["target"])
    sys.stdout.write(f"{certificate.summary()}; {certificate.seconds:.0f} s\n")
    assert differences(old, kept(certificate_document(certificate)), _shaky(old)) == []
    assert certificate.seconds < _MINUTES * 60


@pytest.mark.needs("java", "javac", "mvn", "go")
@pytest.mark.parametrize("old", [o for o in KEPT if o["target"] in AGREEING], ids=_target)
async def test_a_served_broker_and_a_real_one_agree(old: dict[str, Any]) -> None:
    certificate = await certified(old["target"], "kafka:4.3.0")
    ran = {
        result.case.id: result.outcome.value
        for result in certificate.results
        if result.outcome is not Outcome.UNSUPPORTED
    }
    served = {name: old["cases"][name]["outcome"] for name in ran}
    differing = {name for name in ran if ran[name] != served[name]} - set(_shaky(old))
    sys.stdout.write(f"| {old['target']} | {len(ran)} | {len(differing)} |\n")
    assert len(ran) > 50
    assert differing == set()
