"""Which rules a certificate covers, and why not the others.

Decides what can be reached.  A rule counts as covered if every explanation of some passing case
used it.
"""

from __future__ import annotations

from collections.abc import Iterable

from fencepost.conformance.execution.outcome import CaseResult, CertificateCoverage, Outcome
from fencepost.model.revision import Revision

_AVAILABILITY = "no command of adapter protocol 1 makes a coordinator load or move away"
_UNREACHED = ("-COORDINATOR-LOADING", "-COORDINATOR-ELSEWHERE")


def coverage_of(revision: Revision, results: Iterable[CaseResult]) -> CertificateCoverage:
    """The coverage of these results."""
    results = list(results)
    covered: set[str] = set()
    lacking: dict[str, str] = {}
    tried: set[str] = set()
    for result in results:
        if result.outcome is Outcome.UNSUPPORTED:
            for rule_id in result.case.rules:
                lacking.setdefault(rule_id, result.message)
            continue
        tried.update(result.case.rules)
        if result.outcome is Outcome.PASS and result.verdict is not None:
            covered |= result.verdict.used
    unreachable: dict[str, str] = {}
    missed: list[str] = []
    for _, rule in revision.rules():
        if rule.id in covered:
            continue
        if rule.defensive is not None:
            unreachable[rule.id] = rule.defensive
        elif rule.id.endswith(_UNREACHED):
            unreachable[rule.id] = _AVAILABILITY
        elif rule.id in lacking and rule.id not in tried:
            unreachable[rule.id] = lacking[rule.id]
        else:
            missed.append(rule.id)
    known = [rule.id for _, rule in revision.rules()]
    return CertificateCoverage(tuple(r for r in known if r in covered), tuple(missed), unreachable)
