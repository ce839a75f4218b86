"""Read certificates for their page: targets by rules, each case beside its rule.

Both kinds are read: the full report of `certify --report`, and the short one that a repository
keeps, which lists what did not pass.  Outcomes are counted apart, and by level.

Read a certificate that a file holds, in either form, and check what its readers need.

The full form is the report of `certify --report`.  A repository keeps the short one: its cases are
an object, by id, and say less.

Group the failures of a certificate by cause: the gravest first, then by own rules, then by size.

One fault makes hundreds of cases fail: whatever begins with a group that can't be formed fails
there.  Two failures have one cause if the same rule is broken, the answer is of the same kind, and
the same field of it is wrong; names of members, lists of them, and numbers are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from fencepost.model.bad_input import BadInputError
from fencepost.model.history.words import made_by, plural, without_names
from fencepost.model.revision import Revision
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.model.table.table import LEVELS, Level
from fencepost.properties.judging.known_failures import KnownNotes, read_notes
from fencepost.traces.files.bounded import DocumentError, read_json
from fencepost.traces.report.certificate_schema import FORMAT

OUTCOMES = (
    "pass",
    "fail",
    "known-failure",
    "stale-known-failure",
    "unsupported",
    "unknown",
    "skipped",
)
FAILED = {"fail", "known-failure", "stale-known-failure"}
SIGNS = {
    "pass": "✓",
    "fail": "✕",
    "known-failure": "!",
    "stale-known-failure": "↻",
    "unsupported": "∅",
    "unknown": "?",
    "skipped": "»",
}


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A case of a certificate.

    `rule`: the first that it is about, of `rules`; `broken`: the one that was broken, None if none
    is named; `observed`: the signature; `trace`: the name of its file, None if it left none;
    `known`: why the failure is known, "" unless a list says so.
    """

    id: str
    outcome: str
    level: str
    rule: str
    message: str
    trace: str | None
    rules: tuple[str, ...] = ()
    broken: str | None = None
    observed: str = ""
    known: str = ""

    def reason(self) -> str:
        """Return the reason without details of this case; of a known failure the known one."""
        return self.known or self.message or "no reason is recorded"


def by_reason(cases: Iterable[CaseRow]) -> list[tuple[str, list[CaseRow]]]:
    """Group cases by their reason, the commonest first."""
    groups: dict[str, list[CaseRow]] = {}
    for case in cases:
        groups.setdefault(case.reason(), []).append(case)
    return sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))


@dataclass(frozen=True, slots=True)
class CertificateView:
    """A certificate.

    `summary`, `details`: the verdict in a line, and what belongs to it; `covered`, `missed`: rules;
    `unreachable`: rules with the reason; `settings`: each group setting with its value, and where
    it is known from.
    """

    target: str
    made: str
    revision: str
    verdict: str
    summary: str
    cases: tuple[CaseRow, ...]
    covered: frozenset[str]
    missed: frozenset[str]
    unreachable: Mapping[str, str]
    details: tuple[str, ...] = ()
    settings: tuple[tuple[str, str, str], ...] = ()

    @property
    def tone(self) -> str:
        """Return the verdict, or `excused` if it holds only by known failures at MUST."""
        excused = any(c.outcome == "known-failure" and c.level == "MUST" for c in self.cases)
        return "excused" if self.verdict == "holds" and excused else self.verdict

    @property
    def figures(self) -> str:
        """Return how many cases pass and how many failures are known.

        The short form of a certificate lists no passes, so nothing is said of them.
        """
        count = Counter(case.outcome for case in self.cases)
        passed = f"passes {count['pass']} of {len(self.cases)}" if count["pass"] else ""
        known = plural(count["known-failure"], "known failure") if count["known-failure"] else ""
        return "; ".join(filter(None, (passed, known)))

    def counts(self, level: str) -> Counter[str]:
        """Return the number of cases of a level by outcome."""
        return Counter(case.outcome for case in self.cases if case.level == level)

    def of_rule(self, rule: str) -> list[CaseRow]:
        """Return the cases about a rule, those that did not pass first."""
        own = [case for case in self.cases if case.rule == rule]
        return sorted(own, key=lambda case: (case.outcome == "pass", OUTCOMES.index(case.outcome)))


