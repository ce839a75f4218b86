"""Read certificates for their page: targets by rules, each case beside its rule.

Both kinds are read: the full report of `certify --report`, and the short one that a repository
keeps, which lists what did not pass.  Outcomes are counted apart, and by level.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.model.history.words import made_by, plural
from fencepost.model.revision import Revision
from fencepost.model.table.table import LEVELS, Level

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
    is named; `observed`: the signature; `trace`: the name of its file, None if it left none.
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

    def reason(self) -> str:
        """Return the reason without details of this case; of a known failure the known one."""
        return self.message.rpartition("known failure: ")[2] or "no reason is recorded"


def by_reason(cases: Iterable[CaseRow]) -> list[tuple[str, list[CaseRow]]]:
    """Group cases by their reason, the commonest first."""
    found: dict[str, list[CaseRow]] = {}
    for case in cases:
        found.setdefault(case.reason(), []).append(case)
    return sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))


@dataclass(frozen=True, slots=True)
class CertificateView:
    """A certificate.  `covered`, `missed`: rules; `unreachable`: rules with the reason."""

    target: str
    made: str
    revision: str
    verdict: str
    summary: str
    cases: tuple[CaseRow, ...]
    covered: frozenset[str]
    missed: frozenset[str]
    unreachable: Mapping[str, str]

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
    told = document["rules"]
    out, missed = dict(told["unreachable"]), frozenset(told["missed"])
    defensive = {rule.id: rule.defensive for _, rule in revision.rules() if rule.defensive}
    out |= {name: why for name, why in defensive.items() if name not in out}
    covered = told.get("covered")
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
    )


def _case(row: Mapping[str, Any], levels: Mapping[str, str]) -> CaseRow:
    rules = tuple(row.get("rules") or [row["id"].partition("/")[0]])
    about = rules[0]
    listed = [n for n in row.get("notes", ()) if n.startswith(("known failure: ", "stale: "))]
    message = " ".join([row.get("message") or row.get("why", ""), *listed]).strip()
    return CaseRow(
        id=row["id"],
        outcome=row["outcome"],
        level=row.get("level") or levels.get(about, Level.MUST.value),
        rule=about,
        message=message,
        trace=row.get("trace"),
        rules=rules,
        broken=row.get("rule"),
        observed=row.get("observed", ""),
    )


def rules_of(certificates: Sequence[CertificateView], revision: Revision) -> dict[str, list[str]]:
    """Return level → the rules of its cases, in the table's order; then those in no table."""
    named = dict.fromkeys(case.rule for held in certificates for case in held.cases)
    known = {rule.id: rule.level.value for _, rule in revision.rules()}
    found: dict[str, list[str]] = {level.value: [] for level in LEVELS}
    for rule, level in known.items():
        if rule in named:
            found[level].append(rule)
    for rule in named:
        if rule not in known:
            found[Level.MUST.value].append(rule)
    return found
