"""What is called a violation: the one place.

Decides when nothing can explain a line.  There are three ways, and no other module says that an
answer is wrong.  No state at all gives the answer.  Or it contradicts a fact that holds in every
state.  Or every order of the requests was tried, from every state that the group can have been in,
with everything that the log may lack, and none gives the answer.  Where that search was cut short,
or rests on what the log does not show, the reason is given, and nothing is called wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from fencepost.properties.oracle.verdict import Allowed, Violation, Wrong
from fencepost.traces.audit.judge.facts import Fact, Facts
from fencepost.traces.audit.judge.ordered_search import EXHAUSTIVE, Follower
from fencepost.traces.audit.judge.possible_errors import Legal
from fencepost.traces.audit.judge.results import AuditViolation
from fencepost.traces.audit.judge.segment import Generations, Segment, SegmentResult, followed_on
from fencepost.traces.audit.judge.stable_fast_path import is_vague
from fencepost.traces.logs.exchange import LoggedExchange

_SUSPECTS = 12


class Surroundings(Protocol):
    """What the rest of the log tells."""

    def runs_through(self, broker: str, from_ms: int, to_ms: int) -> bool:
        """Whether connections show that the broker ran all the time."""
        ...

    def damaged(self, broker: str, from_ms: int, to_ms: int) -> str | None:
        """A line of that time that can't be read, if there is one."""
        ...

    def paused(self, broker: str, from_ms: int, to_ms: int) -> bool:
        """Whether the broker said nothing at all for so long that it may have stood still."""
        ...


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why nothing can be said of a stretch."""

    reason: str


@dataclass(frozen=True, slots=True)
class Moved:
    """Why the state is another one: no fault of anybody, and the group's past is gone."""

    reason: str


@dataclass(frozen=True, slots=True)
class Flawed:
    """What explains a stretch, and what even the best explanation leaves wrong."""

    run: SegmentResult
    found: AuditViolation


def by_table(legal: Legal, exchange: LoggedExchange) -> AuditViolation | None:
    """The answer as one that no state gives, if it is."""
    says = legal.fault(exchange)
    return None if says is None else _plainly(exchange, says)


def by_fact(
    facts: Facts, exchange: LoggedExchange, around: Surroundings
) -> AuditViolation | Moved | None:
    """The answer as one that a fact contradicts, if it does and the broker ran since then."""
    contradiction = facts.contradicted(exchange)
    if contradiction is None:
        return None
    says, fact = contradiction
    if not _ran(around, exchange, fact):
        return Moved("no connection shows that the broker was not started anew")
    return _plainly(exchange, says)


def by_search(
    chain: Sequence[Segment],
    around: Surroundings,
    *,
    whole: bool,
    at_end: bool,
) -> SegmentResult | Flawed | AuditViolation | Doubt | Moved:
    """The last stretch of a chain, each of whose stretches begins where the one before ends.

    `whole`: whether all states that the group can have been in are among those that the chain
    begins in.  The run, if an explanation is found after all; Flawed, if none is without fault.
    """
    stretch = chain[-1]
    broker = stretch.exchanges[0].broker
    missing = [s.hidden(at_end=at_end and s is stretch) for s in chain]
    run = followed_on(chain, EXHAUSTIVE, missing)
    lacks = any(hidden.requests for hidden in missing)
    if run.explained:
        stretch.assumed = missing[-1]
        if run.deviation is None or lacks:
            return run
        if _is_vague(stretch, run) or not whole:
            return run
        wrong = run.deviation
        return Flawed(run, _found(_at(stretch, wrong), wrong, wrong.allowed))
    violation = run.violation
    if violation is None:
        begun = "requests seem to be missing, and " if lacks else ""
        return Doubt(f"{begun}{run.unknown or 'nothing explains it'}")
    at = _at(stretch, violation)
    from_ms = chain[0].from_ms
    if run.was_empty and not stretch.settings.knows_delay:
        return Moved(
            "the group was Empty, and how long the rebalance after that waits "
            "(group.initial.rebalance.delay.ms) was not told"
        )
    if run.was_empty and _begins_anew(stretch):
        return Moved("the group was Empty, and its generations begin anew")
    if damaged := around.damaged(broker, from_ms, stretch.to_ms):
        return Doubt(f"{damaged} can't be read, and may explain what follows")
    if is_vague(list(stretch.before), stretch.group_id):
        return Doubt("the join of a member, and so its session timeout, is not in the log")
    if not around.runs_through(broker, from_ms, at.arrived_ms):
        return Moved("no connection shows that the broker was not started anew")
    if around.paused(broker, stretch.from_ms, at.arrived_ms):
        return Doubt("the broker wrote nothing for seconds, as if it or its clock had stood still")
    if at_end and violation.wrong is Wrong.SILENCE:
        return Doubt("the log ends before the answer")
    if any(hidden.cut for hidden in missing):
        return Doubt("more requests may be missing than are tried")
    if not whole:
        return Doubt("too many lines came since the state was known for certain")
    return _named(stretch, violation)


def _ran(around: Surroundings, exchange: LoggedExchange, fact: Fact) -> bool:
    return around.runs_through(exchange.broker, fact.at_ms, exchange.arrived_ms)


def _is_vague(stretch: Segment, run: SegmentResult) -> bool:
    return is_vague([*stretch.before, *run.after], stretch.group_id)


def _begins_anew(stretch: Segment) -> bool:
    """Whether a lower generation is told than before: an Empty group is deleted in time."""
    last = -1
    for exchange in stretch.exchanges:
        told = Generations.of(exchange)
        if told is None:
            continue
        generation_id = max(told.joined, told.synced)
        if generation_id < last:
            return True
        last = generation_id
    group = next((g for c in stretch.before if (g := c.group(stretch.group_id))), None)
    return group is not None and -1 < last < group.generation_id


# Which line, and what would have been right.


def _plainly(exchange: LoggedExchange, says: str) -> AuditViolation:
    return AuditViolation(exchange, says, "MUST", Wrong.ANSWER.name)


def _named(stretch: Segment, violation: Violation) -> AuditViolation:
    """The line that is wrong: the one but for which the rest is explained, if there is one."""
    at = _at(stretch, violation)
    near = sorted(
        stretch.exchanges,
        key=lambda e: abs(e.answered_ms - at.answered_ms) + (e.place != at.place),
    )
    for exchange in near[:_SUSPECTS]:
        follower = Follower(
            stretch.settings, stretch.before, effort=EXHAUSTIVE, parked=stretch.parked
        )
        follower.follow(stretch.exchanges, ignored=frozenset({exchange.place}))
        if follower.open() and (right := follower.right(exchange)):
            return _found(exchange, violation, right)
    return _found(at, violation, violation.allowed)


def _at(stretch: Segment, violation: Violation) -> LoggedExchange:
    return next(
        (e for e in (*stretch.exchanges, *stretch.parked) if e.place == violation.request_id),
        stretch.exchanges[-1],
    )


def _found(
    exchange: LoggedExchange, violation: Violation, right: Sequence[Allowed]
) -> AuditViolation:
    allowed = sorted(
        right, key=lambda a: (a.difference.startswith("errorCode"), a.difference, a.rule)
    )
    rule = allowed[0].rule if allowed else next(iter(violation.decided_by), None)
    first = allowed[0].difference if allowed else ""
    says = f"wrongly: {first}" if first else "what no run of the model answers"
    wrong, level = violation.wrong.name, violation.level.value
    return AuditViolation(exchange, says, level, wrong, rule, tuple(allowed))
