"""Compare two certificates: which cases were fixed, which fail now, which changed.

Both kinds are read, the full report and the short one that a repository keeps, which doesn't list
what passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fencepost.model.history.words import plural
from fencepost.traces.files.document_schema import Document
from fencepost.traces.report.certificate_data import FAILED, FindingEntry, FindingSection

if TYPE_CHECKING:
    from fencepost.traces.pages.trace_page import PageTrace

PAGE = "diff.html"
_LISTED = 15
"""The number of cases of a kind that are printed; the page has all."""
_NOT_THERE = "not in the old run"
"""The outcome of a case that the older certificate does not have."""


class CaseChange(Document, frozen=True):
    """A case that came out in another way.

    `was`, `now`: the outcome, with what was observed if it failed; `rule`: that it breaks, or is
    about; `message`: the sentence of now; `trace`: its file.
    """

    id: str
    level: str
    rule: str
    was: str
    now: str
    message: str = ""
    trace: str | None = None


class CertificateDiff(Document, frozen=True):
    """The differences from an older certificate.

    `old`: that one in words; `old_summary`: with its verdict.
    """

    old: str
    old_summary: str
    fixed: tuple[CaseChange, ...]
    new: tuple[CaseChange, ...]
    changed: tuple[CaseChange, ...]

    @property
    def added(self) -> tuple[CaseChange, ...]:
        """Return the failures of cases that the older one does not have."""
        return tuple(change for change in self.new if change.was == _NOT_THERE)

    @property
    def broken(self) -> tuple[CaseChange, ...]:
        """Return the new failures of cases that the older one has."""
        return tuple(change for change in self.new if change.was != _NOT_THERE)

    @property
    def summary(self) -> str:
        """Return the figures, e.g. `2 fixed, 1 new failure, 0 changed, not in the old run: 3`."""
        new = plural(len(self.broken), "new failure")
        added = f", not in the old run: {len(self.added)}" if self.added else ""
        return f"{len(self.fixed)} fixed, {new}, {len(self.changed)} changed{added}"

    def lines(self) -> Iterator[str]:
        """Yield the comparison for the terminal, the new failures first."""
        yield f"Compared with {self.old}: {self.summary}"
        for word, changes in (
            ("new", self.broken),
            ("changed", self.changed),
            ("added", self.added),
            ("fixed", self.fixed),
        ):
            for change in changes[:_LISTED]:
                yield f"  {word:<7}  {change.level:<6}  {change.id}"
                if word != "fixed":
                    yield f"      was {change.was}; now {change.now}"
            if (more := len(changes) - _LISTED) > 0:
                yield f"  {word:<7}  and {more} more"


def diff_certificates(old: Mapping[str, Any], new: Mapping[str, Any]) -> CertificateDiff:
    """Compare two certificates by their cases.

    What the target does is compared, not which failures are listed as known: one that is listed
    now and fails as before is no change, and a stale one that passes is fixed.  A case that the
    older one didn't have counts only if it fails.
    """
    before, after = _rows(old), _rows(new)
    is_short = isinstance(old["cases"], Mapping)
    fixed, failed, changed = [], [], []
    for name, row in after.items():
        was = before.get(name, {"outcome": "pass"} if is_short else {"outcome": _NOT_THERE})
        change = _change(name, was, row)
        then, now = _behaviour(was), _behaviour(row)
        if now == _FAILS != then:
            failed.append(change)
        elif (then, now) == (_FAILS, "pass"):
            fixed.append(change)
        elif (
            then != now or _observation(was, row) != _observation(row, was)
        ) and then != _NOT_THERE:
            changed.append(change)
    summary = str(old.get("summary") or f"{_named(old)}: {old['verdict']}")
    return CertificateDiff(_named(old), summary, tuple(fixed), tuple(failed), tuple(changed))


def diff_page(
    diff: CertificateDiff, document: Mapping[str, Any], traces: Mapping[str, PageTrace], tone: str
) -> str:
    """Make the page of a comparison.

    `document`, `traces`, `tone`: of the newer certificate; its traces by name.
    """
    from fencepost.traces.report.certificate_page import findings_page  # noqa: PLC0415  (pages only)

    def section(title: str, outcome: str, changes: Sequence[CaseChange]) -> FindingSection:
        entries = [
            FindingEntry(
                c.id, c.rule, c.level, c.message, f"was {c.was}; now {c.now}", c.trace or ""
            )
            for c in changes
        ]
        return FindingSection(title, outcome, entries)

    named = {c.trace for c in (*diff.new, *diff.changed)}
    facts = [("now", document.get("summary") or _named(document)), ("before", diff.old_summary)]
    sections = [
        section("new failure", "fail", diff.broken),
        section("changed case", "stale-known-failure", diff.changed),
        section("added case", "fail", diff.added),
        section("fixed case", "pass", diff.fixed),
    ]
    pages = {name: trace for name, trace in traces.items() if name in named}
    heading = f"{document['target']}: {diff.summary}"
    return findings_page(heading, tone, facts, sections, pages, kind="comparison")


def _named(document: Mapping[str, Any]) -> str:
    made = f"{document['implementation']} {document['version']}".strip()
    where = f"on {document['broker']}" if "broker" in document else f"under {document['revision']}"
    return f"{document['target']} ({made}) {where}"


def _rows(document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    cases = document["cases"]
    return dict(cases) if isinstance(cases, Mapping) else {case["id"]: case for case in cases}


def _change(name: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> CaseChange:
    rule = now.get("rule") or was.get("rule") or name.partition("/")[0]
    failing = was if _behaviour(was) == _FAILS != _behaviour(now) else now
    compares = "observed" in now and ("observed" in was or was["outcome"] not in FAILED)
    return CaseChange(
        name,
        failing.get("level") or now.get("level") or was.get("level") or "MUST",
        rule,
        _outcome_words(was, with_observed=compares),
        _outcome_words(now, with_observed=compares),
        now.get("message", ""),
        now.get("trace"),
    )


_FAILS = "fail"


def _behaviour(row: Mapping[str, Any]) -> str:
    """Return the outcome, whatever is known of it: a stale known failure passes or fails."""
    outcome = str(row["outcome"])
    if outcome == "stale-known-failure" and row.get("observed") == "":
        return "pass"
    return _FAILS if outcome in FAILED else outcome


def _observation(row: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Return the observation in a failure, where both certificates have it."""
    both = "observed" in row and "observed" in other and _behaviour(row) == _FAILS
    return str(row["observed"]) if both else ""


def _outcome_words(row: Mapping[str, Any], *, with_observed: bool) -> str:
    observed = row.get("observed", "") if with_observed else ""
    failed = row["outcome"] in FAILED and observed
    return f"{row['outcome']} ({observed})" if failed else str(row["outcome"])
