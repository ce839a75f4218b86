"""What events cost a group, by arithmetic: docs/deployments/advise.md states and derives it.

Times are seconds; costs are partition-seconds: one partition that nobody consumes for a second is
one.  They are expected values: where in its heartbeat interval something happens is chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from fencepost.conformance.advise.heartbeats import noticed
from fencepost.conformance.advise.known import Form, KnownGroup
from fencepost.conformance.simulator.durations import Duration, quantiles_s

_QUANTILES = 500
_POSITIONS = 50
_RAREST = 1e-3
"""How many times in a rollout something happens that is not counted any more."""
MESSAGES_S = 0.012
"""How long an eager member stops for messages alone: its join, its sync, their answers, and the
slowest of the others on the way there and back; each takes 2 ms, as in the simulator."""


@dataclass(frozen=True, slots=True)
class EventCost:
    """Rebalances, partitions that move to another member, and time without a consumer.

    `moved` is never more than an estimate: it depends on which member goes.
    """

    rebalances: float = 0.0
    moved: float = 0.0
    unavailable_s: float = 0.0

    def __add__(self, other: EventCost) -> EventCost:
        return EventCost(
            self.rebalances + other.rebalances,
            self.moved + other.moved,
            self.unavailable_s + other.unavailable_s,
        )

    def times(self, count: float) -> EventCost:
        """The cost of so many of them."""
        return EventCost(self.rebalances * count, self.moved * count, self.unavailable_s * count)

    def lost_s(self, warmup_s: float) -> float:
        """Time without a consumer, and with one that doesn't keep up yet."""
        return self.unavailable_s + self.moved * warmup_s


def outlives(known: KnownGroup, session_s: float) -> float:
    """The part of restarts that are longer than the session.

    A session runs from the last heartbeat, which was up to one interval before the end.
    """
    restarts = _restarts(known.restart_s)
    return sum(_outlives(known, each, session_s) for each in restarts) / len(restarts)


@cache
def _restarts(restart_s: Duration) -> tuple[float, ...]:
    return tuple(quantiles_s(restart_s, _QUANTILES))


def _outlives(known: KnownGroup, restart_s: float, session_s: float) -> float:
    return min(max((restart_s - session_s) / known.heartbeat_s + 1, 0.0), 1.0)


def detection_s(known: KnownGroup, session_s: float) -> float:
    """How long the partitions of a host that died wait, on average.

    The session ends half an interval before it would by the clock of the death, and the others
    notice half an interval later, at their next heartbeat; the slowest ends its work first.
    """
    return session_s + slowest_s(known)


def longest_detection_s(known: KnownGroup, session_s: float) -> float:
    """How long they wait at most."""
    return session_s + known.heartbeat_s + known.processing_s


def longest_restart_s(known: KnownGroup, form: Form, session_s: float) -> float:
    """How long the partitions of a member that is restarted wait at most."""
    if not form.is_static:
        return known.heartbeat_s + known.processing_s
    return min(_restarts(known.restart_s)[-1], longest_detection_s(known, session_s))


def slowest_s(known: KnownGroup) -> float:
    """How long the slowest of the others still works on what it polled when it is told."""
    others = known.members - 1
    return known.processing_s * others / (others + 1)


def _slowest_after(known: KnownGroup, least_s: float) -> float:
    """The same where a rebalance lasts so long anyhow, until a member that died is missed."""
    work_s, others = known.processing_s, known.members - 1
    if least_s >= work_s or not work_s:
        return max(least_s, 0.0)
    before = float((max(least_s, 0.0) / work_s) ** (others + 1))
    return work_s - work_s * (1 - before) / (others + 1)


def stopped_s(known: KnownGroup) -> float:
    """How long a member of an eager group stops, on average: for the slowest, and for messages."""
    return slowest_s(known) - known.processing_s / 2 + MESSAGES_S


def deployment(known: KnownGroup, form: Form, session_s: float) -> EventCost:
    """A rollout: every process is restarted, the next one when the group is balanced."""
    if form.is_static:
        gone = _expiry_in_rollout(known, form, session_s)
        return _each(known, form, session_s, None, gone).times(known.members)
    # Whoever is stopped as soon as the group is balanced is missed a whole interval later.
    told_s = known.heartbeat_s * (1 - 0.5 / known.members)
    gone = _departure(known, form, known.partition_share * (told_s + slowest_s(known)))
    restarts = _restarts(known.restart_s)
    apart = sum(_is_apart(known, each - told_s) for each in restarts) / len(restarts)
    return _gone_and_come(gone, _arrival(known, form), 1.0, apart).times(known.members)


def _gone_and_come(gone: EventCost, come: EventCost, part: float, apart: float) -> EventCost:
    """A member goes in such a part of all cases, and comes in a rebalance of its own in `apart`.

    Where both are one rebalance, it has again what it had.
    """
    left = EventCost(gone.rebalances * part, gone.moved * apart, gone.unavailable_s * part)
    return left + come.times(apart)


def _is_apart(known: KnownGroup, left_s: float) -> float:
    """How likely all others have joined so long after they were told, when a process comes back.

    If they haven't, it joins the rebalance that goes on, and there is one instead of two.
    """
    if left_s < 0:
        return 0.0
    if not known.processing_s:
        return 1.0
    return float(min(left_s / known.processing_s, 1.0) ** (known.members - 1))


