"""Refute a logged answer: of all modules of the audit, this one alone calls an answer wrong.

There are three ways.  No state of the group gives the answer.  Or the answer contradicts a fact
that holds in every state.  Or every order of the requests was tried, from every state that the
group can have been in, with all requests that may be missing from the log, and none gives the
answer.  If that search was cut short, or depends on something that the log does not show, the
result is unknown, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from fencepost.properties.oracle.verdict import Allowed, Violation, Wrong, distance
from fencepost.traces.audit.audit_results import AuditViolation
from fencepost.traces.audit.ordered_search import EXHAUSTIVE, LATE, SegmentOracle
from fencepost.traces.audit.possible_errors import Fact, Facts, PossibleAnswers
from fencepost.traces.audit.segment import (
    Generations,
    Segment,
    SegmentResult,
    UnloggedRequests,
    followed_on,
    joined_up,
)
from fencepost.traces.audit.stable_fast_path import is_vague
from fencepost.traces.logs.request_log import LoggedExchange

_SUSPECTS = 12
_LONG_PAUSE_MS = 10_000
"""After a longer pause nothing is called wrong; a shorter one makes the broker late by as much."""


class Surroundings(Protocol):
    """The facts that the rest of the log shows about a time."""

    def runs_through(self, broker: str, from_ms: int, to_ms: int) -> bool:
        """Return True if connections show that the broker was not restarted meanwhile."""
        ...

    def damaged(self, broker: str, from_ms: int, to_ms: int) -> str | None:
        """Return the place of a damaged line of that time, or None."""
        ...

    def paused_ms(self, broker: str, from_ms: int, to_ms: int) -> int:
        """Return the longest time in which the broker logged nothing: it may have stood still."""
        ...


@dataclass(frozen=True, slots=True)
class Undecided:
    """The reason why a segment can't be judged."""

    reason: str


@dataclass(frozen=True, slots=True)
class StateLost:
    """The reason why the group's state was lost without a fault; its past says nothing any more."""

    reason: str


@dataclass(frozen=True, slots=True)
class DeviatingExplanation:
    """An explanation of a segment, and the deviation that even the best one has."""

    run: SegmentResult
    violation: AuditViolation


def by_table(legal: PossibleAnswers, exchange: LoggedExchange) -> AuditViolation | None:
    """Return the violation if no state gives the answer; else None."""
    says = legal.fault(exchange)
    return None if says is None else _plainly(exchange, says)


def by_fact(
    facts: Facts, exchange: LoggedExchange, around: Surroundings, late_ms: int
) -> AuditViolation | StateLost | None:
    """Return the violation if a fact contradicts the answer, and no restart explains it.

    `late_ms`: how late the line may have been dated.
    """
    contradiction = facts.contradicted(exchange, late_ms)
    if contradiction is None:
        return None
    says, fact = contradiction
    if not _ran(around, exchange, fact):
        return StateLost("the broker may have been restarted: no connection was open all the time")
    return _plainly(exchange, says)


def by_search(
    chain: Sequence[Segment],
    around: Surroundings,
    *,
    whole: bool,
    at_end: bool,
) -> SegmentResult | DeviatingExplanation | AuditViolation | Undecided | StateLost:
    """Judge the last segment of a chain; each segment begins where the one before ends.

    `whole`: True if the chain's first states include all possible states of the group.  Return the
    run of an explanation, if the search finds one after all, perhaps with lines of late dates;
    DeviatingExplanation, if each has a fault.
    """
    segment = chain[-1]
    broker = segment.exchanges[0].broker
    missing = [s.hidden(at_end=at_end and s is segment) for s in chain]
    run = followed_on(chain, EXHAUSTIVE, missing)
    lacks = any(hidden.requests for hidden in missing)
    if run.explained:
        segment.assumed = missing[-1]
        if run.deviation is None or lacks:
            return run
        if _is_vague(segment, run) or not whole:
            return run
        wrong = run.deviation
        return DeviatingExplanation(run, _violation(_at(segment, wrong), wrong, wrong.allowed))
    violation = run.violation
    if violation is None:
        begun = "requests seem to be missing, and " if lacks else ""
        return Undecided(f"{begun}{run.unknown or 'nothing explains it'}")
    late = _followed_late(chain, missing)
    if late.explained:
        segment.assumed = missing[-1]
        return late
    at = _at(segment, violation)
    from_ms = chain[0].from_ms
    if run.was_empty and not segment.settings.knows_delay:
        return StateLost(
            "the group was Empty, and group.initial.rebalance.delay.ms, which the next rebalance "
            "waits for, is not known"
        )
    if run.was_empty and _begins_anew(segment):
        return StateLost("the group was Empty and was deleted: its generations begin again")
    if damaged := around.damaged(broker, from_ms, segment.to_ms):
        return Undecided(f"{damaged} can't be read, and may explain what follows")
    if is_vague(list(segment.before), segment.group_id):
        return Undecided(
            "the join of a member is not in the log, so its session timeout is unknown"
        )
    if not around.runs_through(broker, from_ms, at.at_ms):
        return StateLost("the broker may have been restarted: no connection was open all the time")
    if around.paused_ms(broker, segment.from_ms, at.answered_ms) > _LONG_PAUSE_MS:
        return Undecided("the broker wrote nothing for seconds: it, or its clock, may have stopped")
    if at_end and violation.wrong is Wrong.SILENCE:
        return Undecided("the log ends before the answer")
    if any(hidden.cut for hidden in missing):
        return Undecided("too many requests may be missing to try them all")
    if not whole:
        return Undecided("too many lines since the state was last known for certain")
    if late.violation is None:
        return Undecided(f"lines may have been dated late, and {late.unknown}")
    if chain[0].from_ms > segment.from_ms - segment.settings.lag_ms:
        return Undecided("lines may have been dated late, from before the state was known")
    if paused_ms := around.paused_ms(broker, from_ms, at.answered_ms):
        slow = _followed_slowly(chain, missing, paused_ms)
        if slow.explained:
            segment.assumed = missing[-1]
            return slow
        if slow.violation is None:
            return Undecided(
                f"the broker wrote nothing for {paused_ms / 1000:.1f} s, so it may have stood "
                f"still, and {slow.unknown}"
            )
    return _named(segment, violation)


