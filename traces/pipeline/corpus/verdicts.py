"""Judge a trace of a corpus: by the oracle, and by the properties of answers and explanations.

A trace is violated if no run of the judge's revision gives its answers, or if a property that the
revision keeps is broken: by the answers themselves, or in every state that explains them.  If a
checker fails on a trace, the row of that trace holds the error; other traces are not affected.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from fencepost.model.classic.group import Group
from fencepost.model.history.events import Event
from fencepost.model.revision import Revision
from fencepost.properties.checking.evaluator import excused_rules
from fencepost.properties.claims.history_index import Reading
from fencepost.properties.claims.property_registry import PROPERTIES
from fencepost.properties.logic.formula_closure import Closure
from fencepost.properties.logic.property import Property, PropertyKind
from fencepost.properties.mutants.mutants import find_revision
from fencepost.properties.oracle.fingerprint import fingerprint_of
from fencepost.properties.oracle.oracle import Oracle
from fencepost.properties.oracle.verdict import Verdict
from fencepost.properties.worlds.abstraction import AbstractGroup, abstract_group, compiled
from fencepost.traces.pipeline.storage.trace_rows import Row, events_of

HOLDS, VIOLATED, UNKNOWN, ERROR = "holds", "violated", "unknown", "error"
PROPERTY = "PROPERTY"
"""The way of being wrong of a trace whose answers a model gives, and which breaks a property."""
_SAYING = 500
"""The most characters of an error that are kept."""
_REMEMBERED = 100_000
"""The most states in the cache, each with the properties that it breaks."""


class Checker:
    """Checks traces against a revision: its answers, and the properties that it always keeps."""

    def __init__(self, revision: Revision) -> None:
        self.revision = revision
        kept = [p for p in PROPERTIES.values() if excused_rules(p, revision) == frozenset()]
        self._of_answers = [p for p in kept if p.kind is PropertyKind.HISTORY]
        self._of_groups: list[tuple[Property, Closure]] = [
            (p, compiled(p.formula))
            for p in kept
            if p.kind is PropertyKind.STATE and p.formula is not None
        ]
        self._known: dict[AbstractGroup, frozenset[str]] = {}

    def row(self, trace: Mapping[str, Any]) -> Row:
        """Return the verdict of a trace as a row, or the error.  `turns`: their number."""
        row: Row = {"trace": trace["trace"], "turns": trace["turns"]}
        try:
            return row | self.said(trace)
        except Exception as error:  # noqa: BLE001  (that is what the row is to say)
            return row | {
                "outcome": ERROR,
                "rule": "",
                "wrong": type(error).__name__,
                "message": f"{type(error).__name__}: {error}"[:_SAYING],
            }

    def said(self, trace: Mapping[str, Any]) -> Row:
        """Judge a trace.  Raises what its rows, or the oracle, raise."""
        events = events_of(trace["steps"])
        oracle = Oracle(self.revision, dict(trace["config"]), lag_ms=trace["lag_ms"])
        broken: set[str] = set()
        seen: tuple[object, ...] = ()
        for event in events:
            oracle.observe(event)
            explanations = oracle.explanations()
            groups = tuple([c.groups for c in explanations])
            if groups and groups != seen:
                seen = groups
                broken |= frozenset.intersection(*map(self._of_explanation, groups))
        reading = Reading(events)
        broken |= {p.id for p in self._of_answers if p.holds and p.holds(reading) is not None}
        return self._row(oracle.verdict(), events, sorted(broken))

    def _of_explanation(self, groups: tuple[tuple[str, Group], ...]) -> frozenset[str]:
        """Return the properties that a state of the model breaks."""
        found: frozenset[str] = frozenset()
        for _, group in groups:
            abstract = abstract_group(group)
            wrong = self._known.get(abstract)
            if wrong is None:
                if len(self._known) >= _REMEMBERED:
                    self._known.clear()
                wrong = self._known[abstract] = frozenset(
                    p.id for p, holds in self._of_groups if not holds(abstract, abstract, None)
                )
            found |= wrong
        return found

    def _row(self, verdict: Verdict, events: list[Event], broken: list[str]) -> Row:
        violation = verdict.violation
        if violation is None:
            outcome = HOLDS if verdict.unknown is None else UNKNOWN
            first = f"{broken[0]}: {PROPERTIES[broken[0]].meaning}" if broken else ""
            return {
                "outcome": VIOLATED if broken else outcome,
                "rule": "",
                "wrong": PROPERTY if broken else None,
                "seen": ", ".join(broken),
                "broken": broken,
                "message": first or verdict.unknown or "",
            }
        fingerprint = fingerprint_of(violation, self.revision, events)
        return {
            "outcome": VIOLATED,
            "level": violation.level.value,
            "rule": fingerprint.rule,
            "api": fingerprint.api,
            "wrong": fingerprint.wrong,
            "seen": fingerprint.seen,
            "request": violation.request_id,
            "decided_by": list(violation.decided_by),
            "broken": broken,
            "message": violation.detail,
        }


@cache
def checker(revision: str) -> Checker:
    """Make the checker of a revision, by its name.  Raises KeyError."""
    return Checker(find_revision(revision))