def _expiry_in_rollout(known: KnownGroup, form: Form, session_s: float) -> EventCost:
    """The session of a static member ends, on average over a rollout.

    It depends on how many restarts before it caused no rebalance: each left a member that sends its
    heartbeats alone.  A member that is stopped right after a rebalance was heard just then.
    """
    part, restarts = outlives(known, session_s), known.members
    half_s = known.heartbeat_s / 2
    cases = [(part, 0, half_s), (part * part * (restarts - 1), 0, 0.0)]
    for alone in range(1, restarts):
        count = part * (1 - part) ** alone * (1 + part * (restarts - 1 - alone))
        if count < _RAREST:
            break
        cases.append((count, alone, half_s))
    total = EventCost()
    for count, alone, heard_s in cases:
        notice = noticed(known, session_s, alone, is_fresh=not alone)
        own_s = known.partition_share * (session_s - heard_s + notice.last_s)
        waits_s = notice.last_s - notice.mean_s + MESSAGES_S
        total += _departure(known, form, own_s, waits_s).times(count)
    weight = sum(count for count, *_ in cases)
    return total.times(1 / weight) if weight else death(known, form, session_s)


def crash(known: KnownGroup, form: Form, session_s: float) -> EventCost:
    """A process dies without a word and is started again.

    A dynamic one asks for a rebalance that can't end before the session of the dead one does.
    """
    missed_s = session_s - known.heartbeat_s / 2
    gone = death(known, form, session_s)
    return _each(known, form, session_s, None if form.is_static else missed_s, gone)


def death(known: KnownGroup, form: Form, session_s: float) -> EventCost:
    """A host dies and doesn't come back: its partitions wait for the end of its session."""
    return _departure(known, form, known.partition_share * detection_s(known, session_s))


def _each(
    known: KnownGroup, form: Form, session_s: float, missed_s: float | None, gone: EventCost
) -> EventCost:
    """One process comes back after each of the restart times, weighted.

    `missed_s`: when the dead one is missed whose successor is a member of its own; None: the
    successor takes its place.  `gone`: what it costs that its session ends.
    """
    come = _arrival(known, form)
    share = known.partition_share
    others = known.partitions - share if form.strategy == "eager" else 0.0
    restarts = _restarts(known.restart_s)
    late_part = apart = early_s = 0.0
    for restart_s in restarts:
        part = _outlives(known, restart_s, session_s)
        late_part += part / len(restarts)
        left_s = restart_s - session_s + known.heartbeat_s / 2
        apart += part * _is_apart(known, max(left_s, 0.0)) / len(restarts)
        own_s = share * restart_s
        if missed_s is not None:
            told_s = restart_s + known.heartbeat_s / 2
            end_s = told_s + _slowest_after(known, missed_s - told_s)
            stops_s = end_s - told_s - known.processing_s / 2 + MESSAGES_S
            own_s = share * end_s + others * stops_s
        early_s += own_s * (1 - part) / len(restarts)
    rebalances = 0.0 if missed_s is None else 1 - late_part
    late = _gone_and_come(gone, come, late_part, apart)
    return late + EventCost(rebalances, 0, early_s)


def _departure(
    known: KnownGroup, form: Form, unavailable_s: float, waits_s: float | None = None
) -> EventCost:
    """A member is gone, and the others rebalance once; each of an eager group waits so long."""
    waits_s = stopped_s(known) if waits_s is None else waits_s
    if form.strategy == "eager":
        others = known.partitions - known.partition_share
        moved = range_moves(known.members, known.partitions)
        return EventCost(1, moved, unavailable_s + others * waits_s)
    return EventCost(1, known.partition_share, unavailable_s)


def _arrival(known: KnownGroup, form: Form) -> EventCost:
    """A member comes: eager in one rebalance for which all stop, cooperative in two.

    In the second one, what was given back waits until all have noticed that it began.
    """
    if form.strategy == "eager":
        moved = range_moves(known.members, known.partitions)
        return EventCost(1, moved, known.partitions * stopped_s(known))
    wait_s = known.heartbeat_s + slowest_s(known)
    return EventCost(2, known.partition_share, known.partition_share * wait_s)


@cache
def range_moves(members: int, partitions: int) -> float:
    """How many partitions of one topic change hands when one of the members goes, on average.

    The assignor range gives each a run of neighbours, in the order of the members' ids.
    """
    before, after = _bounds(members, partitions), _bounds(members - 1, partitions)
    positions = range(0, members, max(members // _POSITIONS, 1))
    total = 0
    for gone in positions:
        left = [row for place, row in enumerate(before) if place != gone]
        kept = sum(
            max(min(old[1], new[1]) - max(old[0], new[0]), 0)
            for old, new in zip(left, after, strict=True)
        )
        total += partitions - kept
    return total / len(positions)


def _bounds(members: int, partitions: int) -> list[tuple[int, int]]:
    each, more = divmod(partitions, members)
    starts = [place * each + min(place, more) for place in range(members + 1)]
    return list(pairwise(starts))
