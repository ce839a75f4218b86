"""Write a certificate as files: for programs, for CI, and for people.

The files are `certificate.json`, `junit.xml`, a trace for each case that did not simply pass, and
the page `index.html`, which shows the traces.  What ran on a virtual clock gives the same bytes for
the same seed, so no file there says how long it took.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.model.revisions import revisions
from fencepost.properties.judging.report import Certificate
from fencepost.properties.requirements.requirement import AREAS
from fencepost.properties.requirements.requirements import REQUIREMENTS
from fencepost.traces.files.run_trace import trace_of
from fencepost.traces.files.text_files import INDEX, file_inside, refuse_wrong, trace_name
from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.report.certificate_data import read_certificate
from fencepost.traces.report.certificate_diff import PAGE, CertificateDiff, diff_page
from fencepost.traces.report.certificate_schema import (
    CLIENT_SCHEMA,
    SCHEMA,
    CertificateDocument,
    ClientCertificateDocument,
)
from fencepost.traces.report.client_certificate import ClientCertificate, client_trace
from fencepost.traces.report.junit import junit_xml

if TYPE_CHECKING:
    from fencepost.traces.pages.trace_page import PageTrace

Judged = Certificate | ClientCertificate
"""The report of a coordinator, or of a client."""


def certificate_document(report: Judged) -> dict[str, Any]:
    """Return a report as a JSON object that its schema allows."""
    if isinstance(report, ClientCertificate):
        return ClientCertificateDocument.of(report).plain()
    return CertificateDocument.of(report).plain()


def checked_document(report: Judged) -> dict[str, Any]:
    """Return a report as JSON, and hold it to its schema.  Raises ReportError."""
    document = certificate_document(report)
    schema = CLIENT_SCHEMA if isinstance(report, ClientCertificate) else SCHEMA
    refuse_wrong(schema.error(document), "certificate.json")
    return document


def traces(certificate: Certificate) -> dict[str, TraceFile]:
    """Return the traces of a report by relative file name."""
    revision = revisions.find(certificate.revision)
    tool = certificate.versions.get("fencepost", "")
    return {
        trace_name(result.case.id): trace_of(
            result.recording,
            result.verdict,
            revision,
            certificate.provenance,
            seed=certificate.seed,
            tool_version=tool,
            message=result.message,
        )
        for result in certificate.results
        if result.recording is not None and result.has_trace
    }


def certificate_texts(
    report: Judged, diff: CertificateDiff | None = None
) -> Iterator[dict[str, str]]:
    """Yield the files of a report: certificate.json, junit.xml and traces/, then its pages.

    `diff`: the comparison with an older one, for which diff.html is made.  Raises ReportError.
    """
    document = checked_document(report)
    yield {"junit.xml": junit_xml(report)}
    if isinstance(report, ClientCertificate):
        yield from _client_texts(report, document, diff)
        return
    kept = traces(report)
    yield {"certificate.json": json.dumps(document, indent=1) + "\n"}
    yield {name: trace.text() for name, trace in kept.items()}
    yield {INDEX: certificate_index(document, kept)}
    if diff is not None:
        tone = read_certificate(document, revisions.find(report.revision)).tone
        yield {PAGE: diff_page(diff, document, trace_pages(document["cases"], kept), tone)}


def _client_texts(
    report: ClientCertificate, document: Mapping[str, Any], diff: CertificateDiff | None
) -> Iterator[dict[str, str]]:
    from fencepost.traces.report.certificate_page import client_tone  # noqa: PLC0415  (Jinja)

    kept = {
        trace_name(result.case.id): client_trace(result).plain()
        for result in report.results
        if result.has_trace
    }
    yield {
        "certificate.json": client_text(document),
        **{name: client_text(trace) for name, trace in kept.items()},
    }
    yield {INDEX: client_index(document, kept)}
    if diff is not None:
        yield {PAGE: diff_page(diff, document, {}, client_tone(document))}


def client_text(document: Mapping[str, Any]) -> str:
    """Write JSON as the files of a client have it: without escapes."""
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


_HERE = "the folder of this report"


def certificate_index(document: Mapping[str, Any], traces: Mapping[str, TraceFile]) -> str:
    """Make the page of one certificate, with the traces that were written beside it."""
    from fencepost.traces.report.certificate_page import certificate_page  # noqa: PLC0415  (Jinja)

    return certificate_page([document], [trace_pages(document["cases"], traces)])


def client_index(
    document: Mapping[str, Any], traces: Mapping[str, Mapping[str, Any]], title: str = ""
) -> str:
    """Make the page of a client's certificate; `traces`: by the names that its cases have."""
    from fencepost.traces.report.certificate_page import client_page  # noqa: PLC0415  (Jinja)

    areas = {name: row.area for name, row in REQUIREMENTS.items()}
    return client_page(document, traces, AREAS, areas, title)


def certificate_from_folder(document: Mapping[str, Any], folder: Path) -> dict[str, PageTrace]:
    """Read those traces of a certificate that lie in a folder.  Raises TraceFileError."""
    cases = document["cases"]
    if isinstance(cases, Mapping):
        return {}  # the short form keeps no traces
    names = [case["trace"] for case in cases if case.get("trace") is not None]
    files = {name: file_inside(folder, name) for name in names}
    existing = {n: TraceFile.read(path) for n, path in files.items() if path is not None}
    return trace_pages(cases, existing)


def trace_pages(cases: Any, traces: Mapping[str, TraceFile]) -> dict[str, PageTrace]:
    """Return the pages of cases' traces, by the names of their files."""
    from fencepost.traces.pages.trace_page import PageTrace, case_note  # noqa: PLC0415  (Jinja)

    return {
        case["trace"]: PageTrace(
            traces[case["trace"]],
            case["id"],
            case["trace"],
            case=case_note(case),
            folder=_HERE,
        )
        for case in cases
        if case.get("trace") in traces
    }
