"""What led to a candidate: the steps of the model, one behind the other.

Decides what is remembered of an explanation for people who want to read it: each step with the
group before it, what came of it, and when; and what the answers that were read later told about it
(the real ids, how the target counts generations).  Nothing is judged by it, so two candidates that
differ in nothing else are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fencepost.model.state.group import Group, Timer
from fencepost.model.state.work import Incoming, Outcome, Span


@dataclass(frozen=True, slots=True)
class Happened:
    """One step of the model.

    `incoming` or `timer`: what happened, neither for a failover; `before` and `outcome`: one
    group, of this id; `span`: when, in ms.
    """

    group_id: str
    before: Group | None
    outcome: Outcome
    span: Span
    incoming: Incoming | None = None
    timer: Timer | None = None


@dataclass(frozen=True, slots=True)
class Learned:
    """What an answer told.

    `names`: made-up ids and what they are; `shift`: since which generation the target counts
    otherwise, and by how much.
    """

    group_id: str
    names: Mapping[str, str]
    shift: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Past:
    """What happened or was learned last, and what came before."""

    before: Past | None
    event: Happened | Learned
