"""A client's certificate: its results, its verdict, and its form as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.conformance.clients.certificate.compact_certificate import short_form_error, unfolded
from fencepost.conformance.clients.certify_client import ClientResult
from fencepost.model.history.words import plural
from fencepost.model.table.table import LEVELS, Level
from fencepost.properties.judging.outcome import Certified, Outcome, Overall
from fencepost.properties.requirements.driver_messages import Introduction
from fencepost.properties.requirements.requirements import OBLIGATIONS
from fencepost.traces.files.bounded import DocumentError, read_json
from fencepost.traces.files.json_schema import schema_error
from fencepost.traces.report.certificate_file import CertificateFileError
from fencepost.traces.report.report_folder import check_document

FORMAT = "fencepost-client-certificate"
VERSION = 1
SCHEMA_FILE = Path(__file__).with_name("client-certificate-1.schema.json")

_REMEDY = "give a certificate.json that `fencepost certify-client CLIENT --report DIR` wrote"

TRACED = {
    Outcome.FAIL,
    Outcome.KNOWN_FAILURE,
    Outcome.STALE_KNOWN_FAILURE,
    Outcome.UNKNOWN,
}
"""The outcomes of cases that leave a trace."""


@dataclass(frozen=True, slots=True)
class ClientCertificate(Certified):
    """All results of one client on one kind of broker.

    `client`: as it was given; `broker`: as `--broker` names it; `revision`: that the broker serves;
    `notes`: what was left out.
    """

    client: str
    introduction: Introduction
    broker: str
    revision: str
    results: tuple[ClientResult, ...]
    level: Level
    versions: Mapping[str, str]
    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        """What was held to what, e.g. `kafka-python (kafka-python 3.0.12) on serve`."""
        made = f"{self.introduction.client} {self.introduction.version}".strip()
        return f"{self.client} ({made}) on {self.broker}"

    def left_out(self) -> tuple[str, ...]:
        """What it says nothing about."""
        count = Counter(result.outcome for result in self.results)
        counted = [
            f"{count[outcome]} {outcome.value}"
            for outcome in (Outcome.UNSUPPORTED, Outcome.SKIPPED)
            if count[outcome]
        ]
        return (*counted, *self.notes)

    def is_certified(self) -> bool:
        """Whether it holds, and nothing was left out."""
        return self.overall() is Overall.HOLDS and not self.left_out()

    def is_excused(self) -> bool:
        """Whether it holds only because failures at MUST are listed as known."""
        return self.overall() is Overall.HOLDS and any(
            r.outcome is Outcome.KNOWN_FAILURE and r.level is Level.MUST for r in self.results
        )

    def summary(self) -> str:
        """The verdict in one line."""
        deciding = Counter(r.outcome for r in self.results if self.deciding(r))
        below = sum(r.outcome is Outcome.FAIL for r in self.results if not self.deciding(r))
        known = sum(r.outcome is Outcome.KNOWN_FAILURE for r in self.results)
        match self.overall():
            case Overall.VIOLATED:
                failed, stale = deciding[Outcome.FAIL], deciding[Outcome.STALE_KNOWN_FAILURE]
                parts = [plural(failed, "case")] if failed else []
                parts += [plural(stale, "stale known failure")] if stale else []
                said = f"violated by {' and '.join(parts)}"
            case Overall.UNKNOWN if not self.tested():
                said = "unknown: no case could be tested"
            case Overall.UNKNOWN:
                said = f"unknown: {plural(deciding[Outcome.UNKNOWN], 'case')} could not be decided"
            case _ if self.is_excused():
                passed = sum(r.outcome is Outcome.PASS for r in self.results)
                said = f"passes {passed} of {len(self.results)}; {plural(known, 'known failure')}; "
                said += f"holds apart from {'it' if known == 1 else 'them'}"
            case _:
                said = "holds"
        if known and not self.is_excused():
            said += f", with {plural(known, 'known failure')}"
        if below:
            said += f", and {plural(below, 'failure')} below {self.level.value} (not counted)"
        rest = ", ".join(self.left_out())
        if self.is_certified():
            said += "; certified"
        elif rest:
            said += f"; not certified: {rest}" if self.overall() is Overall.HOLDS else f"; {rest}"
        return f"{self.subject}: {said}"


def certificate_json(certificate: ClientCertificate) -> dict[str, Any]:
    """The certificate as a JSON object that its schema allows."""
    introduction = certificate.introduction
    counts = certificate.counts()
    return {
        "format": FORMAT,
        "format_version": VERSION,
        "target": certificate.client,
        "implementation": introduction.client,
        "version": introduction.version,
        "language": introduction.language,
        "features": sorted(introduction.features),
        "assignors": list(introduction.assignors),
        "broker": certificate.broker,
        "revision": certificate.revision,
        "verdict": certificate.overall().value,
        "certified": certificate.is_certified(),
        "left_out": list(certificate.left_out()),
        "summary": certificate.summary(),
        "exit_code": certificate.exit_code(),
        "level": certificate.level.value,
        "counts": {
            level.value: {outcome.value: counts[level, outcome] for outcome in Outcome}
            for level in LEVELS
        },
        "versions": dict(sorted(certificate.versions.items())),
        "cases": [_case(result) for result in certificate.results],
        "seconds": round(certificate.seconds, 3),
    }


def checked_json(certificate: ClientCertificate) -> dict[str, Any]:
    """The same, held to its schema.  Raises ReportError."""
    document = certificate_json(certificate)
    check_document(document, SCHEMA_FILE, "certificate.json")
    return document


def is_client_certificate(document: Any) -> bool:
    """Whether a JSON document is a certificate of a client."""
    return isinstance(document, dict) and document.get("format") == FORMAT


def read_client_certificate(path: Path) -> dict[str, Any]:
    """Read a client's certificate in either form, as `checked`.  Raises CertificateFileError."""
    try:
        document = read_json(path)
    except DocumentError as error:
        raise CertificateFileError(f"{error}; {_REMEDY}") from None
    return checked(document, path)


