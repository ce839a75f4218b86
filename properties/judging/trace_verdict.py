"""The verdict as data, as a trace file holds it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from fencepost.model.revision import Revision
from fencepost.properties.oracle.fingerprint import broken_rule
from fencepost.properties.oracle.verdict import Allowed, Verdict, Wrong, distance

WRONGS = tuple(wrong.name for wrong in Wrong)
"""The ways in which a history can be wrong, by name."""


@dataclass(frozen=True, slots=True)
class Expected:
    """A right answer: its body (null: no answer), its rule, and the difference."""

    body: Mapping[str, Any] | None
    rule: str
    difference: str


@dataclass(frozen=True, slots=True)
class WrongBeside:
    """A field of an answer that is wrong beside the one that the verdict is about.

    `request`: whose answer; `rule`: by which it should be otherwise, "" for none.
    """

    request: str
    level: str
    rule: str
    difference: str


@dataclass(frozen=True, slots=True)
class TraceVerdict:
    """The oracle's verdict: `holds`, `violated` or `unknown`, and its reasons.

    `rule`: the rule that was broken, `rules`: those that took the request in; `request`: the id of
    the request whose answer is wrong; `because`: why the rule is so; `message`: one sentence;
    `besides`: what else is wrong, the gravest first; `behind`: the requests whose wrong answers
    were adopted, so that what follows could be judged.
    """

    outcome: str
    level: str | None = None
    wrong: str | None = None
    rule: str | None = None
    rules: tuple[str, ...] = ()
    request: str | None = None
    expected: tuple[Expected, ...] = ()
    observed: Mapping[str, Any] | None = None
    because: str = ""
    message: str = ""
    besides: tuple[WrongBeside, ...] = ()
    behind: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as a JSON object without `besides` and `behind` that are empty."""
        document = _listed(asdict(self))
        for name in ("besides", "behind"):
            if not document[name]:
                del document[name]
        return document

    @property
    def is_deviation(self) -> bool:
        """Return True if one field of an answer is wrong, and nothing else of it."""
        return self.wrong == Wrong.DEVIATION.name

    @property
    def is_form(self) -> bool:
        """Return True if the fields of an answer are wrong, rather than the answer."""
        return self.wrong in {Wrong.DEVIATION.name, Wrong.SHAPE.name}

    def wrong_answers(self) -> frozenset[str]:
        """Return the ids of the requests whose answers are wrong."""
        own = () if self.request is None else (self.request,)
        return frozenset((*own, *(beside.request for beside in self.besides)))


def by_distance(allowed: Iterable[Allowed]) -> list[Allowed]:
    """Sort right answers, the nearest first."""
    return sorted(allowed, key=distance)


def nearest_first(allowed: Iterable[Allowed]) -> list[Allowed]:
    """Put the nearest right answer before the others, which keep their order."""
    rows = list(allowed)
    best = min(rows, key=distance, default=None)
    return sorted(rows, key=lambda row: row is not best)


def record_verdict(
    verdict: Verdict | None,
    revision: Revision,
    message: str,
    order: Callable[[Iterable[Allowed]], list[Allowed]] = by_distance,
) -> TraceVerdict:
    """Convert a verdict; `message`: its sentence; `order`: of the right answers."""
    violation = None if verdict is None else verdict.violation
    if verdict is None or violation is None:
        holds = verdict is not None and verdict.unknown is None
        return TraceVerdict("holds" if holds else "unknown", message=message)
    rule = broken_rule(violation, revision)
    right = violation.allowed or (() if violation.wait is None else violation.wait.due)
    return TraceVerdict(
        outcome="violated",
        level=violation.level.value,
        wrong=violation.wrong.name,
        rule=None if rule is None else rule.id,
        rules=violation.decided_by,
        request=violation.request_id,
        expected=tuple(Expected(a.body, a.rule, a.difference) for a in order(right)),
        observed=violation.observed,
        because="" if rule is None else rule.because,
        message=message,
        besides=tuple(
            WrongBeside(b.request_id, b.level.value, b.rule, b.difference) for b in verdict.besides
        ),
        behind=verdict.behind,
    )


def _listed(value: dict[str, Any]) -> dict[str, Any]:
    """Convert tuples to lists, so that what is written is what will be read."""
    return {key: list(item) if isinstance(item, tuple) else item for key, item in value.items()}
