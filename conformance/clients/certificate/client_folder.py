"""Write a client's certificate as files: for programs, for CI, and for people.

Print a client's certificate on the screen: failures, what is known, counts, the verdict.

A whole run, from a client's name to its certificate: for the command line and for Python.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from fencepost.conformance.cases.clients.scenario_catalogue import SCENARIOS, chosen
from fencepost.conformance.clients.certificate.client_certificate import (
    ClientCertificate,
    by_obligation,
    checked_json,
    has_trace,
    trace_json,
    trace_name,
)
from fencepost.conformance.clients.certificate.known_client_failures import apply, load_known
from fencepost.conformance.clients.certify_client import (
    JOBS,
    ClientCertifier,
    ClientResult,
    Progress,
)
from fencepost.conformance.clients.driver_programs import Client
from fencepost.conformance.clients.stage import staged
from fencepost.model.history.words import plural
from fencepost.model.revision import Revision
from fencepost.model.table.table import LEVELS, Level
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.requirements import AREAS, OBLIGATIONS
from fencepost.traces.files.bounded import all_versions
from fencepost.traces.report.certificate_diff import PAGE, CertificateDiff, diff_page
from fencepost.traces.report.junit import TOLD, JUnitCase, aside, junit_document
from fencepost.traces.report.known_failures import KNOWN, STALE
from fencepost.traces.report.report_folder import write_texts
from fencepost.traces.report.report_text import COLOURS, EXCUSED, OVERALL, counts_table, say

INDEX = "index.html"


def write_report(
    certificate: ClientCertificate, directory: Path, diff: CertificateDiff | None = None
) -> None:
    """Write certificate.json, junit.xml, index.html and traces/ into a folder, made if missing.

    `diff`: the comparison with an older one, for which diff.html is written.  Raises ReportError.
    """
    document = checked_json(certificate)
    traces = {
        trace_name(result.id): trace_json(result)
        for result in certificate.results
        if has_trace(result)
    }
    texts = {
        "certificate.json": _text(document),
        "junit.xml": junit_xml(certificate),
        INDEX: index_page(document, traces),
        **{name: _text(trace) for name, trace in traces.items()},
    }
    if diff is not None:
        from fencepost.traces.report.certificate_page import client_tone  # noqa: PLC0415  (Jinja)

        texts[PAGE] = diff_page(diff, document, {}, client_tone(document))
    write_texts(texts, directory, "--report")


def index_page(
    document: Mapping[str, Any], traces: Mapping[str, Mapping[str, Any]], title: str = ""
) -> str:
    """The page of a certificate; `traces`: by the names that its cases have."""
    from fencepost.traces.report.certificate_page import client_page  # noqa: PLC0415  (Jinja)

    return client_page(
        document, traces, AREAS, {name: row.area for name, row in OBLIGATIONS.items()}, title
    )


def junit_xml(certificate: ClientCertificate) -> str:
    """The certificate as JUnit XML: a suite for each area at each level."""
    found = [
        _junit_case(certificate, result)
        for cases in by_obligation(certificate.results).values()
        for result in cases
    ]
    found.sort(key=lambda case: _order(case.suite))
    return junit_document(certificate.subject, found, None)


def _order(suite: str) -> tuple[int, int]:
    area, _, level = suite.partition(" ")
    return list(AREAS).index(area), [one.value for one in LEVELS].index(level)


def _junit_case(certificate: ClientCertificate, result: ClientResult) -> JUnitCase:
    area = OBLIGATIONS[result.obligation].area
    notes = [note for note in result.notes if note.startswith(STALE)]
    message = "\n".join([result.message, *notes])
    if result.outcome is Outcome.KNOWN_FAILURE:
        message = "; ".join([*result.notes[-1:], result.observed])
    sentence = OBLIGATIONS[result.obligation].sentence
    return JUnitCase(
        suite=f"{area} {result.level.value}",
        group=f"clients.{area}",
        name=result.id,
        outcome=result.outcome,
        message=message,
        text=f"{sentence}\n\n{message}" if result.outcome in TOLD else "",
        aside=aside(certificate, result),
    )


def _text(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def print_certificate(certificate: ClientCertificate, console: Console) -> None:
    """Print a certificate for people."""
    _failures(certificate.results, console)
    _listed(certificate.results, Outcome.KNOWN_FAILURE, "Known failures", console)
    _listed(certificate.results, Outcome.UNKNOWN, "Not decided", console)
    if certificate.results:
        console.print(counts_table(certificate, console))
        console.print()
    style = EXCUSED if certificate.is_excused() else OVERALL[certificate.overall()]
    say(console, certificate.summary(), style)


def _failures(results: Sequence[ClientResult], console: Console) -> None:
    """Print what failed: each obligation once, with its sentence and the scenarios."""
    bad = {Outcome.FAIL, Outcome.STALE_KNOWN_FAILURE}
    for name in dict.fromkeys(r.obligation for r in results if r.outcome in bad):
        own = [r for r in results if r.obligation == name and r.outcome in bad]
        first = own[0]
        title = Text(f"{first.outcome.value.upper()}  {first.level.value}  ", style="bold red")
        console.print(title + Text(name, style="bold"), soft_wrap=True)
        say(console, f"  {OBLIGATIONS[name].sentence}", "italic")
        for result in own:
            say(console, f"  {result.scenario.id}: {result.message}")
            for note in result.notes:
                say(console, f"    note: {note}", "dim")
        console.print()


def _listed(
    results: Sequence[ClientResult], outcome: Outcome, title: str, console: Console
) -> None:
    found = [result for result in results if result.outcome is outcome]
    if not found:
        return
    say(console, f"{title} ({len(found)}):", "bold")
    for result in found:
        known = (note.removeprefix(KNOWN) for note in result.notes if note.startswith(KNOWN))
        say(console, f"  {result.level.value}  {result.id}", COLOURS[outcome])
        say(console, f"      {next(known, result.message)}")
    console.print()


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
