"""Run the model beside a history: the steps of the best explanation.

Of all explanations the first of the best is taken; for a history that goes wrong, one that gives
the nearest right answer at that place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from fencepost.model.coordinator import Config
from fencepost.model.history.events import Event
from fencepost.model.messages.shapes import Message
from fencepost.model.revision import Revision
from fencepost.model.work import Emission
from fencepost.properties.oracle.candidate import (
    Candidate,
    Emitted,
    bound_message,
    counted,
)
from fencepost.properties.oracle.matcher import Match
from fencepost.properties.oracle.oracle import Oracle
from fencepost.properties.oracle.oracle_search import TooManyError
from fencepost.properties.oracle.verdict import (
    Allowed,
    Happened,
    Learned,
    Verdict,
    Violation,
    Wrong,
    nearest,
)


@dataclass(frozen=True, slots=True)
class ExplainedRun:
    """The model's run beside a history, up to the violation.

    `steps`: with real ids and the target's generations; `verdict`: of the whole history.
    """

    steps: tuple[Happened, ...]
    verdict: Verdict


def run_beside(
    revision: Revision,
    config: Config,
    history: Sequence[Event],
    *,
    lag_ms: int,
    limit: int = 20_000,
) -> ExplainedRun:
    """Judge a history, and return the run of the model that explains it.

    For a wrong history the run goes up to where it goes wrong, and there as far as the step that
    gives the nearest right answer.
    """
    oracle = _Remembering(revision, config, lag_ms=lag_ms, limit=limit)
    for event in history:
        oracle.observe(event)
    verdict = oracle.verdict()
    return ExplainedRun(_real(_best_candidate(oracle, verdict.violation)), verdict)


class _Remembering(Oracle):
    """An oracle whose candidates remember their past; `right`: those that a violation names."""

    def __init__(
        self, revision: Revision, config: Config, *, lag_ms: int, limit: int = 20_000
    ) -> None:
        super().__init__(revision, config, lag_ms=lag_ms, limit=limit)
        self._search.remembers = True
        self.right: list[Candidate] = []

    def _agreed(
        self, candidate: Candidate, emitted: Emitted, observed: Message, match: Match
    ) -> Candidate:
        agreed = super()._agreed(candidate, emitted, observed, match)
        if not match.bindings and match.shift is None:
            return agreed
        group_id = self._group_of(emitted.request_id)
        return agreed.after(Learned(group_id, match.bindings, match.shift))

    def taken_in(self, violation: Violation) -> Candidate | None:
        """Return a candidate in which the request has taken effect and still waits."""
        try:
            reached = self._search.explore(
                self._candidates, violation.at_ms, lambda _: False, everything=True
            )
        except TooManyError:
            return None
        return next((c for c in reached if violation.request_id not in c.unapplied), None)

    def _violate(
        self,
        wrong: Wrong,
        request_id: str,
        at_ms: int,
        body: dict[str, Any] | None,
        reached: list[Candidate],
        detail: str,
    ) -> None:
        self.right = reached
        super()._violate(wrong, request_id, at_ms, body, reached, detail)


def _best_candidate(oracle: _Remembering, violation: Violation | None) -> Candidate:
    best = min(oracle.explanations(), key=Candidate.gravity)
    if violation is None:
        return best
    if not oracle.right:
        return oracle.taken_in(violation) or best
    chosen = nearest(violation.allowed)
    giving = (c for c in oracle.right if _gives(c, violation.request_id, chosen))
    return next(giving, oracle.right[0])


def _gives(candidate: Candidate, request_id: str, allowed: Allowed | None) -> bool:
    emitted = candidate.emission(request_id)
    return emitted is not None and allowed is not None and emitted.rule == allowed.rule


def _real(candidate: Candidate) -> tuple[Happened, ...]:
    """Return the steps behind a candidate, with the real ids and generations of later answers."""
    steps: list[Happened] = []
    later: list[Learned] = []
    past = candidate.past
    while past is not None:
        if isinstance(past.event, Learned):
            later.append(past.event)
        elif isinstance(past.event, Happened):
            steps.append(_with_real_names(past.event, later))
        past = past.before
    return tuple(reversed(steps))


def _with_real_names(step: Happened, later: list[Learned]) -> Happened:
    names: dict[str, str] = {}
    for learned in reversed(later):
        names |= learned.names
    shifts = [
        learned.shift
        for learned in reversed(later)
        if learned.shift is not None and learned.group_id == step.group_id
    ]
    if not names and not shifts:
        return step
    outcome = replace(
        step.outcome,
        group=_group(step.outcome.group, names, shifts),
        emissions=tuple(_emission(e, names, shifts) for e in step.outcome.emissions),
    )
    timer = step.timer
    if timer is not None:
        timer = timer._replace(subject=names.get(timer.subject, timer.subject))
    return replace(step, before=_group(step.before, names, shifts), outcome=outcome, timer=timer)


def _group(group: Any, names: Mapping[str, str], shifts: list[tuple[int, int]]) -> Any:
    if group is None:
        return None
    group = group.renamed(names)
    for since, by in shifts:
        group = counted(group, since, by)
    return group


def _emission(
    emission: Emission, names: Mapping[str, str], shifts: list[tuple[int, int]]
) -> Emission:
    if emission.message is None:
        return emission
    message = bound_message(emission.message, names)
    for since, by in shifts:
        message = counted(message, since, by)
    return replace(emission, message=message)
