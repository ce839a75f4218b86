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

from fencepost.model.bad_input import BadInputError
from fencepost.model.revision import Revision
from fencepost.model.revisions import revisions
from fencepost.model.table.table import LEVELS
from fencepost.properties.judging.explain import expected_answers
from fencepost.properties.judging.outcome import CaseResult, Certificate, Outcome
from fencepost.properties.oracle.fingerprint import broken_rule
from fencepost.traces.files.bounded import schema_error
from fencepost.traces.files.recording_trace import trace_of
from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.report.certificate_data import FORMAT, read_certificate
from fencepost.traces.report.certificate_diff import PAGE, CertificateDiff, diff_page
from fencepost.traces.report.junit import junit_xml
from fencepost.traces.report.report_text import (
    broken_versions,
    certified,
    left_out,
    print_certificate,
    verdict_line,
)

if TYPE_CHECKING:
    from fencepost.traces.pages.trace_data import ShownTrace

__all__ = [
    "ReportError",
    "certificate_json",
    "certificate_text",
    "certified",
    "check_document",
    "junit_xml",
    "print_certificate",
    "trace_name",
    "traces",
    "verdict_line",
    "write_report",
    "write_texts",
]

VERSION = 1
SCHEMA_FILE = Path(__file__).with_name("certificate-1.schema.json")
_TRACED = (
    Outcome.FAIL,
    Outcome.KNOWN_FAILURE,
    Outcome.STALE_KNOWN_FAILURE,
    Outcome.UNKNOWN,
)


class ReportError(BadInputError):
    """A report can't be written.  `str()` names the file, the problem and the remedy."""


def certificate_json(certificate: Certificate) -> dict[str, Any]:
    """The certificate as a JSON object that its schema allows."""
    real = certificate.clock == "real"
    revision = revisions.find(certificate.revision)
    provenance, coverage = certificate.provenance, certificate.coverage
    counts = certificate.counts()
    document: dict[str, Any] = {
        "format": FORMAT,
        "format_version": VERSION,
        "target": provenance.target,
        "implementation": provenance.implementation,
        "version": provenance.version,
        "address": provenance.address,
        "revision": certificate.revision,
        "verdict": certificate.overall().value,
        "certified": certified(certificate),
        "left_out": list(left_out(certificate)),
        "summary": verdict_line(certificate),
        "exit_code": certificate.exit_code(),
        "level": certificate.level.value,
        "seed": certificate.seed,
        "clock": certificate.clock,
        "lag_ms": certificate.lag_ms,
        "config": dict(sorted(certificate.config.items())),
        "settings_source": dict(sorted(certificate.settings_source.items())),
        "apis": {
            "advertised": {a: list(v) for a, v in sorted(certificate.advertised.items())},
            "working": {a: list(v) for a, v in sorted(certificate.working.items())},
            "advertised_but_broken": broken_versions(certificate),
        },
        "counts": {
            level.value: {outcome.value: counts[level, outcome] for outcome in Outcome}
            for level in LEVELS
        },
        "rules": {
            "covered": list(coverage.covered),
            "missed": list(coverage.missed),
            "unreachable": dict(sorted(coverage.unreachable.items())),
        },
        "versions": dict(sorted(certificate.versions.items())),
        "cases": [_case(result, revision, real=real) for result in certificate.results],
    }
    if certificate.suite:
        document["suite"] = dict(certificate.suite)
    if real:
        document["seconds"] = round(certificate.seconds, 3)
    return document


def certificate_text(certificate: Certificate) -> str:
    """The text of certificate.json, checked against the schema.  Raises ReportError."""
    document = certificate_json(certificate)
    check_document(document, SCHEMA_FILE, "certificate.json")
    return json.dumps(document, indent=1) + "\n"


def check_document(document: Mapping[str, Any], schema_file: Path, name: str) -> None:
    """Hold what is about to be written to its schema.  Raises ReportError; `name`: of the file."""
    error = schema_error(document, schema_file)
    if error is not None:
        raise ReportError(
            f"{name}: {error.json_path}: {error.message}; "
            "this is a fault of fencepost: please report it"
        )


