"""A client's certificate: its results, its verdict, and its form as JSON.

The short form of a client's certificate, which a repository keeps: the same in every run.

It has no times and no names of a run; what the tables say is not in it, and is put back when it is
read.

The trace of a run, as JSON: what was done, sent and answered, and what users saw, in order.

Records are counted: what a user was given of a partition within a moment is one row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from fencepost.conformance.clients.certify_client import ClientResult
from fencepost.model.history.words import plural
from fencepost.model.messages.errors import error_name
from fencepost.model.messages.messages import JoinGroupResponse, SyncGroupRequest
from fencepost.model.table.table import LEVELS, Level
from fencepost.properties.judging.outcome import Certified, Outcome, Overall
from fencepost.properties.requirements.driver_messages import (
    Assigned,
    Ended,
    Error,
    Introduction,
    Log,
    Lost,
    Partition,
    Records,
    Revoked,
)
from fencepost.properties.requirements.evidence import (
    FIND,
    LEAVE,
    MEMBER_APIS,
    Call,
    Deed,
    Evidence,
    Seen,
)
from fencepost.properties.requirements.requirements import OBLIGATIONS
from fencepost.traces.files.bounded import DocumentError, read_json, schema_error
from fencepost.traces.report.certificate_data import CertificateFileError
from fencepost.traces.report.known_failures import KNOWN
from fencepost.traces.report.report_folder import check_document

_KEPT = (
    "format",
    "format_version",
    "target",
    "implementation",
    "version",
    "language",
    "broker",
    "revision",
    "verdict",
    "summary",
)


def kept(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a certificate (the JSON of `certify-client --json`)."""
    return {
        **{key: certificate[key] for key in _KEPT},
        "cases": {case["id"]: _compact_case(case) for case in certificate["cases"]},
    }


def _compact_case(case: Mapping[str, Any]) -> dict[str, Any]:
    found = {"outcome": case["outcome"]}
    match Outcome(case["outcome"]):
        case Outcome.PASS:
            return found
        case Outcome.UNSUPPORTED | Outcome.UNKNOWN:
            return found | {"why": case["message"]}
        case _:
            known = [note for note in case["notes"] if note.startswith(KNOWN)]
            return found | {"observed": case["observed"], "why": known[0] if known else ""}


class _Case(msgspec.Struct):
    outcome: Outcome
    why: str = ""
    observed: str = ""


class _Kept(msgspec.Struct):
    target: str
    implementation: str
    version: str
    language: str
    broker: str
    revision: str
    verdict: Overall
    summary: str
    cases: dict[str, _Case]


def short_form_error(document: Mapping[str, Any]) -> str | None:
    """Return what the short form lacks of what its readers need, or None."""
    try:
        msgspec.convert(document, _Kept)
    except msgspec.ValidationError as error:
        return str(error)
    return None


def unfolded(document: Mapping[str, Any]) -> dict[str, Any]:
    """A certificate in the form of the report, whichever it has; the short one has no traces."""
    if not isinstance(document["cases"], Mapping):
        return dict(document)
    cases = [_full_case(name, case) for name, case in document["cases"].items()]
    count = Counter((case["level"], case["outcome"]) for case in cases)
    counts = {
        level.value: {outcome.value: count[level.value, outcome.value] for outcome in Outcome}
        for level in LEVELS
    }
    return {**document, "cases": cases, "counts": counts}


def _full_case(name: str, case: Mapping[str, Any]) -> dict[str, Any]:
    obligation, _, scenario = name.partition("/")
    row = OBLIGATIONS[obligation]
    why = case.get("why", "")
    return {
        "id": name,
        "rule": obligation,
        "scenario": scenario,
        "about": row.sentence,
        "level": row.level.value,
        "outcome": case["outcome"],
        "message": case.get("observed") or why,
        "observed": case.get("observed", ""),
        "trace": None,
        "notes": [why] if why.startswith(KNOWN) else [],
    }


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


TRACE_FORMAT = "fencepost-client-trace"
TRACE_VERSION = 1

_SHOWN = {*MEMBER_APIS, LEAVE, FIND}
_MOMENT_MS = 250
_MOST_ROWS = 2000
_SHORT = 13


def trace_json(result: ClientResult) -> dict[str, Any]:
    """The trace of a result that has evidence."""
    evidence = result.evidence
    if evidence is None:
        raise ValueError(f"{result.id} has no evidence")
    rows = sorted(_rows(evidence), key=lambda row: row["at_ms"])
    at_ms = result.at_ms
    return {
        "format": TRACE_FORMAT,
        "format_version": TRACE_VERSION,
        "case": result.id,
        "message": result.message,
        "scenario": result.scenario.to_json(),
        "lives": [
            {"id": life.id, "instance": life.instance, "process": life.process}
            for life in evidence.lives
        ],
        "wrong_at_ms": None if at_ms is None else round(at_ms),
        "left_out": max(0, len(rows) - _MOST_ROWS),
        "rows": rows[:_MOST_ROWS],
    }


