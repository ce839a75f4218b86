"""Known departures: what coordinators in use are known to do differently from the model.

A departure is a small change that any revision can have.  If the revision can't explain a history,
and the revision with the departure can, the departure is the cause.  Each is described in
`docs/findings/` under its name, with how it was seen.  A mutant is an invented bug; a departure
does what was observed, as far as that can be told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fencepost.model.machine.perform_rebalance import rebalance
from fencepost.model.messages.messages import SyncGroupResponse
from fencepost.model.messages.shapes import Message
from fencepost.model.revision import Revision, Twist
from fencepost.model.state.fast_replace import replace
from fencepost.model.state.group import SESSION, Group, Member
from fencepost.model.state.work import Effect, Emission, Work
from fencepost.model.table.effects import Do
from fencepost.model.table.table import Level
from fencepost.model.table.vocabulary import GroupState
from fencepost.properties.mutants.operators import (
    afterwards,
    changed_member,
    changed_members,
    in_turn,
    retold,
)


@dataclass(frozen=True, slots=True, eq=False)
class Departure:
    """A known departure.

    `about`: its title; `twists`: the effects that it changes; `level`: how grave it is at most,
    whichever rule it is met at; the others as a revision's.
    """

    name: str
    about: str
    twists: Mapping[Do, Twist] = field(default_factory=dict)
    level: Level = Level.MUST
    restart_needs_room: bool = False
    unchecked: frozenset[str] = frozenset()


def departed(base: Revision, departures: Iterable[Departure]) -> Revision:
    """Return a revision with these differences, called `BASE + NAME + …`."""
    twists = dict(base.twists)
    name, needs_room, unchecked = base.name, base.restart_needs_room, base.unchecked
    for one in departures:
        name += f" + {one.name}"
        needs_room |= one.restart_needs_room
        unchecked |= one.unchecked
        for do, twist in one.twists.items():
            twists[do] = in_turn(twists[do], twist) if do in twists else twist
    return replace(
        base, name=name, twists=twists, restart_needs_room=needs_room, unchecked=unchecked
    )


def _rebalances(_: Group, work: Work) -> None:
    if work.group.state in {GroupState.STABLE, GroupState.COMPLETING}:
        rebalance(work, 0)


def _awaits_everybody(_: Group, work: Work) -> None:
    changed_members(work, lambda member: replace(member, owes_sync=True))


def _unanswered_sync(_: Work, emission: Emission) -> Message | None:
    return None if isinstance(emission.message, SyncGroupResponse) else emission.message


def _replaced(before: Group, work: Work) -> Member | None:
    """Returns who held the instance before."""
    return before.member(before.holder(work.instance or "") or "")


def _old_session(before: Group, work: Work) -> None:
    old = _replaced(before, work)
    if old is not None:
        work.set_timer(SESSION, work.caller, old.session_timeout_ms)


def _still_new(before: Group, work: Work) -> None:
    """A restart before the first join was answered stays new, but gets a session timer."""
    old = _replaced(before, work)
    if old is not None and old.new:
        changed_member(work, work.caller, lambda member: replace(member, new=True))


def _miscounted(_: Group, work: Work) -> None:
    """A protocol that is offered twice counts twice, so no protocol is supported by all members."""
    changed_members(work, _without_repeated)


def _without_repeated(member: Member) -> Member:
    names = [protocol.name for protocol in member.protocols]
    once = tuple(p for p in member.protocols if names.count(p.name) == 1)
    return member if once == member.protocols else replace(member, protocols=once)


def _fails_without_candidates(own: Effect) -> Effect:
    """No member is told of a generation for which no protocol can be chosen.

    The last request, a join or a leave, is answered an error; so are some others.
    """

    def effect(work: Work) -> list[Work] | None:
        group = work.group
        if not group.members or group.candidates():
            return own(work)
        work.group = replace(group, generation_id=group.generation_id + 1)
        asked = [m.joining.request_id for m in group.members if m.joining is not None]
        for request_id in (*asked, *([] if work.request is None else [work.request.id])):
            work.emit(request_id, None)
        return None

    return effect


def _restart_fails_without_candidates(own: Effect) -> Effect:
    """A restart can't be told of the current generation either: it is answered an error."""

    def effect(work: Work) -> list[Work] | None:
        if work.group.candidates():
            return own(work)
        assert work.request is not None
        work.emit(work.request.id, None)
        return None

    return effect


def _only_after_a_generation(own: Effect) -> Effect:
    def effect(work: Work) -> list[Work] | None:
        return own(work) if work.group.state is GroupState.COMPLETING else None

    return effect


_OFFERING = (
    Do.ADD_DYNAMIC,
    Do.ADMIT_PENDING,
    Do.ADD_STATIC,
    Do.REPLACE_HOLDER,
    Do.UPDATE_MEMBER,
)

DEPARTURES: Mapping[str, Departure] = {
    one.name: one
    for one in (
        Departure(
            "protocol-twice",
            "a member that offers a protocol twice shuts the group",
            {
                **dict.fromkeys(_OFFERING, afterwards(_miscounted)),
                Do.COMPLETE_JOIN: _fails_without_candidates,
                Do.START_SYNC_TIMER: _only_after_a_generation,
                Do.ANSWER_RESTARTED: _restart_fails_without_candidates,
            },
            Level.SHOULD,  # robustness: the KIP is silent, and no client sends such a list
        ),
        Departure(
            "pending-leave",
            "the leave of a pending id rebalances a stable group",
            {Do.REMOVE_PENDING: afterwards(_rebalances, "LEAVE-MEMBER-PENDING")},
        ),
        Departure(
            "absent-static-member",
            "a static member that is away is removed before its session ends",
            {Do.COMPLETE_JOIN: afterwards(_awaits_everybody)},
        ),
        Departure(
            "parked-sync",
            "the parked sync of a member that is removed is never answered",
            dict.fromkeys((Do.REMOVE_MEMBER, Do.REMOVE_HOLDER), retold(_unanswered_sync)),
        ),
        Departure(
            "restart-session",
            "after a restart the first session timer runs for the old process's timeout",
            {Do.REPLACE_HOLDER: afterwards(_old_session)},
            Level.SHOULD,  # a session ends, but the KIP doesn't say which process's counts
        ),
        Departure(
            "restart-in-first-join",
            "a restart during the first join is removed after its session timeout",
            {Do.REPLACE_HOLDER: afterwards(_still_new)},
        ),
        Departure(
            "full-group",
            "a full group refuses the restart of its own static member",
            level=Level.SHOULD,  # the KIP says nothing of a group's size
            restart_needs_room=True,
        ),
        Departure(
            "refused-member",
            "a member that is refused for want of room holds up the rebalance",
            level=Level.SHOULD,  # the KIP says nothing of a group's size
            unchecked=frozenset({"JOIN-GROUP-FULL", "JOIN-GROUP-FULL-PENDING"}),
        ),
    )
}
"""The departures by name: those that a random search meets most often first."""
