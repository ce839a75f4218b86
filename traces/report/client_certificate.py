"""The report of a client: results by requirement, the certificate's short form, the traces.

A repository keeps the short form, which is the same in every run.  It has no times and no names of
a run; what the tables say is not in it, and is put back when it is read.

In a trace, records are counted: those of a partition that a user got one after the other within a
moment are one row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Protocol

import msgspec
from msgspec import field

from fencepost.model.history.words import plural
from fencepost.model.messages.errors import kafka_error
from fencepost.model.messages.messages import JoinGroupResponse, SyncGroupRequest
from fencepost.model.revision import Revision
from fencepost.model.table.table import Level
from fencepost.properties.judging.known_failures import KnownFailure, note_of, read_notes
from fencepost.properties.judging.outcome import TRACED, CheckResult, Outcome
from fencepost.properties.judging.report import Overall, Report
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
    END_TXN,
    FIND,
    LEAVE,
    MEMBER_APIS,
    TXN_COMMIT,
    Action,
    Call,
    Evidence,
    UserEvent,
)
from fencepost.properties.requirements.requirements import REQUIREMENTS
from fencepost.traces.files.bounded import DocumentError, read_json
from fencepost.traces.files.document_schema import Document
from fencepost.traces.report.certificate_data import CertificateFileError
from fencepost.traces.report.certificate_schema import CLIENT_FORMAT, CLIENT_SCHEMA, Counts

_REMEDY = "give a certificate.json that `fencepost certify-client CLIENT --report DIR` wrote"


class PlayedScenario(Protocol):
    """A scenario that a client went through."""

    @property
    def id(self) -> str:
        """Return its id."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return it as a trace has it."""
        ...


class OfRequirement:
    """A requirement in a scenario."""

    __slots__ = ()
    obligation: str
    scenario: PlayedScenario

    @property
    def id(self) -> str:
        """Return the requirement and the scenario: the case, where it is one of the catalogue."""
        return f"{self.obligation}/{self.scenario.id}"

    @property
    def about(self) -> str:
        """Return the sentence of the requirement."""
        return REQUIREMENTS[self.obligation].sentence

    @property
    def rules(self) -> tuple[str, ...]:
        """Return the requirement."""
        return (self.obligation,)

    @property
    def level(self) -> Level:
        """Return the level of the requirement."""
        return REQUIREMENTS[self.obligation].level


@dataclass(frozen=True, slots=True)
class ClientCase(OfRequirement):
    """A requirement in a scenario, as a check."""

    obligation: str
    scenario: PlayedScenario


@dataclass(frozen=True, slots=True)
class ClientResult(CheckResult):
    """The result of one requirement in one scenario.

    `evidence`: of the run that shows it, None where nothing was run; `at_ms`: where on its
    timeline.  `keeps_trace`: a report has a trace of it, whatever its outcome.  `intermittent`: a
    failure that some of the runs did not show.
    """

    case: ClientCase
    evidence: Evidence | None = None
    at_ms: float | None = None
    keeps_trace: bool = False
    intermittent: bool = False

    @property
    def obligation(self) -> str:
        """Return the id of the requirement."""
        return self.case.obligation

    @property
    def has_trace(self) -> bool:
        """Tell if a report keeps a trace of it."""
        return self.evidence is not None and (self.keeps_trace or self.outcome in TRACED)

    @property
    def stderr(self) -> Mapping[str, tuple[str, ...]]:
        """Return the end of what each process wrote to stderr, of a result that has a trace."""
        return self.evidence.stderr if self.evidence is not None and self.has_trace else {}

    def listed_rules(self, revision: Revision) -> tuple[str, ...]:  # noqa: ARG002
        """Return the obligation, if a run violated it."""
        return (self.obligation,) if self.observed else ()

    def is_covered_by(self, entry: KnownFailure) -> bool:
        """Tell if an entry that names the case is about what was seen in it.

        An undecided case has a signature where one run failed.
        """
        if self.outcome is Outcome.UNKNOWN:
            return entry.intermittent and (not self.observed or entry.shows_as(self.observed))
        return self.outcome is Outcome.FAIL and entry.shows_as(self.observed)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCertificate(Report[ClientResult]):
    """The report of a client on one kind of broker; `broker`: as `--broker` names it."""

    tells_undecided: ClassVar[bool] = False

    introduction: Introduction
    broker: str

    @property
    def conditions(self) -> str:
        """Return the broker."""
        return f"on {self.broker}"

    def by_obligation(self) -> list[ClientResult]:
        """Return the results in the order of the table of requirements."""
        places = {name: place for place, name in enumerate(REQUIREMENTS)}
        return sorted(self.results, key=lambda result: places[result.obligation])


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
    """Return what is kept of a certificate (the JSON of `certify-client --json`)."""
    return {
        **{key: certificate[key] for key in _KEPT},
        "details": certificate.get("details", []),
        "cases": {case["id"]: _compact_case(case) for case in certificate["cases"]},
    }