def _rows(evidence: Evidence) -> Iterator[dict[str, Any]]:
    for call in evidence.calls:
        if call.api in _SHOWN:
            yield _trace_row(call.at_ms, call.life, "sent", f"{_sent(call)} → {_answer(call)}")
    for deed in evidence.deeds:
        yield _trace_row(deed.began_ms, deed.life, "did", _deed(deed))
    for at_ms, stall in evidence.stalls:
        yield _trace_row(at_ms, "", "control", f"the control client waited {stall:.0f} ms")
    for at_ms, unmet in evidence.unmet:
        yield _trace_row(at_ms, "", "awaited", unmet)
    yield from _seen(evidence)


def _trace_row(at_ms: float, life: str, kind: str, said: str) -> dict[str, Any]:
    return {"at_ms": round(at_ms), "life": life, "kind": kind, "said": said}


def _sent(call: Call) -> str:
    told = [f"{call.api} v{call.version}"]
    if call.api != FIND:
        told.append(f"member {_short(call.member_id)}")
        told.append("dynamic" if call.instance is None else f"instance {call.instance}")
    if call.generation >= 0:
        told.append(f"generation {call.generation}")
    if isinstance(call.request, SyncGroupRequest) and call.request.assignments:
        told.append(plural(len(call.request.assignments), "assignment"))
    return ", ".join(told)


def _answer(call: Call) -> str:
    if call.answered_ms is None:
        return f"no answer{f' ({call.provoked})' if call.provoked else ''}"
    told = ["answered" if call.error is None else error_name(call.error)]
    answer = call.answer
    if isinstance(answer, JoinGroupResponse) and not call.error:
        leads = answer.leader == answer.member_id
        told.append(f"generation {answer.generation_id}, member {_short(answer.member_id)}")
        told.append("leads" if leads else "follows")
        if answer.skip_assignment:
            told.append("skips the assignment")
    took_ms = call.answered_ms - call.at_ms
    if took_ms >= 100:
        told.append(f"after {took_ms:.0f} ms")
    if call.provoked:
        told.append(f"provoked: {call.provoked}")
    return ", ".join(told)


def _short(member_id: str) -> str:
    if not member_id:
        return '""'
    return member_id if len(member_id) <= _SHORT else f"{member_id[:_SHORT]}…"


def _deed(deed: Deed) -> str:
    took = "" if deed.took_ms is None else f", took {deed.took_ms:.0f} ms"
    if deed.outcome == "ok":
        return f"{deed.name}{took}"
    return f"{deed.name}: {deed.outcome}{took}{f' ({deed.said})' if deed.said else ''}"


def _seen(evidence: Evidence) -> Iterator[dict[str, Any]]:
    open_rows: dict[tuple[str, Partition], dict[str, Any]] = {}
    for one in evidence.seen:
        if not isinstance(one.event, Records):
            yield _trace_row(one.at_ms, one.life, "saw", _event(one))
            continue
        key = one.life, one.event.partition
        row = open_rows.get(key)
        if row is not None and one.at_ms - row["at_ms"] < _MOMENT_MS:
            row["count"] += one.event.count
        else:
            if row is not None:
                yield _records(row)
            open_rows[key] = {
                "at_ms": one.at_ms,
                "life": one.life,
                "partition": one.event.partition,
                "first": one.event.first,
                "count": one.event.count,
            }
    for row in open_rows.values():
        yield _records(row)


def _records(row: dict[str, Any]) -> dict[str, Any]:
    topic, number = row["partition"]
    said = f"{plural(row['count'], 'record')} of {topic}-{number} from {row['first']}"
    return _trace_row(row["at_ms"], row["life"], "delivered", said)


def _event(one: Seen) -> str:
    match one.event:
        case Assigned(partitions=partitions):
            return f"assigned {_listed(partitions)}"
        case Revoked(partitions=partitions):
            return f"revoked {_listed(partitions)}"
        case Lost(partitions=partitions):
            return f"lost {_listed(partitions)}"
        case Error(where=where, code=code, fatal=fatal, message=message):
            return f"{'fatal ' if fatal else ''}error {code} in {where}: {message}"
        case Ended():
            return "the library gave up by itself"
        case Log(level=level, message=message):
            return f"log, {level}: {message}"
        case _:
            return type(one.event).__name__


def _listed(partitions: tuple[Partition, ...]) -> str:
    return ", ".join(f"{topic}-{number}" for topic, number in partitions) or "nothing"
