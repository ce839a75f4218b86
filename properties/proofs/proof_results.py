"""Define the results of proofs: obligations, and counterexamples in plain words.

An obligation that Z3 can't decide has not been proved, and fails; so does a violation that is
listed of a shipped revision and doesn't occur.  One that a user's own revision would have inherited
is reported.  A step whose effect has no abstract form is not covered, which is neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

from fencepost.model.table.expr import word
from fencepost.properties.logic.structures import AbstractStep


class Result(Enum):
    """The result of an obligation."""

    PROVED = "proved"
    EXPECTED = "fails, as expected"
    FAILED = "fails"
    UNKNOWN = "undecided"
    STALE = "was expected to fail, and is proved"
    KEPT = "is proved here, and fails in what this is made from"
    UNCOVERED = "not covered"


FAILURES = frozenset({Result.FAILED, Result.UNKNOWN, Result.STALE})


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A step from a group that satisfies all invariants, which breaks the statement.

    A proof doesn't decide if such a group can be reached: exploration searches for it.  `words`:
    three sentences: before, the event, after.
    """

    step: AbstractStep
    rules: tuple[str, ...]
    words: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return before, event, rules and after, as JSON has them; empty fields left out."""
        return {
            "before": _plain(self.step.before),
            "event": _plain(self.step.event),
            "rules": list(self.rules),
            "after": _plain(self.step.after),
            "words": list(self.words),
        }


@dataclass(frozen=True, slots=True)
class Obligation:
    """A statement to be proved, and the result.

    `kind`: table, state, step, reachable, defensive or premise.  `about`: the id of a property,
    rule or table.  `step`: the abstract step, if there is one.  `rule`: the rule that decides it.
    """

    kind: str
    about: str
    step: str
    result: Result
    detail: str = ""
    counterexample: Counterexample | None = None
    rule: str = ""

    @property
    def failed(self) -> bool:
        """True if it counts against the revision."""
        return self.result in FAILURES

    def to_json(self) -> dict[str, Any]:
        """Return its statement and its result."""
        document: dict[str, Any] = {
            "kind": self.kind,
            "about": self.about,
            "step": self.step,
            "result": self.result.value,
        }
        if self.detail:
            document["detail"] = self.detail
        if self.counterexample is not None:
            document["counterexample"] = self.counterexample.to_json()
        return document


@dataclass(frozen=True, slots=True)
class Proof:
    """All obligations of a revision, in the order in which they were proved.

    `protocol`: its name, by which properties are found.
    """

    revision: str
    obligations: tuple[Obligation, ...]
    protocol: str

    @property
    def failures(self) -> tuple[Obligation, ...]:
        """Obligations that should have been proved and were not."""
        return tuple(obligation for obligation in self.obligations if obligation.failed)

    @property
    def expected(self) -> tuple[Obligation, ...]:
        """Obligations that fail as expected."""
        return tuple(
            obligation for obligation in self.obligations if obligation.result is Result.EXPECTED
        )

    @property
    def kept(self) -> tuple[Obligation, ...]:
        """Obligations that fail in the revision that this one is made from, and hold here."""
        return tuple(
            obligation for obligation in self.obligations if obligation.result is Result.KEPT
        )

    @property
    def uncovered(self) -> tuple[Obligation, ...]:
        """Steps that no proof covers."""
        return tuple(
            obligation for obligation in self.obligations if obligation.result is Result.UNCOVERED
        )

    def rows(self) -> Iterator[tuple[str, str, dict[Result, int]]]:
        """Yield (kind, about, count by result); rules and tables counted together."""
        counts: dict[tuple[str, str], dict[Result, int]] = {}
        for obligation in self.obligations:
            about = obligation.about if obligation.kind in {"state", "step"} else "all"
            row = counts.setdefault((obligation.kind, about), {})
            row[obligation.result] = row.get(obligation.result, 0) + 1
        for (kind, about), row in counts.items():
            yield kind, about, row

    def to_json(self) -> dict[str, Any]:
        """Return the counts, and in full each obligation that is not simply proved."""
        notable = [
            obligation for obligation in self.obligations if obligation.result is not Result.PROVED
        ]
        return {
            "revision": self.revision,
            "obligations": len(self.obligations),
            "holds": not self.failures and not self.uncovered,
            "counts": [
                {"kind": kind, "about": about, **{r.value: n for r, n in row.items()}}
                for kind, about, row in self.rows()
            ],
            "notable": [obligation.to_json() for obligation in notable],
        }


def _plain(thing: Any) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for each in fields(thing):
        value = getattr(thing, each.name)
        if isinstance(value, frozenset):
            value = sorted(list(v) if isinstance(v, tuple) else v for v in value)
        elif isinstance(value, Enum):
            value = word(value)
        if value not in ("", None, [], False):
            values[each.name] = value
    return values
