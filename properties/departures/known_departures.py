"""Known departures: what coordinators in use are known to do differently from the model.

A departure is a small change that any revision can have.  If the revision can't explain a history,
and the revision with the departure can, the departure is the cause.  Those of Kafka are described
in `docs/findings/` under their names, with how they were seen; those of kfake, in
`departures_of_kfake`, in its source.  A mutant is an invented bug; a departure does what was
observed, as far as that can be told.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from fencepost.model.classic.group import CREATION, SESSION, SYNC, Group, InitialDelay, Member
from fencepost.model.classic.perform_members import join_request
from fencepost.model.classic.perform_rebalance import rebalance
from fencepost.model.classic.work import Effect, Emission, Work
from fencepost.model.messages.messages import SyncGroupResponse
from fencepost.model.messages.shapes import Message
from fencepost.model.revision import Twist
from fencepost.model.table.effects import Do
from fencepost.model.table.table import Level
from fencepost.model.table.vocabulary import GroupState
from fencepost.properties.departures.departure import ADDING, KFAKE, NEW, OLD, Departure
from fencepost.properties.departures.departures_of_kfake import OF_KFAKE
from fencepost.properties.departures.mutation_operators import (
    afterwards,
    changed_member,
    changed_members,
    in_turn,
    retold,
)


def families() -> tuple[tuple[Departure, ...], ...]:
    """Return the departures of each coordinator, which it has all at once."""
    return tuple(
        tuple(departure for departure in DEPARTURES.values() if coordinator in departure.of)
        for coordinator in (NEW, OLD, KFAKE)
    )


def _rebalances(_: Group, work: Work) -> None:
    if work.group.state in {GroupState.STABLE, GroupState.COMPLETING}:
        rebalance(work, 0)


def _ends_the_delay(_: Group, work: Work) -> None:
    group = work.group
    if group.members and all(member.joining is not None for member in group.members):
        work.group = replace(group, delay=None)


def _remembers_newcomer(before: Group, work: Work) -> None:
    if before.delay is not None and before.delay.somebody_came:
        work.group = replace(work.group, remembers_newcomer=True)


def _awaits_more(before: Group, work: Work) -> None:
    group = work.group
    if before.remembers_newcomer and group.delay is not None and before.delay is None:
        delay = InitialDelay(group.delay.remaining_ms, somebody_came=True)
        work.group = replace(group, delay=delay, remembers_newcomer=False)


def _comes_unnoticed(before: Group, work: Work) -> None:
    if before.delay is not None and before.generation_id > 0:
        work.group = replace(work.group, delay=before.delay)


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


def _awaits_replaced(before: Group, work: Work) -> None:
    """The sync that the replaced id owed is awaited further, though nobody can send it."""
    old = _replaced(before, work)
    if before.awaits_replaced or (old is not None and old.owes_sync):
        timers = (timer for timer in before.timers if timer.kind == SYNC)
        work.group = replace(work.group, awaits_replaced=True).with_timers(timers)


def _kept_when_made(before: Group, work: Work) -> None:
    if before == Group():
        work.group = replace(work.group, stored=Group())


def _unseen_when_made(before: Group, work: Work) -> None:
    if before == Group():
        work.set_timer(CREATION, "", 1)


def _unseen_until_written(before: Group, work: Work) -> None:
    """A commit that stores nothing writes nothing: it takes until something else is written."""
    if before == Group() and not work.group.offsets:
        now = work.span.earliest
        work.group = work.group.with_timer(CREATION, "", now, now + _EVER_MS)


def _seen_when_written(_: Group, work: Work) -> None:
    work.group = work.group.without_timer(CREATION)


def _undone(_: Group, work: Work) -> None:
    """A write that fails takes back what isn't written, and that is the group."""
    if work.group.has_timer(CREATION):
        work.forget()


def _still_new(before: Group, work: Work) -> None:
    """A restart before the first join was answered stays new, but gets a session timer."""
    old = _replaced(before, work)
    if old is not None and old.new:
        changed_member(work, work.caller, lambda member: replace(member, new=True))


def _keeps_the_subscription(_: Group, work: Work) -> None:
    """What the refused process offers stays, as if its holder offered it."""
    offered = join_request(work).protocols
    holder = work.group.holder(work.instance or "") or ""
    changed_member(work, holder, lambda member: replace(member, protocols=offered))


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

_EVER_MS = 10**9

_WRITTEN_LATER: Mapping[Do, Twist] = {
    Do.STORE_OFFSETS: in_turn(afterwards(_seen_when_written), afterwards(_unseen_until_written)),
    Do.PERSIST: afterwards(_seen_when_written),
}

