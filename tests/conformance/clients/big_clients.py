"""The judge of clients, held to account: `tox -e clients`.

The reference client passes everything, on a served broker and on a real one; each lying client
fails an obligation whose duty it breaks; each library comes out as its kept certificate says.
"""

from __future__ import annotations

import sys
from typing import Any

import pytest
from support.places import ROOT

from fencepost.conformance.clients.certificate.certificate import (
    ClientCertificate,
    certificate_json,
)
from fencepost.conformance.clients.certificate.kept import kept
from fencepost.conformance.clients.certificate.known_failures import load_known
from fencepost.conformance.clients.certificate.run import certificate_of
from fencepost.conformance.clients.obligations.table import OBLIGATIONS
from fencepost.conformance.clients.registry import find_client
from fencepost.conformance.docs.certificates_page import differences
from fencepost.conformance.docs.clients_page import FOLDER, read_all
from fencepost.conformance.execution.outcome import Outcome
from fencepost.conformance.targets.registry import find_revision
from fencepost.properties.mutants.clients import CLIENT_MUTANTS, ClientMutant

KAFKA_4 = find_revision("kafka-4")
KEPT = read_all(ROOT / "docs" / FOLDER)
_MINUTES = 3


async def certified(client: str, broker: str = "serve", *patterns: str) -> ClientCertificate:
    return await certificate_of(find_client(client), broker, KAFKA_4, patterns=patterns)


def _shaky(certificate: dict[str, Any]) -> list[str]:
    """The cases whose known failure comes and goes."""
    known = load_known(certificate["target"], certificate["version"])
    return [entry.case for entry in known if entry.intermittent]


@pytest.mark.parametrize(
    "broker", ["serve", pytest.param("kafka:4.3.0", marks=pytest.mark.needs("java", "mvn"))]
)
async def test_the_reference_client_does_all_that_it_owes(broker: str) -> None:
    certificate = await certified("reference", broker)
    sys.stdout.write(f"{certificate.summary()}; {certificate.seconds:.0f} s\n")
    assert certificate.exit_code() == 0
    bad = [
        r.id for r in certificate.results if r.outcome not in {Outcome.PASS, Outcome.UNSUPPORTED}
    ]
    assert bad == []


@pytest.mark.parametrize("mutant", CLIENT_MUTANTS.values(), ids=lambda mutant: mutant.name)
async def test_a_lying_client_is_caught_by_what_it_breaks(mutant: ClientMutant) -> None:
    names = [row.id for row in OBLIGATIONS.values() if row.part == mutant.breaks]
    certificate = await certified(f"mutant:{mutant.name}", "serve", *names)
    failed = {r.obligation for r in certificate.results if r.outcome is Outcome.FAIL}
    sys.stdout.write(f"{mutant.name}: {sorted(failed)}\n")
    assert failed


@pytest.mark.needs("javac", "mvn", "go", "npm")
@pytest.mark.parametrize("old", KEPT, ids=lambda old: old["target"])
async def test_a_library_comes_out_as_it_did(old: dict[str, Any]) -> None:
    certificate = await certified(old["target"])
    sys.stdout.write(f"{certificate.summary()}; {certificate.seconds:.0f} s\n")
    assert differences(old, kept(certificate_json(certificate)), _shaky(old)) == []
    assert certificate.seconds < _MINUTES * 60