def _followed_slowly(
    chain: Sequence[Segment], missing: Sequence[UnloggedRequests], paused_ms: int
) -> SegmentResult:
    """Follow the chain as if the broker stood still while it wrote nothing.

    Its timers fire afterwards, and requests that arrived meanwhile are taken in then.
    """
    slow = []
    for segment in chain:
        settings = segment.settings
        settings = replace(settings, lag_ms=settings.lag_ms + paused_ms)
        slow.append(replace(segment, settings=settings))
    return followed_on(slow, EXHAUSTIVE, missing)


def _followed_late(chain: Sequence[Segment], missing: Sequence[UnloggedRequests]) -> SegmentResult:
    """Follow the chain once more, as if its lines may have been dated late.

    A line is written after its answer was sent, by a thread that may have to wait; it tells how
    long the request took, but counts that back from its own date.
    """
    run = followed_on(chain, LATE, missing)
    late_ms = chain[-1].settings.lag_ms
    if run.explained:
        return run
    longer, lacks = joined_up(chain, missing, late_ms)
    return run if len(longer) == len(chain) else followed_on(longer, LATE, lacks)


def _ran(around: Surroundings, exchange: LoggedExchange, fact: Fact) -> bool:
    return around.runs_through(exchange.broker, fact.at_ms, exchange.at_ms)


def _is_vague(segment: Segment, run: SegmentResult) -> bool:
    return is_vague([*segment.before, *run.after], segment.group_id)


def _begins_anew(segment: Segment) -> bool:
    """Return True if the generation falls: an Empty group was deleted, and a new one began."""
    last = -1
    for exchange in segment.exchanges:
        generations = Generations.of(exchange)
        if generations is None:
            continue
        generation_id = max(generations.joined, generations.synced)
        if generation_id < last:
            return True
        last = generation_id
    group = next((g for c in segment.before if (g := c.group(segment.group_id))), None)
    return group is not None and -1 < last < group.generation_id


# The line of a violation, and the right answers.


def _plainly(exchange: LoggedExchange, says: str) -> AuditViolation:
    return AuditViolation(exchange, says, "MUST", Wrong.ANSWER.name)


def _named(segment: Segment, violation: Violation) -> AuditViolation:
    """Find the one line without which the rest is explained, if there is one."""
    at = _at(segment, violation)
    near = sorted(
        segment.exchanges,
        key=lambda e: abs(e.answered_ms - at.answered_ms) + (e.place != at.place),
    )
    for exchange in near[:_SUSPECTS]:
        follower = SegmentOracle(
            segment.settings, segment.before, effort=EXHAUSTIVE, parked=segment.parked
        )
        follower.follow(segment.exchanges, ignored=frozenset({exchange.place}))
        if follower.open() and (right := follower.right(exchange)):
            return _violation(exchange, violation, right)
    return _violation(at, violation, violation.allowed)


def _at(segment: Segment, violation: Violation) -> LoggedExchange:
    return next(
        (e for e in (*segment.exchanges, *segment.parked) if e.place == violation.request_id),
        segment.exchanges[-1],
    )


def _violation(
    exchange: LoggedExchange, violation: Violation, right: Sequence[Allowed]
) -> AuditViolation:
    allowed = sorted(right, key=distance)
    waits = violation.wait.rule if violation.wait is not None else ""
    rule = allowed[0].rule if allowed else waits or next(iter(violation.decided_by), None)
    first = allowed[0].difference if allowed else ""
    says = f"wrongly: {first}" if first else "with an answer that no run of the model gives"
    wrong, level = violation.wrong.name, violation.level.value
    return AuditViolation(exchange, says, level, wrong, rule, tuple(allowed))
