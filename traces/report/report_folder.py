"""Write a certificate as files: for programs, for CI, and for people.

The files are `certificate.json`, `junit.xml`, a trace for each case that did not simply pass, and
the page `index.html`, which shows the traces.  What ran on a virtual clock gives the same bytes for
the same seed, so no file there says how long it took.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.model.revision import Revision
from fencepost.model.revisions import revisions
from fencepost.properties.judging.explain import expected_answers
from fencepost.properties.judging.outcome import CaseResult
from fencepost.properties.judging.report import Certificate
from fencepost.properties.requirements.requirement import AREAS
from fencepost.properties.requirements.requirements import REQUIREMENTS
from fencepost.traces.files.recording_trace import trace_of
from fencepost.traces.files.text_files import INDEX, check_document, trace_name, write_texts
from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.report import client_certificate
from fencepost.traces.report.certificate_data import FORMAT, read_certificate
from fencepost.traces.report.certificate_diff import PAGE, CertificateDiff, diff_page
from fencepost.traces.report.client_certificate import ClientCertificate, ClientResult, trace_json
from fencepost.traces.report.junit import junit_xml

if TYPE_CHECKING:
    from fencepost.traces.pages.trace_data import PageTrace

VERSION = 1
SCHEMA_FILE = Path(__file__).with_name("certificate-1.schema.json")
Judged = Certificate | ClientCertificate
"""The report of a coordinator, or of a client."""


def certificate_json(report: Judged) -> dict[str, Any]:
    """Write a report as a JSON object that its schema allows."""
    made = report.provenance
    verdict = {
        "revision": report.revision,
        "verdict": report.overall().value,
        "certified": report.certified(),
        "left_out": list(report.left_out()),
        "summary": report.summary(),
        "exit_code": report.exit_code(),
        "level": report.level.value,
    }
    subject = {
        "target": made.target,
        "implementation": made.implementation,
        "version": made.version,
    }
    versions = dict(sorted(report.versions.items()))
    seconds = {"seconds": round(report.seconds, 3)}
    if isinstance(report, ClientCertificate):
        introduction = report.introduction
        return {
            "format": client_certificate.FORMAT,
            "format_version": client_certificate.VERSION,
            **subject,
            "language": introduction.language,
            "features": sorted(introduction.features),
            "assignors": list(introduction.assignors),
            "broker": report.broker,
            **verdict,
            "counts": report.counts_json(),
            "versions": versions,
            "cases": list(map(_client_case, report.results)),
            **seconds,
        }
    revision, real = revisions.find(report.revision), report.clock == "real"
    return {
        "format": FORMAT,
        "format_version": VERSION,
        **subject,
        "address": made.address,
        **verdict,
        "seed": report.seed,
        "clock": report.clock,
        "lag_ms": report.lag_ms,
        "config": dict(sorted(report.config.items())),
        "settings_source": dict(sorted(report.settings_source.items())),
        "apis": {
            "advertised": {a: list(v) for a, v in sorted(report.advertised.items())},
            "working": {a: list(v) for a, v in sorted(report.working.items())},
            "advertised_but_broken": report.broken_versions(),
        },
        "counts": report.counts_json(),
        "rules": {
            "covered": list(report.coverage.covered),
            "missed": list(report.coverage.missed),
            "unreachable": dict(sorted(report.coverage.unreachable.items())),
        },
        "versions": versions,
        "cases": [_case(result, revision, real=real) for result in report.results],
        **({"suite": dict(report.suite)} if report.suite else {}),
        **(seconds if real else {}),
    }


def checked_json(report: Judged) -> dict[str, Any]:
    """Write a report as JSON, and hold it to its schema.  Raises ReportError."""
    document = certificate_json(report)
    is_client = isinstance(report, ClientCertificate)
    schema = client_certificate.SCHEMA_FILE if is_client else SCHEMA_FILE
    check_document(document, schema, "certificate.json")
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


def write_report(report: Judged, directory: Path, diff: CertificateDiff | None = None) -> None:
    """Write certificate.json, junit.xml, index.html and traces/ into a folder, made if missing.

    `diff`: the comparison with an older one, for which diff.html is written.  Raises ReportError.
    """
    document = checked_json(report)
    texts = {"certificate.json": "", "junit.xml": junit_xml(report)}
    if isinstance(report, ClientCertificate):
        texts |= _client_texts(report, document, diff)
    else:
        kept = traces(report)
        texts["certificate.json"] = json.dumps(document, indent=1) + "\n"
        texts[INDEX] = certificate_index(document, kept)
        texts |= {name: trace.text() for name, trace in kept.items()}
        if diff is not None:
            tone = read_certificate(document, revisions.find(report.revision)).tone
            texts[PAGE] = diff_page(diff, document, shown(document["cases"], kept), tone)
    write_texts(texts, directory, "--report")


def _client_texts(
    report: ClientCertificate, document: Mapping[str, Any], diff: CertificateDiff | None
) -> dict[str, str]:
    from fencepost.traces.report.certificate_page import client_tone  # noqa: PLC0415  (Jinja)

    kept = {trace_name(one.case.id): trace_json(one) for one in report.results if one.has_trace}
    texts = {
        "certificate.json": client_text(document),
        INDEX: client_index(document, kept),
        **{name: client_text(trace) for name, trace in kept.items()},
    }
    if diff is not None:
        texts[PAGE] = diff_page(diff, document, {}, client_tone(document))
    return texts


def client_text(document: Mapping[str, Any]) -> str:
    """Write JSON as the files of a client have it: without escapes."""
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _case(result: CaseResult, revision: Revision, *, real: bool) -> dict[str, Any]:
    document: dict[str, Any] = {
        "id": result.case.id,
        "about": result.case.about,
        "level": result.level.value,
        "rules": list(result.case.rules),
        "outcome": result.outcome.value,
        "rule": result.broken(revision),
        "message": result.message,
        "expected": expected_answers(result.verdict, result.recording),
        "observed": result.observed,
        "trace": trace_name(result.case.id) if result.has_trace else None,
        "attempts": result.attempts,
        "notes": list(result.all_notes),
    }
    if real:
        document["seconds"] = round(result.seconds, 3)
    return document


def _client_case(result: ClientResult) -> dict[str, Any]:
    return {
        "id": result.case.id,
        "rule": result.obligation,
        "scenario": result.case.scenario.id,
        "about": result.case.about,
        "level": result.level.value,
        "outcome": result.outcome.value,
        "message": result.message,
        "observed": result.observed,
        "trace": trace_name(result.case.id) if result.has_trace else None,
        "attempts": result.attempts,
        "notes": list(result.all_notes),
    }


_HERE = "the folder of this report"


def certificate_index(document: Mapping[str, Any], traces: Mapping[str, TraceFile]) -> str:
    """The page of one certificate, with the traces that were written beside it."""
    from fencepost.traces.report.certificate_page import certificate_page  # noqa: PLC0415  (Jinja)

    return certificate_page([document], [shown(document["cases"], traces)])


def client_index(
    document: Mapping[str, Any], traces: Mapping[str, Mapping[str, Any]], title: str = ""
) -> str:
    """Make the page of a client's certificate; `traces`: by the names that its cases have."""
    from fencepost.traces.report.certificate_page import client_page  # noqa: PLC0415  (Jinja)

    areas = {name: row.area for name, row in REQUIREMENTS.items()}
    return client_page(document, traces, AREAS, areas, title)


def certificate_from_folder(document: Mapping[str, Any], folder: Path) -> dict[str, PageTrace]:
    """The traces of a certificate that lie in a folder.  Raises TraceFileError for a bad one."""
    cases = document["cases"]
    if isinstance(cases, Mapping):
        return {}  # the short form keeps no traces
    names = [case["trace"] for case in cases if case.get("trace") is not None]
    found = {n: TraceFile.read(folder / n) for n in names if (folder / n).is_file()}
    return shown(cases, found)


def shown(cases: Any, traces: Mapping[str, TraceFile]) -> dict[str, PageTrace]:
    """The traces of cases, by the names of their files."""
    from fencepost.traces.pages.trace_data import (  # noqa: PLC0415  (Jinja)
        PageTrace,
        case_note,
    )

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