def trace_name(case_id: str) -> str:
    """Where a report keeps the trace of a case, relative to its folder."""
    return f"traces/{case_id.replace('/', '__')}.json"


def traces(certificate: Certificate) -> dict[str, TraceFile]:
    """The traces of a report by relative file name."""
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
        if result.recording is not None and _has_trace(result)
    }


def write_report(
    certificate: Certificate, directory: Path, diff: CertificateDiff | None = None
) -> None:
    """Write certificate.json, junit.xml, index.html and traces/ into a folder, made if missing.

    `diff`: the comparison with an older one, for which diff.html is written.  Raises ReportError.
    """
    text, kept = certificate_text(certificate), traces(certificate)
    document = json.loads(text)
    texts = {
        "certificate.json": text,
        "junit.xml": junit_xml(certificate),
        INDEX: certificate_index(document, kept),
        **{name: trace.text() for name, trace in kept.items()},
    }
    if diff is not None:
        tone = read_certificate(document, revisions.find(document["revision"])).tone
        texts[PAGE] = diff_page(diff, document, shown(document["cases"], kept), tone)
    write_texts(texts, directory, "--report")


def write_texts(texts: Mapping[str, str], directory: Path, option: str) -> None:
    """Write files into a folder, made if missing.  Raises ReportError that names the option."""
    for name, text in texts.items():
        path = directory / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            reason = error.strerror or str(error)
            raise ReportError(
                f"{path}: can't be written ({reason}); give {option} another folder"
            ) from error


def make_folder(folder: Path) -> None:
    """Make a folder, if it is missing.  Raises ReportError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"can't be made ({error.strerror})"
        raise ReportError(f"{folder} {problem}; choose another folder") from error


def _has_trace(result: CaseResult) -> bool:
    return result.recording is not None and result.outcome in _TRACED


def _case(result: CaseResult, revision: Revision, *, real: bool) -> dict[str, Any]:
    violation = result.violation
    rule = broken_rule(violation, revision) if violation is not None else None
    document: dict[str, Any] = {
        "id": result.case.id,
        "about": result.case.about,
        "level": result.level.value,
        "rules": list(result.case.rules),
        "outcome": result.outcome.value,
        "rule": rule.id if rule is not None else None,
        "message": result.message,
        "expected": expected_answers(result.verdict, result.recording),
        "observed": result.observed,
        "trace": trace_name(result.case.id) if _has_trace(result) else None,
        "attempts": result.attempts,
        "notes": list(result.notes),
    }
    if real:
        document["seconds"] = round(result.seconds, 3)
    return document


INDEX = "index.html"
_HERE = "the folder of this report"


def certificate_index(document: Mapping[str, Any], traces: Mapping[str, TraceFile]) -> str:
    """The page of one certificate, with the traces that were written beside it."""
    from fencepost.traces.report.certificate_page import certificate_page  # noqa: PLC0415  (Jinja)

    return certificate_page([document], [shown(document["cases"], traces)])


def certificate_from_folder(document: Mapping[str, Any], folder: Path) -> dict[str, ShownTrace]:
    """The traces of a certificate that lie in a folder.  Raises TraceFileError for a bad one."""
    cases = document["cases"]
    if isinstance(cases, Mapping):
        return {}  # the short form keeps no traces
    names = [case["trace"] for case in cases if case.get("trace") is not None]
    found = {n: TraceFile.read(folder / n) for n in names if (folder / n).is_file()}
    return shown(cases, found)


def shown(cases: Any, traces: Mapping[str, TraceFile]) -> dict[str, ShownTrace]:
    """The traces of cases, by the names of their files."""
    from fencepost.traces.pages.trace_data import (  # noqa: PLC0415  (Jinja)
        ShownTrace,
        case_note,
    )

    return {
        case["trace"]: ShownTrace(
            traces[case["trace"]],
            case["id"],
            case["trace"],
            case=case_note(case),
            folder=_HERE,
        )
        for case in cases
        if case.get("trace") in traces
    }
