"""A whole run, from a client's name to its certificate: for the command line and for Python."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fencepost.conformance.cases.clients.scenario_catalogue import SCENARIOS, chosen
from fencepost.conformance.clients.certificate.client_certificate import ClientCertificate
from fencepost.conformance.clients.certificate.known_client_failures import apply, load_known
from fencepost.conformance.clients.certify_client import JOBS, ClientCertifier, Progress
from fencepost.conformance.clients.driver_programs import Client
from fencepost.conformance.clients.stage import staged
from fencepost.model.history.words import plural
from fencepost.model.revision import Revision
from fencepost.model.table.table import Level
from fencepost.traces.files.tool_versions import all_versions


async def certificate_of(
    client: Client,
    broker: str,
    revision: Revision,
    *,
    patterns: Sequence[str] = (),
    level: Level = Level.SHOULD,
    jobs: int = JOBS,
    known_failures: Sequence[Path] | None = (),
    progress: Progress | None = None,
) -> ClientCertificate:
    """Hold a client to its obligations.

    `broker`: `serve`, or a target.  `patterns`: of cases, obligations or scenarios: only these.
    `known_failures`: lists beside the shipped one; None: no list at all.

    Raises NoScenarioError, KnownFailuresError, UnknownTargetError and TargetUnavailableError.
    """
    began = time.monotonic()
    scenarios = chosen(patterns)
    cases = sum(len(one.obligations) for one in scenarios.values())
    every = sum(len(one.obligations) for one in SCENARIOS.values())
    notes = (f"{plural(every - cases, 'case')} not chosen",) if cases < every else ()
    async with staged(broker, revision) as stage:
        certifier = ClientCertifier(client, stage, jobs=jobs, progress=progress)
        results = await certifier.run(list(scenarios.values()))
    certificate = ClientCertificate(
        client=client.name,
        introduction=certifier.introduction,
        broker=broker,
        revision=revision.name,
        results=tuple(results),
        level=level,
        versions=all_versions(),
        seconds=time.monotonic() - began,
        notes=notes,
    )
    if known_failures is None:
        return certificate
    known = load_known(client.name, certifier.introduction.version, known_failures)
    return replace(certificate, results=apply(certificate.results, known))