_MAKING = (Do.CREATE_GROUP, Do.HAND_OUT_PENDING, Do.ADD_DYNAMIC, Do.ADD_STATIC)

_BOTH, _NEW, _OLD = map(frozenset, ((OLD, NEW), (NEW,), (OLD,)))

DEPARTURES: Mapping[str, Departure] = {
    one.name: one
    for one in (
        Departure(
            "protocol-twice",
            "a member that offers a protocol twice shuts the group",
            _BOTH,
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
            _NEW,
            {Do.REMOVE_PENDING: afterwards(_rebalances, "LEAVE-MEMBER-PENDING")},
        ),
        Departure(
            "absent-static-member",
            "a static member that is away is removed before its session ends",
            _BOTH,
            {Do.COMPLETE_JOIN: afterwards(_awaits_everybody)},
        ),
        Departure(
            "parked-sync",
            "the parked sync of a member that is removed is never answered",
            _BOTH | {KFAKE},
            dict.fromkeys((Do.REMOVE_MEMBER, Do.REMOVE_HOLDER), retold(_unanswered_sync)),
        ),
        Departure(
            "restart-session",
            "after a restart the first session timer runs for the old process's timeout",
            _BOTH,
            {Do.REPLACE_HOLDER: afterwards(_old_session)},
            Level.SHOULD,  # a session ends, but the KIP doesn't say which process's counts
        ),
        Departure(
            "restart-in-first-join",
            "a restart during the first join is removed after its session timeout",
            _OLD,
            {Do.REPLACE_HOLDER: afterwards(_still_new)},
        ),
        Departure(
            "refused-restart",
            "a restart that can't be stored leaves its subscription",
            _OLD,
            {Do.KEEP_HOLDER: afterwards(_keeps_the_subscription)},
            Level.SHOULD,  # the KIP says nothing of what can't be stored
        ),
        Departure(
            "restart-before-sync",
            "a restart before the sync rebalances the group once more",
            _BOTH,
            {Do.REPLACE_HOLDER: afterwards(_awaits_replaced)},
        ),
        Departure(
            "full-group",
            "a full group refuses the restart of its own static member",
            _BOTH,
            level=Level.SHOULD,  # the KIP says nothing of a group's size
            restart_needs_room=True,
        ),
        Departure(
            "refused-member",
            "a member that is refused for want of room holds up the rebalance",
            _NEW,
            level=Level.SHOULD,  # the KIP says nothing of a group's size
            unchecked=frozenset({"JOIN-GROUP-FULL", "JOIN-GROUP-FULL-PENDING", "SESSION-WAITING"}),
        ),
        Departure(
            "delay-cut-short",
            "the expiry of a pending id ends the initial delay",
            _NEW,
            {Do.REMOVE_PENDING: afterwards(_ends_the_delay, "SESSION-PENDING")},
            Level.SHOULD,  # the delay saves rebalances; no sentence of KIP-345 or property needs it
        ),
        Departure(
            "delay-for-nobody",
            "an initial delay is extended for a member of an earlier one",
            _BOTH,
            {
                Do.COMPLETE_JOIN: afterwards(_remembers_newcomer),
                Do.BECOME_EMPTY: afterwards(_remembers_newcomer),
                Do.REBALANCE: afterwards(_awaits_more),
            },
            Level.SHOULD,  # as for delay-cut-short
        ),
        Departure(
            "delay-not-extended",
            "newcomers don't extend the initial delay of a group that had members before",
            _OLD,
            dict.fromkeys(ADDING, afterwards(_comes_unnoticed)),
            Level.SHOULD,  # as for delay-cut-short
        ),
        Departure(
            "kept-without-generation",
            "a group that had no generation yet survives a failover",
            _NEW,
            dict.fromkeys(_MAKING, afterwards(_kept_when_made)),
            Level.SHOULD,  # nobody is fenced or let in by it; the KIP says nothing of such a group
        ),
        Departure(
            "unseen-at-first",
            "a group that was just made is neither listed nor described",
            _NEW,
            {**dict.fromkeys(_MAKING, afterwards(_unseen_when_made)), **_WRITTEN_LATER},
            Level.SHOULD,  # nobody's membership hangs on what an administrator is shown
        ),
        Departure(
            "undone-group",
            "a group that a refused commit made is undone with its members",
            _NEW,
            {
                **_WRITTEN_LATER,
                Do.REBALANCE: afterwards(_undone, "SYNC-COMPLETING-LEADER-TOO-LARGE"),
            },
        ),
        *OF_KFAKE,
    )
}
"""The departures by name: those that a random search meets most often first."""
