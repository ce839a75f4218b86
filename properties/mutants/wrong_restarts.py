"""Broken restarts of static members: what the new process takes over, and what both are told."""

from __future__ import annotations

from msgspec.structs import replace

from fencepost.model.classic.group import SESSION, Group
from fencepost.model.classic.perform_rebalance import joined_answer
from fencepost.model.classic.work import Emission, Work
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import JoinGroupResponse, SyncGroupResponse
from fencepost.model.messages.shapes import Message
from fencepost.model.revisions.base import RULES
from fencepost.model.table.effects import Do
from fencepost.properties.departures.mutation_operators import (
    afterwards,
    changed_member,
    retold,
    unanswered,
)
from fencepost.properties.mutants.mutant import (
    ADDED,
    ANSWER,
    ECHO,
    EFFECT,
    ELECTION,
    GUARD,
    REPLACE,
    SHAPE,
    TIMER,
    Mutant,
    but,
    mutant,
)
from fencepost.properties.mutants.wrong_joins import TAKE_OVER, starts_no_timer

_RESTART = RULES["JOIN-STATIC-EMPTY-STABLE"].effect


def _replaced(before: Group, work: Work) -> str:
    """The id that the caller replaced."""
    old = before.holder(work.instance or "")
    assert old is not None
    return old


def _loses_assignment(_: Group, work: Work) -> None:
    changed_member(work, work.caller, lambda m: replace(m, assignment=b""))


def _keeps_timer(before: Group, work: Work) -> None:
    old = _replaced(before, work)
    for timer in before.timers:
        if timer.kind == SESSION and timer.subject == old:
            work.group = work.group.with_timer(SESSION, work.caller, timer.earliest, timer.latest)


def _keeps_protocols(before: Group, work: Work) -> None:
    old = before.member(_replaced(before, work))
    assert old is not None
    changed_member(work, work.caller, lambda m: replace(m, protocols=old.protocols))


def _forgets_leader(before: Group, work: Work) -> None:
    work.group = replace(work.group, leader=before.leader)


def _counts_up(_: Group, work: Work) -> None:
    work.group = replace(work.group, generation_id=work.group.generation_id + 1)


def _as_unknown(_: Work, emission: Emission) -> Message | None:
    answer = emission.message
    assert isinstance(answer, JoinGroupResponse | SyncGroupResponse)
    return replace(answer, error_code=Error.UNKNOWN_MEMBER_ID.value)


def _with_new_id(work: Work, emission: Emission) -> Message | None:
    if isinstance(emission.message, JoinGroupResponse):
        return replace(emission.message, member_id=work.caller)
    return emission.message


def _never_skips(_: Work, emission: Emission) -> Message | None:
    assert isinstance(emission.message, JoinGroupResponse)
    return replace(emission.message, skip_assignment=False)


def _leads_below_9(work: Work, emission: Emission) -> Message | None:
    answer = emission.message
    assert work.request is not None
    assert isinstance(answer, JoinGroupResponse)
    return answer if work.request.version >= 9 else joined_answer(work.group, answer.member_id)


REPLACED: tuple[Mutant, ...] = (
    mutant(
        "restart-rebalances",
        "a static member that restarts in a stable group starts a rebalance",
        ADDED,
        but("JOIN-STATIC-EMPTY-STABLE", effect=TAKE_OVER),
    ),
    mutant(
        "restart-ignores-selection",
        "a restart that changes the selected protocol is answered at once, with no rebalance",
        GUARD,
        but("JOIN-STATIC-EMPTY-STABLE-SELECTION", effect=_RESTART),
    ),
    mutant(
        "restart-counts-generation",
        "a restart in Stable begins a generation that nobody else knows of",
        ELECTION,
        twists={Do.REPLACE_HOLDER: afterwards(_counts_up, "JOIN-STATIC-EMPTY-STABLE")},
    ),
    mutant(
        "restart-never-skips-assignment",
        "a leader that restarts gets the members but is not told to skip the assignment",
        SHAPE,
        twists={Do.ANSWER_RESTARTED: retold(_never_skips)},
    ),
    mutant(
        "restart-leads-below-9",
        "below Join version 9, too, a restarted leader is told that it leads, and can't be told to "
        "skip the assignment",
        SHAPE,
        twists={Do.ANSWER_RESTARTED: retold(_leads_below_9)},
    ),
    mutant(
        "replace-loses-assignment",
        "an instance that restarts finds its assignment empty",
        REPLACE,
        twists={Do.REPLACE_HOLDER: afterwards(_loses_assignment)},
    ),
    mutant(
        "replace-keeps-session-timer",
        "the new process inherits what was left of the old one's session",
        REPLACE,
        twists={Do.REPLACE_HOLDER: afterwards(_keeps_timer)},
    ),
    mutant(
        "replace-starts-no-timer",
        "a process that restarts and falls silent is never missed",
        TIMER,
        twists={Do.REPLACE_HOLDER: afterwards(starts_no_timer)},
    ),
    mutant(
        "replace-keeps-protocols",
        "the new process is taken to offer what the old one offered",
        REPLACE,
        twists={Do.REPLACE_HOLDER: afterwards(_keeps_protocols)},
    ),
    mutant(
        "replace-forgets-leader",
        "the leader's id doesn't follow its replacement: the group is led by somebody who is gone",
        REPLACE,
        twists={Do.REPLACE_HOLDER: afterwards(_forgets_leader)},
    ),
    mutant(
        "replaced-told-unknown",
        "the waiting requests of a replaced process get UNKNOWN_MEMBER_ID, so that it joins anew",
        ANSWER,
        twists={Do.REPLACE_HOLDER: retold(_as_unknown)},
    ),
    mutant(
        "replaced-told-nothing",
        "the waiting requests of a replaced process are never answered",
        EFFECT,
        twists={Do.REPLACE_HOLDER: retold(unanswered)},
    ),
    mutant(
        "replaced-told-new-id",
        "the waiting join of a replaced process is told the id of the new one",
        ECHO,
        twists={Do.REPLACE_HOLDER: retold(_with_new_id)},
    ),
    mutant(
        "unstored-replacement-stays",
        "a process whose replacement can't be stored is refused, and has replaced the old one",
        EFFECT,
        but("JOIN-STATIC-EMPTY-STABLE-TOO-LARGE", effect=(Do.KEEP_HOLDER, Do.REPLACE_HOLDER)),
    ),
)