def checked(document: Any, path: Path) -> dict[str, Any]:
    """Return a certificate in the form of the report, if all that its readers need is there.

    `path`: of its file.  Raises CertificateFileError.
    """
    if not is_client_certificate(document):
        raise CertificateFileError(f"{path}: is no certificate of a client; {_REMEDY}")
    if isinstance(document.get("cases"), Mapping):
        wrong = short_form_error(document)
    else:
        error = schema_error(document, SCHEMA_FILE)
        wrong = None if error is None else f"{error.message} (at {error.json_path})"
    if wrong is None:
        rows = (row if isinstance(row, str) else row["rule"] for row in document["cases"])
        unknown = [row for row in rows if row.partition("/")[0] not in OBLIGATIONS]
        wrong = f"there is no obligation {unknown[0]}" if unknown else None
    if wrong is not None:
        raise CertificateFileError(f"{path}: is no certificate: {wrong}; {_REMEDY}")
    return unfolded(document)


def trace_name(case_id: str) -> str:
    """Where a report keeps the trace of a case, relative to its folder."""
    return f"traces/{case_id.replace('/', '__')}.json"


def has_trace(result: ClientResult) -> bool:
    """Whether a report keeps a trace of a case."""
    return result.evidence is not None and result.outcome in TRACED


def by_obligation(results: Sequence[ClientResult]) -> dict[str, list[ClientResult]]:
    """The results of each obligation, in the table's order."""
    found: dict[str, list[ClientResult]] = {name: [] for name in OBLIGATIONS}
    for result in results:
        found[result.obligation].append(result)
    return {name: cases for name, cases in found.items() if cases}


def _case(result: ClientResult) -> dict[str, Any]:
    return {
        "id": result.id,
        "rule": result.obligation,
        "scenario": result.scenario.id,
        "about": OBLIGATIONS[result.obligation].sentence,
        "level": result.level.value,
        "outcome": result.outcome.value,
        "message": result.message,
        "observed": result.observed,
        "trace": trace_name(result.id) if has_trace(result) else None,
        "attempts": result.attempts,
        "notes": list(result.notes),
    }