def read_certificate(document: Mapping[str, Any], revision: Revision) -> CertificateView:
    """Read a certificate.  `revision`: the one that it names."""
    levels = {rule.id: rule.level.value for _, rule in revision.rules()}
    cases = document["cases"]
    if isinstance(cases, Mapping):
        rows = [{"id": name, **case} for name, case in cases.items()]
    else:
        rows = list(cases)
    rules = document["rules"]
    out, missed = dict(rules["unreachable"]), frozenset(rules["missed"])
    defensive = {rule.id: rule.defensive for _, rule in revision.rules() if rule.defensive}
    out |= {name: why for name, why in defensive.items() if name not in out}
    covered = rules.get("covered")
    return CertificateView(
        target=document["target"],
        made=made_by(document["implementation"], document["version"]),
        revision=document["revision"],
        verdict=document["verdict"],
        summary=document.get("summary", ""),
        cases=tuple(_case(row, levels) for row in rows),
        covered=frozenset(levels.keys() - missed - out.keys() if covered is None else covered),
        missed=missed - out.keys(),
        unreachable=out,
        details=tuple(document.get("details", ())),
        settings=_settings(document),
    )


def _settings(document: Mapping[str, Any]) -> tuple[tuple[str, str, str], ...]:
    """Return name, value and source of the settings whose source is known, in words."""
    config = document.get("config", {})
    return tuple(
        (key, "none" if config[key] is None else str(config[key]), _SOURCES.get(source, source))
        for key, source in document.get("settings_source", {}).items()
        if key in config
    )


_SOURCES = {"describe-configs": "read from the broker", "option": "given with --set"}
"""The sources of a setting in words, where they are not words already."""


def _case(row: Mapping[str, Any], levels: Mapping[str, str]) -> CaseRow:
    rules = tuple(row.get("rules") or [row["id"].partition("/")[0]])
    about = rules[0]
    notes, message = row.get("notes", ()), row.get("message") or row.get("why", "")
    known = read_notes((*notes, row.get("why", "")))
    listed = [note for note in notes if read_notes([note]) != KnownNotes()]
    return CaseRow(
        id=row["id"],
        outcome=row["outcome"],
        level=row.get("level") or levels.get(about, Level.MUST.value),
        rule=about,
        message=" ".join([message, *listed]).strip(),
        trace=row.get("trace"),
        rules=rules,
        broken=row.get("rule"),
        observed=row.get("observed", ""),
        known=known.reason,
    )


def rules_of(certificates: Sequence[CertificateView], revision: Revision) -> dict[str, list[str]]:
    """Return level → the rules of its cases, in the table's order; then those in no table."""
    named = dict.fromkeys(case.rule for held in certificates for case in held.cases)
    known = {rule.id: rule.level.value for _, rule in revision.rules()}
    groups: dict[str, list[str]] = {level.value: [] for level in LEVELS}
    for rule, level in known.items():
        if rule in named:
            groups[level].append(rule)
    for rule in named:
        if rule not in known:
            groups[Level.MUST.value].append(rule)
    return groups


_SHORT = {"target", "revision", "verdict", "rules", "cases"}
"""The keys by which the short form is known."""

_REMEDY = "give a certificate.json, as `fencepost certify TARGET --report DIR` writes one"


class CertificateFileError(BadInputError):
    """A file holds no certificate; `str()` names it, the problem and the remedy."""


class _Case(msgspec.Struct):
    id: str
    outcome: Literal[
        "pass", "fail", "known-failure", "stale-known-failure", "unsupported", "unknown", "skipped"
    ]
    level: Literal["MUST", "SHOULD", "MAY"] | None = None
    about: str = ""
    rule: str | None = None
    message: str = ""
    observed: str = ""
    why: str = ""
    trace: str | None = None
    rules: list[str] = []
    notes: list[str] = []


class _Rules(msgspec.Struct):
    missed: list[str]
    unreachable: dict[str, str]
    covered: list[str] | None = None


class _Certificate(msgspec.Struct):
    target: str
    implementation: str
    version: str
    revision: str
    verdict: Literal["holds", "violated", "unknown"]
    rules: _Rules
    cases: list[_Case]
    summary: str = ""
    details: list[str] = []


def is_certificate(document: Any) -> bool:
    """Return whether a JSON document is meant as a certificate, of either form."""
    return isinstance(document, dict) and (
        document.get("format") == FORMAT or document.keys() >= _SHORT
    )


def read_certificate_file(path: Path) -> dict[str, Any]:
    """Read a certificate.  Raises CertificateFileError."""
    try:
        document = read_json(path)
    except DocumentError as error:
        raise CertificateFileError(f"{error}; {_REMEDY}") from None
    return checked_certificate(document, path)


