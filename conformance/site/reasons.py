"""Name the cause of each failure, so that one cause has one name in all results of a family.

The reason in a list of known failures is the name, wherever the same rule is broken by an answer of
the same kind, also in a version for which nobody wrote a list.  Where no list has it, the rule and
the answer are the name: not the sentence, which has the numbers of its steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fencepost.conformance.site.site_results import Result
from fencepost.traces.report.certificate_data import FAILED, OUTCOMES, CaseRow
from fencepost.traces.report.failure_causes import Key, cause_key, cause_words
from fencepost.traces.report.known_failures import UNEXPLAINED


class Reasons:
    """The names of the causes in results of one family."""

    def __init__(self, results: Sequence[Result]) -> None:
        listed = [
            (case, why)
            for result in results
            for case in result.view.cases
            if (why := _listed(case)) is not None
        ]
        self._of_case = {(case.id, cause_key(case)): why for case, why in listed}
        named: dict[Key, set[str]] = {}
        for case, why in listed:
            named.setdefault(cause_key(case), set()).add(why)
        self._of_cause = {key: min(found) for key, found in named.items() if len(found) == 1}

    def of(self, case: CaseRow) -> str:
        """The reason of what did not pass, with the address that a list has for it."""
        if case.outcome not in FAILED or case.outcome == "stale-known-failure":
            return case.reason()
        key = cause_key(case)
        own = _listed(case) or self._of_case.get((case.id, key)) or self._of_cause.get(key)
        return own or cause_words(case)

    def groups(self, cases: Iterable[CaseRow]) -> list[tuple[str, str, list[CaseRow]]]:
        """What did not pass, by outcome and reason: those with most cases first."""
        found: dict[tuple[str, str], list[CaseRow]] = {}
        for case in cases:
            if case.outcome != "pass":
                found.setdefault((case.outcome, self.of(case)), []).append(case)
        order = sorted(found.items(), key=lambda f: (OUTCOMES.index(f[0][0]), -len(f[1]), f[0][1]))
        return [(outcome, reason, inner) for (outcome, reason), inner in order]


def _listed(case: CaseRow) -> str | None:
    """The reason that a list has; None where none has it, or nobody has written it yet."""
    if case.outcome != "known-failure":
        return None
    why = case.reason()
    return None if why.startswith(UNEXPLAINED) else why
