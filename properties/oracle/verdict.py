"""Define the oracle's verdict, and the provenance of a candidate.

A verdict names the violation, its request, and the right answers.

The provenance is the steps of the model that led to a candidate, each linked to the last: each step
with the group before it, its outcome and its time; and the facts that later answers gave about it
(the real ids, the generations as the target counts them).  It is for an explanation and not part of
a judgment, so two candidates that differ only in it are equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import msgspec

from fencepost.model.history.events import Disturbance
from fencepost.model.table.table import Level
from fencepost.model.work import Incoming, Outcome, Span, Timer


class Wrong(Enum):
    """The ways in which a history can be wrong."""

    ANSWER = "answered what no run of the model answers"
    EARLY = "answered although the model has it wait"
    SILENCE = "not answered in time"
    CLOSED = "the connection was closed instead of an answer"
    SHAPE = "the answer has a shape that its version forbids"
    DEVIATION = "answered nearly what the model answers"


@dataclass(frozen=True, slots=True)
class Allowed:
    """An answer that the model would have given.

    Its body, the rule that gives it, and its difference to the observed answer; `by_ms`: the last
    moment at which the model gives it, if that is known.
    """

    body: dict[str, Any] | None
    rule: str
    difference: str
    by_ms: int | None = field(default=None, compare=False)


def nearest(allowed: Sequence[Allowed]) -> Allowed | None:
    """Return the allowed answer that is nearest to the observed one: by error code first."""
    return min(allowed, key=distance, default=None)


def distance(allowed: Allowed) -> tuple[bool, str, str]:
    """Sort right answers: those with the same error code first."""
    return allowed.difference.startswith("errorCode"), allowed.difference, allowed.rule


@dataclass(frozen=True, slots=True)
class Wait:
    """The reason why a request was still to wait when it was answered.

    `until_ms`: the first moment at which a timer ends the wait; `unless`: the event that ends it
    sooner, "" for none; `rule`: the rule of the phase that ended too soon, "" if the answer is
    another one than a phase gives at its end.  `due`: the right answers, where the timer ends the
    wait at the moment of the wrong answer, as an initial delay of 0 ms does.
    """

    rule: str
    until_ms: int
    unless: str = ""
    due: tuple[Allowed, ...] = ()


@dataclass(frozen=True, slots=True)
class Violation:
    """The reason why no run of the model explains a history.

    `request_id`: the request whose answer (or silence) is wrong; `at_ms`: time at which that was
    known; `allowed`: nearest first; `decided_by`: the rules that handled the request; `late`: it
    rests on a delay, so it counts only while the target is quick; `wait`: of an answer that came
    too early; `permitted`: another revision, which explains the whole history, "" for none;
    `lost_timer`: the rule of a timer that explains it if it removes nobody, "" for none; `taken`:
    partitions that the answer gives although they are another member's, each with whose.
    """

    wrong: Wrong
    level: Level
    request_id: str
    at_ms: int
    observed: dict[str, Any] | None
    allowed: tuple[Allowed, ...]
    decided_by: tuple[str, ...]
    detail: str
    late: bool = False
    wait: Wait | None = field(default=None, compare=False)
    permitted: str = ""
    lost_timer: str = field(default="", compare=False)
    taken: tuple[tuple[str, str], ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Beside:
    """A further deviation beside the violation: another answer, or another field of that answer.

    `rule`: the rule that answers, "" for none; `difference`: in the oracle's words.
    """

    request_id: str
    level: Level
    rule: str
    difference: str


@dataclass(frozen=True, slots=True)
class Noted:
    """A deviation of an answer that is allowed; `difference`: in the oracle's words."""

    request_id: str
    difference: str

    def __str__(self) -> str:
        """Write it as a line of a report."""
        return f"{self.request_id}: {self.difference}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The oracle's verdict on a history.

    `violation` None and `unknown` None: it holds; then `used` are the rules that every remaining
    explanation used.  `unknown`: why there is no verdict.  `notes`: deviations that are allowed.
    `besides`: the other deviations of the best explanation, the gravest first, each once; of a
    history that no explanation fits to its end, those of the best one before that.  `withheld`:
    the cleaner was not let remove a group that had just been used, which might explain it.
    `behind`: the requests whose answers are wrong, too, and behind which it is the verdict.
    """

    violation: Violation | None
    unknown: str | None
    used: frozenset[str]
    notes: tuple[Noted, ...]
    candidates: int
    besides: tuple[Beside, ...] = ()
    withheld: bool = field(default=False, compare=False)
    behind: tuple[str, ...] = ()


class Happened(msgspec.Struct, frozen=True):
    """A step of the model.

    `incoming`, `timer` or `done` (by an operator): the event, none of them for a failover;
    `before` and `outcome`: the group of this id; `span`: the time, in ms.
    """

    group_id: str
    before: Any
    outcome: Outcome
    span: Span
    incoming: Incoming | None = None
    timer: Timer | None = None
    done: Disturbance | None = None


class Learned(msgspec.Struct, frozen=True):
    """Facts about the target that an answer gave.

    `names`: made-up ids and the real ones; `shift`: the generation from which on the target counts
    differently, and the difference.
    """

    group_id: str
    names: Mapping[str, str]
    shift: tuple[int, int] | None


class Past(msgspec.Struct, frozen=True):
    """A linked list: the last event, and the earlier ones."""

    before: Past | None
    event: Happened | Learned