def checked_certificate(document: Any, path: Path) -> dict[str, Any]:
    """Return the document, if all that its readers need is there and has the right form.

    `path`: of its file.  Raises CertificateFileError.
    """
    if not is_certificate(document):
        raise CertificateFileError(f"{path}: is no certificate; {_REMEDY}")
    cases = document.get("cases")
    if isinstance(cases, Mapping):
        rows = [{**row, "id": i} if isinstance(row, Mapping) else row for i, row in cases.items()]
    else:
        rows = cases
    try:
        msgspec.convert({**document, "cases": rows}, _Certificate)
        find_revision(document["revision"])
    except msgspec.ValidationError as error:
        raise CertificateFileError(f"{path}: is no certificate: {error}; {_REMEDY}") from None
    except KeyError as error:
        raise CertificateFileError(f"{path}: $.revision: {error.args[0]}") from None
    return dict(document)


Key = tuple[str, str]

_PLACE = re.compile(r", generation .*?(?=, too late$|$)")
_MANY = 10
"""The number of cases for which one cause is worth fixing before all others."""

_FIELD = re.compile(r"\((?P<field>[\w.]+) (?P<got>[^()]*) instead of (?P<want>[^()]*)")


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause of failures: the cases about the rule that is broken, and those about others.

    `rule`: the broken rule's id, "" where none is named.
    """

    rule: str
    own: tuple[CaseRow, ...]
    others: tuple[CaseRow, ...]

    @property
    def cases(self) -> tuple[CaseRow, ...]:
        """Return all cases: the gravest first, and of these those that show the cause best.

        A case that is named after the broken rule shows it better than one that is also about it.
        """

        def place(case: CaseRow) -> tuple[int, bool]:
            return _gravity(case), case.id.partition("/")[0] != self.rule

        return tuple(sorted(self.own + self.others, key=place))

    @property
    def level(self) -> str:
        """Return the gravest level of a case."""
        return self.cases[0].level


def causes_of(cases: Iterable[CaseRow]) -> list[Cause]:
    """Group failed cases: by level, then causes that a case shows at its own rule, then by size."""
    groups: dict[tuple[str, ...], list[CaseRow]] = {}
    for case in cases:
        groups.setdefault((case.outcome, *cause_key(case)), []).append(case)
    causes = [
        Cause(
            key[1],
            tuple(case for case in members if is_own(case)),
            tuple(case for case in members if not is_own(case)),
        )
        for key, members in groups.items()
    ]
    return sorted(causes, key=lambda c: (_gravity(c.cases[0]), not c.own, -len(c.cases)))


def masking(causes: Sequence[Cause]) -> str:
    """Name the cause by which most cases fail that are about other rules.

    Return "" unless it hides many, and a good part of all failures, so that the others say little
    before it is fixed.
    """
    most = max(causes, key=lambda cause: len(cause.others), default=None)
    failed = sum(len(cause.cases) for cause in causes)
    if most is None or len(most.others) < max(_MANY, failed / 4):
        return ""
    hidden = f"{len(most.others)} cases about other rules show the same violation"
    return f"Fix {most.rule or 'what breaks'} first: {hidden}"


def is_own(case: CaseRow) -> bool:
    """Return True if a case failed at a rule that it is about, or where no rule can be named."""
    return case.broken is None or case.broken in case.rules


def cause_key(case: CaseRow) -> Key:
    """Return the cause's key: the broken rule, and the observation without names and places.

    Of a list in a wrong field also the kind of the difference: a member too many, and one that is
    missing, have different causes.
    """
    observed = _PLACE.sub("", without_names(case.observed))
    if (differs := _FIELD.search(case.message)) is not None:
        field, got, want = differs.groups()
        observed = f"{observed}, {field}{_list_difference(got, want)}"
    if case.broken is None and not observed:
        observed = "" if "passes: take it off" in case.message else case.message
    return case.broken or "", observed


def _list_difference(got: str, want: str) -> str:
    """Return how a list differs from the right one, by its length; "" for what is no list."""
    if not (got.startswith("[") and want.startswith("[")):
        return ""
    if got == "[]" or want == "[]":
        return " empty" if got == "[]" else " not empty"
    more = got.count(",") - want.count(",")
    return " too many" if more > 0 else " too few" if more < 0 else " others"


def cause_words(case: CaseRow) -> str:
    """Name the cause of a failure: what was observed, and the rule that answers otherwise."""
    rule, observed = cause_key(case)
    observed = observed.removesuffix(", errorCode")
    return f"{observed}, against {rule}" if rule else observed or "no reason is recorded"


def _gravity(case: CaseRow) -> int:
    return LEVELS.index(Level(case.level))


@dataclass(frozen=True, slots=True)
class FindingEntry:
    """A finding: its name, its sentence, how often it was observed, the name of its trace."""

    name: str
    rule: str
    level: str
    sentence: str
    observed: str
    trace: str | None


@dataclass(frozen=True, slots=True)
class FindingSection:
    """Findings of one kind; `title`: what one of them is; `outcome`: the word that colours them."""

    title: str
    outcome: str
    findings: Sequence[FindingEntry]
