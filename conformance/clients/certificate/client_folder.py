"""Write a client's certificate as files: for programs, for CI, and for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fencepost.conformance.clients.certificate.client_certificate import (
    ClientCertificate,
    by_obligation,
    checked_json,
    has_trace,
    trace_name,
)
from fencepost.conformance.clients.certificate.client_trace import trace_json
from fencepost.conformance.clients.certify_client import ClientResult
from fencepost.model.table.table import LEVELS
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.requirement import AREAS
from fencepost.properties.requirements.requirements import OBLIGATIONS
from fencepost.traces.report.certificate_diff import PAGE, CertificateDiff, diff_page
from fencepost.traces.report.junit import TOLD, JUnitCase, aside, junit_document
from fencepost.traces.report.known_failures import STALE
from fencepost.traces.report.report_folder import write_texts

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
        from fencepost.traces.report.client_page import client_tone  # noqa: PLC0415  (Jinja)

        texts[PAGE] = diff_page(diff, document, {}, client_tone(document))
    write_texts(texts, directory, "--report")


def index_page(
    document: Mapping[str, Any], traces: Mapping[str, Mapping[str, Any]], title: str = ""
) -> str:
    """The page of a certificate; `traces`: by the names that its cases have."""
    from fencepost.traces.report.client_page import client_page  # noqa: PLC0415  (Jinja)

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
