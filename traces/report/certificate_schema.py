"""Define the certificates of coordinators and of clients as documents, and derive their schemas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from fencepost.model.coordinator import named
from fencepost.model.revision import Revision
from fencepost.model.revisions import revisions
from fencepost.model.table.table import Level
from fencepost.properties.judging.explain import expected_answers
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.judging.report import Certificate, ExitCode, Overall
from fencepost.traces.files.document_schema import (
    Count,
    Document,
    DocumentSchema,
    Seconds,
    Text,
)
from fencepost.traces.files.text_files import trace_name

if TYPE_CHECKING:
    from fencepost.traces.report.client_certificate import ClientCertificate, ClientResult

FORMAT: Final = "fencepost-certificate"
CLIENT_FORMAT: Final = "fencepost-client-certificate"

_Certified = Annotated[
    bool, Meta(description="The target holds, all cases of the suite ran, and no failure is known")
]
_LeftOut = Annotated[
    tuple[str, ...],
    Meta(description="What did not run: the number of cases and the reason"),
]
_NotSelected = Annotated[int, Meta(ge=1, description="The number of cases that --case left out")]
_Intermittent = Annotated[bool, Meta(description="True if some runs did not show the failure")]
_Summary = Annotated[str, Meta(description="The verdict in one line")]
_Details = Annotated[
    tuple[str, ...], Meta(description="Lines below the verdict: other counts, and remarks")
]
_Least = Annotated[Level, Meta(description="The lowest level that decides the exit code")]
_Versions = Annotated[
    dict[str, str], Meta(description="Versions of fencepost, Python and all that took part")
]
_Trace = Annotated[
    str | None, Meta(description="The file of the trace, relative to this one; null for none")
]
_RealSeconds = Annotated[float, Meta(ge=0, description="Only on a real clock")]
_Range = Annotated[
    tuple[Count, ...],
    Meta(min_length=2, max_length=2, description="Lowest and highest version"),
]
_T = TypeVar("_T")


class Outcomes(Document, frozen=True, kw_only=True):
    """The number of cases by outcome."""

    passed: Count = field(name="pass")
    fail: Count
    known_failure: Count = field(name="known-failure")
    stale_known_failure: Count = field(name="stale-known-failure")
    unknown: Count
    unsupported: Count
    skipped: Count


class Counts(Document, frozen=True, kw_only=True):
    """The number of cases by level and outcome."""

    MUST: Outcomes
    SHOULD: Outcomes
    MAY: Outcomes

    @classmethod
    def of(cls, counts: Counter[tuple[Level, Outcome]]) -> Counts:
        """Make it of the counts that are not 0."""
        rows = {
            level.value: {outcome.value: counts[level, outcome] for outcome in Outcome}
            for level in Level
        }
        return msgspec.convert(rows, cls)


class CertificateApis(Document, frozen=True, kw_only=True):
    """The versions of APIs."""

    advertised: Annotated[
        dict[str, _Range], Meta(description="API → the versions that the target advertises")
    ]
    working: Annotated[dict[str, _Range], Meta(description="API → the versions that cases use")]
    advertised_but_broken: Annotated[
        dict[str, Annotated[tuple[Count, ...], Meta(min_length=1)]],
        Meta(description="API → advertised versions that do not work; no case uses them"),
    ]
    reasons: (
        Annotated[
            dict[str, dict[str, str]],
            Meta(description="API → broken version → the reason, if it is known"),
        ]
        | UnsetType
    ) = UNSET


class CertificateRules(Document, frozen=True, kw_only=True):
    """The rules that the cases covered."""

    covered: Annotated[
        tuple[str, ...], Meta(description="Rules that every explanation of a passing case used")
    ]
    missed: Annotated[
        tuple[str, ...],
        Meta(description="Rules of which the certificate says nothing: no case of theirs passed"),
    ]
    unreachable: Annotated[
        dict[str, str], Meta(description="Rules that no request can reach on this target → reason")
    ]


class CertificateSuite(Document, frozen=True, kw_only=True):
    """The suite, if it was generated for this run; absent for the catalogue."""

    name: Text
    bound: Annotated[str, Meta(min_length=1, description="The name of the explored bound")]
    traces: Count
    steps: Annotated[int, Meta(ge=0, description="The steps of all traces")]
    lower_bound: Annotated[
        int, Meta(ge=0, description="No suite for the same purpose has fewer steps")
    ]


class CertificateCase(Document, frozen=True, kw_only=True):
    """The result of a case."""

    id: str
    about: str
    level: Annotated[
        Level, Meta(description="The level of the failure; without one, the level of the case")
    ]
    rules: Annotated[tuple[str, ...], Meta(description="The rules that the case tests")]
    outcome: Outcome
    rule: Annotated[str | None, Meta(description="The violated rule")]
    message: Annotated[
        str, Meta(description="The expected and the observed answer in one sentence, or the reason")
    ]
    expected: Annotated[
        tuple[str, ...],
        Meta(
            description="Right answers in words, the nearest to the observed one first; "
            "empty if nothing was wrong"
        ),
    ]
    observed: Annotated[
        str,
        Meta(description="The signature of the failure, as lists of known failures have it"),
    ]
    trace: _Trace
    attempts: Annotated[int, Meta(ge=1, description="How often the case ran")]
    notes: Annotated[
        tuple[str, ...],
        Meta(description="Known failures, deviations that the case went on behind, and the like"),
    ]
    seconds: _RealSeconds | UnsetType = UNSET

    @classmethod
    def of(cls, result: CaseResult, revision: Revision, *, real: bool) -> CertificateCase:
        """Make it of a result under a revision.  `real`: the target has a real clock."""
        return cls(
            id=result.case.id,
            about=result.case.about,
            level=result.level,
            rules=result.case.rules,
            outcome=result.outcome,
            rule=result.broken(revision),
            message=result.message,
            expected=tuple(expected_answers(result.verdict, result.recording)),
            observed=result.observed,
            trace=trace_name(result.case.id) if result.has_trace else None,
            attempts=result.attempts,
            notes=result.all_notes,
            seconds=round(result.seconds, 3) if real else UNSET,
        )


class CertificateDocument(Document, frozen=True, kw_only=True):
    """The certificate of a coordinator."""

    format: Literal["fencepost-certificate"] = FORMAT
    format_version: Literal[1] = 1
    target: Annotated[str, Meta(min_length=1, description="The target, as on the command line")]
    implementation: str
    version: Annotated[str, Meta(description="The version of the implementation")]
    address: str | None
    revision: Annotated[str, Meta(min_length=1, description="The revision that judged")]
    verdict: Overall
    certified: _Certified
    left_out: _LeftOut
    summary: _Summary
    exit_code: ExitCode
    level: _Least
    seed: int
    clock: Literal["virtual", "real"]
    lag_ms: Annotated[
        int, Meta(ge=0, description="The delay that an answer may have; 0 on a virtual clock")
    ]
    config: Annotated[dict[str, int | str | None], Meta(description="The group settings in force")]
    settings_source: Annotated[
        dict[str, str], Meta(description="How each setting is known: read, measured, assumed, set")
    ]
    apis: CertificateApis
    counts: Counts
    rules: CertificateRules
    versions: _Versions
    cases: tuple[CertificateCase, ...]
    details: _Details | UnsetType = UNSET
    not_selected: _NotSelected | UnsetType = UNSET
    suite: CertificateSuite | UnsetType = UNSET
    seconds: _RealSeconds | UnsetType = UNSET
    remarks: (
        Annotated[
            tuple[str, ...],
            Meta(min_length=1, description="Sentences that a reader must know about the target"),
        ]
        | UnsetType
    ) = UNSET

    @classmethod
    def of(cls, report: Certificate) -> CertificateDocument:
        """Make it of the report of a coordinator."""
        made, coverage = report.provenance, report.coverage
        revision, real = revisions.find(report.revision), report.clock == "real"
        return cls(
            target=made.target,
            implementation=made.implementation,
            version=made.version,
            address=made.address,
            revision=report.revision,
            verdict=report.overall(),
            certified=report.certified(),
            left_out=report.left_out(),
            not_selected=report.not_selected or UNSET,
            summary=report.summary(),
            details=report.details(),
            exit_code=report.exit_code(),
            level=report.level,
            seed=report.seed,
            clock="real" if real else "virtual",
            lag_ms=report.lag_ms,
            config=_sorted(named(report.config)),
            settings_source=_sorted(report.settings_source),
            apis=CertificateApis(
                advertised=_sorted(report.advertised),
                working=_sorted(report.working),
                advertised_but_broken=report.broken_versions(),
                reasons={
                    api: {str(version): why for version, why in sorted(reasons.items())}
                    for api, reasons in sorted(report.broken.items())
                }
                or UNSET,
            ),
            counts=Counts.of(report.counts()),
            rules=CertificateRules(
                covered=coverage.covered,
                missed=coverage.missed,
                unreachable=_sorted(coverage.unreachable),
            ),
            versions=_sorted(report.versions),
            cases=tuple(CertificateCase.of(each, revision, real=real) for each in report.results),
            suite=msgspec.convert(report.suite, CertificateSuite) if report.suite else UNSET,
            seconds=round(report.seconds, 3) if real else UNSET,
            remarks=report.remarks or UNSET,
        )


class ClientCertificateCase(Document, frozen=True, kw_only=True):
    """The result of a requirement in a scenario."""

    id: Annotated[
        str,
        Meta(pattern="^CLIENT-[A-Z-]+/[a-z0-9-]+$", description="Obligation and scenario"),
    ]
    rule: Annotated[str, Meta(description="The obligation")]
    scenario: str
    about: Annotated[str, Meta(description="The sentence of the obligation")]
    level: Level
    outcome: Outcome
    message: Annotated[
        str,
        Meta(description="The observation, with the names of this run; or why there is none"),
    ]
    observed: Annotated[
        str, Meta(description="The signature of a failure, which known failures are matched by")
    ]
    trace: _Trace
    attempts: Annotated[int, Meta(ge=0, description="How many runs were judged")]
    notes: tuple[str, ...]
    intermittent: _Intermittent | UnsetType = UNSET
    stderr: (
        Annotated[
            dict[str, tuple[str, ...]],
            Meta(
                description="The last lines of each driver's stderr, by process; of what did not "
                "pass, and of all with --keep-traces"
            ),
        ]
        | UnsetType
    ) = UNSET

    @classmethod
    def of(cls, result: ClientResult) -> ClientCertificateCase:
        """Make it of a result."""
        return cls(
            id=result.case.id,
            rule=result.obligation,
            scenario=result.case.scenario.id,
            about=result.case.about,
            level=result.level,
            outcome=result.outcome,
            message=result.message,
            observed=result.observed,
            trace=trace_name(result.case.id) if result.has_trace else None,
            attempts=result.attempts,
            notes=result.all_notes,
            intermittent=result.intermittent or UNSET,
            stderr=dict(result.stderr) or UNSET,
        )


class ClientCertificateDocument(Document, frozen=True, kw_only=True):
    """The certificate of a client."""

    format: Literal["fencepost-client-certificate"] = CLIENT_FORMAT
    format_version: Literal[1] = 1
    target: Annotated[
        str, Meta(min_length=1, description="The client, as it was given on the command line")
    ]
    implementation: Annotated[str, Meta(description="The library")]
    version: Annotated[str, Meta(description="Of the library")]
    language: str
    features: Annotated[tuple[str, ...], Meta(description="What the library has, by its driver")]
    assignors: tuple[str, ...]
    broker: Annotated[str, Meta(description="What it ran against: serve, or a target")]
    revision: Annotated[str, Meta(description="Which the broker serves")]
    verdict: Overall
    certified: _Certified
    left_out: _LeftOut
    summary: _Summary
    exit_code: ExitCode
    level: _Least
    counts: Counts
    versions: _Versions
    cases: tuple[ClientCertificateCase, ...]
    seconds: Seconds
    details: _Details | UnsetType = UNSET
    not_selected: _NotSelected | UnsetType = UNSET

    @classmethod
    def of(cls, report: ClientCertificate) -> ClientCertificateDocument:
        """Make it of the report of a client."""
        made, introduction = report.provenance, report.introduction
        return cls(
            target=made.target,
            implementation=made.implementation,
            version=made.version,
            language=introduction.language,
            features=tuple(sorted(introduction.features)),
            assignors=introduction.assignors,
            broker=report.broker,
            revision=report.revision,
            verdict=report.overall(),
            certified=report.certified(),
            left_out=report.left_out(),
            not_selected=report.not_selected or UNSET,
            summary=report.summary(),
            details=report.details(),
            exit_code=report.exit_code(),
            level=report.level,
            counts=Counts.of(report.counts()),
            versions=_sorted(report.versions),
            cases=tuple(map(ClientCertificateCase.of, report.results)),
            seconds=round(report.seconds, 3),
        )


def _sorted(values: Mapping[str, _T]) -> dict[str, _T]:
    return dict(sorted(values.items()))


_DEFINITIONS = {
    "Outcomes": "outcomes",
    "CertificateCase": "case",
    "ClientCertificateCase": "case",
}
SCHEMA = DocumentSchema(
    "certificate-1",
    "fencepost certificate 1",
    "All results of one target under one revision.",
    CertificateDocument,
    _DEFINITIONS,
)
CLIENT_SCHEMA = DocumentSchema(
    "client-certificate-1",
    "fencepost certificate of a client 1",
    "All results of one client library on one kind of broker.",
    ClientCertificateDocument,
    _DEFINITIONS,
)
