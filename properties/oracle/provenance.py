"""The provenance of a candidate: the steps of the model that led to it, each linked to the last.

It is for people who want to read an explanation: each step with the group before it, its outcome
and its time; and what the answers that were read later told about it (the real ids, how the target
counts generations).  It is not part of a judgment, so two candidates that differ only in it are the
same.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from fencepost.model.classic.group import Group, Timer
from fencepost.model.classic.work import Incoming, Outcome, Span


class Happened(msgspec.Struct, frozen=True):
    """One step of the model.

    `incoming`, `timer` or `deletes` (these topics): what happened, none of them for a failover;
    `before` and `outcome`: the group of this id; `span`: when, in ms.
    """

    group_id: str
    before: Group | None
    outcome: Outcome
    span: Span
    incoming: Incoming | None = None
    timer: Timer | None = None
    deletes: frozenset[str] = frozenset()


class Learned(msgspec.Struct, frozen=True):
    """What an answer told about the target.

    `names`: made-up ids and the real ones; `shift`: since which generation the target counts
    differently, and by how much.
    """

    group_id: str
    names: Mapping[str, str]
    shift: tuple[int, int] | None


class Past(msgspec.Struct, frozen=True):
    """A linked list: the last event, and what came before."""

    before: Past | None
    event: Happened | Learned