def _compact_case(case: Mapping[str, Any]) -> dict[str, Any]:
    short = {"outcome": case["outcome"]}
    match Outcome(case["outcome"]):
        case Outcome.PASS:
            return short
        case Outcome.UNSUPPORTED | Outcome.UNKNOWN:
            return short | {"why": case["message"]}
        case _:
            known = read_notes(case["notes"]).reason
            return short | {"observed": case["observed"], "why": note_of(known) if known else ""}


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
    details: list[str] = []


def short_form_error(document: Mapping[str, Any]) -> str | None:
    """Return what the short form lacks of what its readers need, or None."""
    try:
        msgspec.convert(document, _Kept)
    except msgspec.ValidationError as error:
        return str(error)
    return None


def unfolded(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a certificate in the form of the report; the short form names no traces."""
    if not isinstance(document["cases"], Mapping):
        return dict(document)
    cases = [_full_case(name, case) for name, case in document["cases"].items()]
    count = Counter((Level(case["level"]), Outcome(case["outcome"])) for case in cases)
    return {**document, "cases": cases, "counts": Counts.of(count).plain()}


def _full_case(name: str, case: Mapping[str, Any]) -> dict[str, Any]:
    obligation, _, scenario = name.partition("/")
    row = REQUIREMENTS[obligation]
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
        "notes": [why] if read_notes([why]).reason else [],
    }


def is_client_certificate(document: Any) -> bool:
    """Tell if a JSON document is a certificate of a client."""
    return isinstance(document, dict) and document.get("format") == CLIENT_FORMAT


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
        error = CLIENT_SCHEMA.error(document)
        wrong = None if error is None else f"{error.message} (at {error.json_path})"
    if wrong is None:
        rows = (row if isinstance(row, str) else row["rule"] for row in document["cases"])
        unknown = [row for row in rows if row.partition("/")[0] not in REQUIREMENTS]
        wrong = f"there is no obligation {unknown[0]}" if unknown else None
    if wrong is not None:
        raise CertificateFileError(f"{path}: is no certificate: {wrong}; {_REMEDY}")
    return unfolded(document)


TRACE_FORMAT: Final = "fencepost-client-trace"

_TRACED_APIS = {*MEMBER_APIS, LEAVE, FIND, TXN_COMMIT, END_TXN}
_MOMENT_MS = 250
_MOST_ROWS = 2000
_SHORT = 13


class TracedRun(Document, frozen=True):
    """A run of a consumer in a client's trace."""

    id: str
    instance: str | None
    process: str


class TraceRow(Document, frozen=True):
    """A row of a client's trace: what was sent, done or seen."""

    at_ms: int
    run: str = field(name="life")
    kind: str
    text: str = field(name="said")


class ClientTrace(Document, frozen=True, kw_only=True):
    """A client's trace, as a file."""

    format: Literal["fencepost-client-trace"] = TRACE_FORMAT
    format_version: Literal[1] = 1
    case: str
    message: str
    scenario: dict[str, Any]
    runs: tuple[TracedRun, ...] = field(name="lives")
    wrong_at_ms: int | None
    left_out: int
    rows: tuple[TraceRow, ...]
    stderr: dict[str, tuple[str, ...]] = field(default_factory=dict)


def client_trace(result: ClientResult) -> ClientTrace:
    """Return the trace of a result that has evidence."""
    evidence = result.evidence
    if evidence is None:
        raise ValueError(f"{result.case.id} has no evidence")
    rows = sorted(_rows(evidence), key=lambda row: row.at_ms)
    at_ms = result.at_ms
    return ClientTrace(
        case=result.case.id,
        message=result.message,
        scenario=result.case.scenario.to_json(),
        runs=tuple(TracedRun(run.id, run.instance, run.process) for run in evidence.runs),
        wrong_at_ms=None if at_ms is None else round(at_ms),
        left_out=max(0, len(rows) - _MOST_ROWS),
        rows=tuple(rows[:_MOST_ROWS]),
        stderr=dict(evidence.stderr),
    )


def _rows(evidence: Evidence) -> Iterator[TraceRow]:
    yield from _call_rows(evidence)
    for action in evidence.actions:
        yield _trace_row(action.began_ms, action.run, "did", _action(action))
    for at_ms, stall in evidence.stalls:
        yield _trace_row(at_ms, "", "control", f"the control client waited {stall:.0f} ms")
    for at_ms, unmet in evidence.unmet:
        yield _trace_row(at_ms, "", "awaited", unmet)
    yield from _user_rows(evidence)


def _call_rows(evidence: Evidence) -> Iterator[TraceRow]:
    """Yield the rows of calls: those about the group, and others from trouble to recovery.

    Of the others, equal ones within a moment are one row: a reader may ask a thousand times.
    """
    static = {run.id for run in evidence.static_runs}
    troubled, repeats = set(), dict[tuple[str, str], tuple[float, int]]()
    for call in evidence.calls:
        run, key = call.client_id or "", (call.client_id, call.api)
        text = f"{_sent(call, is_static=run in static)} → {_answer(call)}"
        is_trouble = bool(call.fault or call.error)
        if call.api in _TRACED_APIS:
            yield _trace_row(call.at_ms, run, "sent", text)
        elif is_trouble or key in troubled or evidence.is_too_old(call):
            since_ms, count = repeats.get((run, text), (call.at_ms, 0))
            if call.at_ms - since_ms >= _MOMENT_MS:
                yield _repeated(run, text, since_ms, count)
                since_ms, count = call.at_ms, 0
            repeats[run, text] = since_ms, count + 1
        if is_trouble:
            troubled.add(key)
        elif call.answered_ms is not None:
            troubled.discard(key)
    for (run, text), (since_ms, count) in repeats.items():
        yield _repeated(run, text, since_ms, count)


def _repeated(run: str, text: str, since_ms: float, count: int) -> TraceRow:
    return _trace_row(since_ms, run, "sent", text if count == 1 else f"{text}, {count} times")


def _trace_row(at_ms: float, run: str, kind: str, text: str) -> TraceRow:
    return TraceRow(round(at_ms), run, kind, text)


def _sent(call: Call, *, is_static: bool) -> str:
    words = [f"{call.api} v{call.version}"]
    if call.request is not None:
        without = "no instance id" if is_static else "dynamic"
        words.append(f"member {_short(call.member_id)}")
        words.append(without if call.instance is None else f"instance {call.instance}")
    if call.generation >= 0:
        words.append(f"generation {call.generation}")
    if isinstance(call.request, SyncGroupRequest) and call.request.assignments:
        words.append(plural(len(call.request.assignments), "assignment"))
    return ", ".join(words)


def _answer(call: Call) -> str:
    if call.answered_ms is None:
        return f"no answer{f' ({call.fault})' if call.fault else ''}"
    words = ["answered" if call.error is None else kafka_error(call.error)]
    answer = call.answer
    if isinstance(answer, JoinGroupResponse) and not call.error:
        leads = answer.leader == answer.member_id
        words.append(f"generation {answer.generation_id}, member {_short(answer.member_id)}")
        words.append("leads" if leads else "follows")
        if answer.skip_assignment:
            words.append("skips the assignment")
    took_ms = call.answered_ms - call.at_ms
    if took_ms >= 100:
        words.append(f"after {took_ms:.0f} ms")
    if call.fault:
        words.append(f"provoked: {call.fault}")
    return ", ".join(words)


def _short(member_id: str) -> str:
    if not member_id:
        return '""'
    return member_id if len(member_id) <= _SHORT else f"{member_id[:_SHORT]}…"


def _action(action: Action) -> str:
    took = "" if action.took_ms is None else f", took {action.took_ms:.0f} ms"
    if action.outcome == "ok":
        return f"{action.name}{f' {action.topic}' if action.topic else ''}{took}"
    return (
        f"{action.name}: {action.outcome}{took}{f' ({action.message})' if action.message else ''}"
    )


def _user_rows(evidence: Evidence) -> Iterator[TraceRow]:
    open_rows: dict[tuple[str, Partition], dict[str, Any]] = {}
    for event in evidence.user_events:
        if not isinstance(event.event, Records):
            # What came before a revocation and what came after it are told apart.
            for key in [key for key in open_rows if key[0] == event.run]:
                yield _records(open_rows.pop(key))
            yield _trace_row(event.at_ms, event.run, "saw", _event(event))
            continue
        key = event.run, event.event.partition
        row = open_rows.get(key)
        is_next = row is not None and event.event.first == row["first"] + row["count"]
        if row is not None and is_next and event.at_ms - row["at_ms"] < _MOMENT_MS:
            row["count"] += event.event.count
        else:
            if row is not None:
                yield _records(row)
            open_rows[key] = {
                "at_ms": event.at_ms,
                "life": event.run,
                "partition": event.event.partition,
                "first": event.event.first,
                "count": event.event.count,
            }
    for row in open_rows.values():
        yield _records(row)


def _records(row: dict[str, Any]) -> TraceRow:
    topic, number = row["partition"]
    text = f"{plural(row['count'], 'record')} of {topic}-{number} from {row['first']}"
    return _trace_row(row["at_ms"], row["life"], "delivered", text)


def _event(event: UserEvent) -> str:
    match event.event:
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
            return type(event.event).__name__


def _listed(partitions: tuple[Partition, ...]) -> str:
    return ", ".join(f"{topic}-{number}" for topic, number in partitions) or "nothing"
