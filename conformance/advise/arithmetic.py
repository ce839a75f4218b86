"""Compute the costs of events by arithmetic: docs/deployments/advise.md states and derives it.

Times are seconds; costs are partition-seconds: one partition that nobody consumes for a second is
one.  They are expected values: where in its heartbeat interval something happens is chance.

The others notice that a member is gone after its session has ended.  After a rebalance all send
their heartbeats at the same moments.  A static member that is restarted without one sends them at
moments of its own from then on, `alone`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import msgspec

from fencepost.conformance.advise.known_facts import Form, KnownGroup
from fencepost.conformance.simulate.deployment_scenario import Duration, quantiles_s

_PARTS = 100
"""Into which the time is divided over which the slowest is averaged."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Seconds from the end of a session until the others have joined: the last, and the mean."""

    last_s: float
    mean_s: float


def noticed(
    known: KnownGroup, session_s: float, alone: int, *, is_fresh: bool, gone: int = 1
) -> Notice:
    """Compute when the others notice: `alone` of them beat alone, the rest with the dead.

    `gone`: the number of dead members.  The rest notice at the moment at which these would have
    sent a heartbeat; if the session is a multiple of the interval that is when it ends, and half of
    them beat just before and a whole interval later.  Where it `is_fresh`, stopped before a first
    heartbeat, its session ends before theirs.
    """
    beat_ms = round(known.heartbeat_s * 1000)
    rest_ms = -round(session_s * 1000) % beat_ms
    return _noticed(
        known.members - gone,
        known.heartbeat_s,
        known.processing_s,
        rest_ms / 1000,
        alone,
        not rest_ms and not is_fresh,
    )


@cache
def _noticed(
    others: int, beat_s: float, work_s: float, rest_s: float, alone: int, is_split: bool
) -> Notice:
    together = others - alone
    longest_s = beat_s + work_s

    def together_by(at_s: float) -> float:
        if is_split:
            return (_done_by(at_s, work_s) + _done_by(at_s - beat_s, work_s)) / 2
        return _done_by(at_s - rest_s, work_s)

    def alone_by(at_s: float) -> float:
        return _mean_done(at_s, beat_s, work_s)

    step_s = longest_s / _PARTS
    last_s = (
        sum(
            1 - together_by(at_s) ** together * alone_by(at_s) ** alone
            for at_s in (step_s * (part + 0.5) for part in range(_PARTS))
        )
        * step_s
    )
    each_s = beat_s / 2 if is_split else rest_s
    mean_s = (together * each_s + alone * beat_s / 2) / others + work_s / 2
    return Notice(last_s, mean_s)


def _done_by(left_s: float, work_s: float) -> float:
    """Return the part of the members that heard of it `left_s` ago and have ended their work."""
    if left_s < 0:
        return 0.0
    return min(left_s / work_s, 1.0) if work_s else 1.0


def _mean_done(at_s: float, beat_s: float, work_s: float) -> float:
    """Like `_done_by`, of members that hear of it at any moment of an interval."""

    def area(left_s: float) -> float:
        if left_s <= 0:
            return 0.0
        if left_s >= work_s:
            return left_s - work_s / 2
        return left_s * left_s / (2 * work_s)

    return (area(at_s) - area(at_s - beat_s)) / beat_s


_QUANTILES = 500
_POSITIONS = 50
_PHASES = tuple((number + 0.5) / 20 for number in range(20))
"""Places in a heartbeat interval at which an event happens, each equally likely."""
_RAREST = 1e-3
"""Expected times in a deployment below which a case is not counted any more."""
MESSAGES_S = 0.012
"""Seconds that an eager member stops for messages alone: its join, its sync, their answers, and the
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
        """Return the cost of this many of them."""
        return EventCost(self.rebalances * count, self.moved * count, self.unavailable_s * count)

    def lost_s(self, warmup_s: float) -> float:
        """Return the time without a consumer, and with one that doesn't keep up yet."""
        return self.unavailable_s + self.moved * warmup_s


@dataclass(frozen=True, slots=True)
class _Waits:
    """Seconds that partitions of a lost member wait, and those of each other in an eager group."""

    own_s: float
    others_s: float


@dataclass(frozen=True, slots=True)
class _Returns:
    """Processes that come back, on average over their restarts.

    `late`: the part that outlives the session; `apart`: that which then comes in a rebalance of its
    own.  Of the rest `own_s`: how long their partitions wait, and `others_s` those of others.
    """

    late: float
    apart: float
    own_s: float
    others_s: float


def outlives(known: KnownGroup, session_s: float) -> float:
    """Return the part of restarts that are longer than the session.

    A session runs from the last heartbeat, which was up to one interval before the end.
    """
    restarts = restarts_of(known.restart_s)
    return sum(outlives_of(known, each, session_s) for each in restarts) / len(restarts)


@cache
def restarts_of(restart_s: Duration) -> tuple[float, ...]:
    """Return restart times in s that stand for all, each for an equal part of them."""
    return tuple(quantiles_s(restart_s, _QUANTILES))


def outlives_of(known: KnownGroup, restart_s: float, session_s: float) -> float:
    """Return the probability that a restart of `restart_s` outlives the session."""
    return min(max((restart_s - session_s) / known.heartbeat_s + 1, 0.0), 1.0)


def detection_s(known: KnownGroup, session_s: float) -> float:
    """Return how long the partitions of a host that died wait, on average.

    The session ends half an interval before it would by the clock of the death, and the others
    notice half an interval later, at their next heartbeat; the slowest ends its work first.
    """
    return session_s + slowest_s(known)


def slowest_s(known: KnownGroup) -> float:
    """Return how long the slowest of the others still works on its poll when it hears of it."""
    others = known.members - 1
    return known.processing_s * others / (others + 1)


def _slowest_after(known: KnownGroup, least_s: float) -> float:
    """Like `slowest_s`, where a rebalance lasts `least_s` anyhow, until a dead member is missed."""
    work_s, others = known.processing_s, known.members - 1
    if least_s >= work_s or not work_s:
        return max(least_s, 0.0)
    before = float((max(least_s, 0.0) / work_s) ** (others + 1))
    return work_s - work_s * (1 - before) / (others + 1)


def stopped_s(known: KnownGroup) -> float:
    """Return how long a member of an eager group stops, on average.

    For the slowest, for messages, and until it reads again what it is given.
    """
    return slowest_s(known) - known.processing_s / 2 + MESSAGES_S + known.resume_s


def deployment(known: KnownGroup, form: Form, session_s: float) -> EventCost:
    """Cost a deployment: processes are restarted in waves, the next when the group is balanced."""
    first_s, later_s = known.heartbeat_s / 2, known.heartbeat_s
    full, rest = divmod(known.members, known.at_a_time)
    cost = _wave(known, form, session_s, known.at_a_time, later_s)
    if form.is_static:
        cost = cost.times(full)
    else:
        cost = cost.times(full - 1) + _wave(known, form, session_s, known.at_a_time, first_s)
    return cost + _wave(known, form, session_s, rest, later_s) if rest else cost


def _wave(known: KnownGroup, form: Form, session_s: float, size: int, notice_s: float) -> EventCost:
    """Cost `size` restarts at a time; the others notice that dynamic processes are gone.

    A process that is stopped as soon as the group is balanced is missed a whole interval later.
    """
    if form.is_static:
        waits = _expiry_in_rollout(known, session_s, size)
        return _restarted(known, form, session_s, size, waits)
    waits = _Waits(notice_s + slowest_s(known) + known.resume_s, stopped_s(known))
    gone = _departure(known, form, waits, size, 1)
    come = _arrival(known, form, size, _gatherings(_bare(known), size, 0))
    return _gone_and_come(gone, come, _any_of(size, _apart(_bare(known), notice_s, size)))


def _bare(known: KnownGroup) -> KnownGroup:
    """Return the group without its weights, so that slow results are computed once."""
    return msgspec.structs.replace(known, resume_s=0.0, warmup_s=0.0)


@cache
def _apart(known: KnownGroup, notice_s: float, size: int) -> float:
    """Return the probability that a process comes back in a rebalance of its own."""
    restarts = restarts_of(known.restart_s)
    return sum(is_apart(known, each - notice_s, size) for each in restarts) / len(restarts)


def _gone_and_come(gone: EventCost, come: EventCost, apart: float) -> EventCost:
    """Cost members that go, and come in rebalances of their own in `apart` of all cases.

    Where both are one rebalance, they have again what they had.
    """
    left = EventCost(gone.rebalances, gone.moved * apart, gone.unavailable_s)
    return left + come.times(apart)


def is_apart(known: KnownGroup, left_s: float, size: float) -> float:
    """Return the probability that all others have joined `left_s` after they heard of it.

    If they haven't, the process that comes back joins the rebalance that goes on, and there is one
    instead of two.
    """
    if left_s < 0:
        return 0.0
    if not known.processing_s:
        return 1.0
    return float(min(left_s / known.processing_s, 1.0) ** (known.members - size))


def _any_of(size: float, part: float) -> float:
    """Return the probability of at least one of `size` events, each with probability `part`."""
    return float(1 - (1 - min(part, 1.0)) ** size)


def _expiry_in_rollout(known: KnownGroup, session_s: float, size: int) -> _Waits:
    """Average the waits for ends of sessions of static members over a deployment.

    It depends on how many waves before caused no rebalance: each left members that send their
    heartbeats alone.  A member that is stopped right after a rebalance was heard just then.
    """
    part, waves = _any_late(_bare(known), size, session_s), known.waves
    half_s = known.heartbeat_s / 2
    cases = [(part, 0, half_s), (part * part * (waves - 1), 0, 0.0)]
    for before in range(1, waves):
        count = part * (1 - part) ** before * (1 + part * (waves - 1 - before))
        if count < _RAREST:
            break
        cases.append((count, before, half_s))
    own_s = others_s = 0.0
    for count, before, heard_s in cases:
        alone = min(before * known.at_a_time, known.members - size)
        notice = noticed(known, session_s, alone, is_fresh=not before, gone=size)
        own_s += count * (session_s - heard_s + notice.last_s + known.resume_s)
        others_s += count * (notice.last_s - notice.mean_s + MESSAGES_S + known.resume_s)
    weight = sum(count for count, *_ in cases)
    return _Waits(own_s / weight, others_s / weight) if weight else _death_waits(known, session_s)


def crash(known: KnownGroup, form: Form, session_s: float) -> EventCost:
    """Cost a process that dies without a word and is started again.

    A dynamic one asks for a rebalance that can't end before the session of the dead one does.
    """
    missed_s = None if form.is_static else session_s - known.heartbeat_s / 2
    return _restarted(known, form, session_s, 1, _death_waits(known, session_s), missed_s)


def death(known: KnownGroup, form: Form, session_s: float) -> EventCost:
    """Cost a host that dies for good: its partitions wait for the end of its session."""
    return _departure(known, form, _death_waits(known, session_s), 1, 1)


def _death_waits(known: KnownGroup, session_s: float) -> _Waits:
    return _Waits(detection_s(known, session_s) + known.resume_s, stopped_s(known))


def _restarted(
    known: KnownGroup,
    form: Form,
    session_s: float,
    size: float,
    waits: _Waits,
    missed_s: float | None = None,
) -> EventCost:
    """Cost `size` processes that are gone at once and come back after their restart times.

    `waits`: where sessions end.  `missed_s`: when a dead one is missed whose successor is a member
    of its own; None: the successor takes its place.
    """
    share, bare = known.partition_share, _bare(known)
    back = _returns(bare, session_s, size, missed_s)
    early_part = 1 - back.late
    early_s = share * (back.own_s + early_part * known.resume_s)
    if missed_s is not None and form.strategy == "eager":
        stops_s = back.others_s + early_part * known.resume_s
        early_s += (known.partitions - share) * stops_s
    rebalances = 0.0 if missed_s is None else early_part
    early = EventCost(rebalances, 0, early_s).times(size)
    late = size * back.late
    if not late:
        return early
    any_late = _any_late(bare, size, session_s)
    gone = _departure(known, form, waits, late, any_late)
    come = _arrival(known, form, late, _gatherings(bare, size, session_s))
    return early + _gone_and_come(gone, come, _any_of(late / any_late, back.apart / back.late))


@cache
def _returns(known: KnownGroup, session_s: float, size: float, missed_s: float | None) -> _Returns:
    restarts = restarts_of(known.restart_s)
    late = apart = own_s = others_s = 0.0
    for restart_s in restarts:
        part = outlives_of(known, restart_s, session_s)
        late += part
        left_s = restart_s - session_s + known.heartbeat_s / 2
        apart += part * is_apart(known, max(left_s, 0.0), size)
        end_s = restart_s
        if missed_s is not None:
            notice_s = restart_s + known.heartbeat_s / 2
            end_s = notice_s + _slowest_after(known, missed_s - notice_s)
            others_s += (1 - part) * (end_s - notice_s - known.processing_s / 2 + MESSAGES_S)
        own_s += (1 - part) * end_s
    return _Returns(*(each / len(restarts) for each in (late, apart, own_s, others_s)))


def _departure(
    known: KnownGroup, form: Form, waits: _Waits, gone: float, rebalances: float
) -> EventCost:
    """Cost `gone` members that leave in this number of rebalances."""
    share, at_once = known.partition_share, gone / rebalances
    own = EventCost(rebalances, share * gone, share * gone * waits.own_s)
    if form.strategy != "eager":
        return own
    others = known.partitions - share * at_once
    moved = rebalances * topic_moves(known, at_once)
    return EventCost(rebalances, moved, own.unavailable_s + rebalances * others * waits.others_s)


def _arrival(known: KnownGroup, form: Form, come: float, gatherings: float) -> EventCost:
    """Cost `come` members that arrive in gatherings: eager in a rebalance each; all stop for it.

    Cooperative in two: in the second, what was given back waits until all have noticed it.
    """
    if form.strategy == "eager":
        moved = gatherings * topic_moves(known, come / gatherings)
        return EventCost(gatherings, moved, gatherings * known.partitions * stopped_s(known))
    share = known.partition_share * come
    wait_s = known.heartbeat_s + slowest_s(known) + known.resume_s
    return EventCost(2 * gatherings, share, share * wait_s)


@cache
def _any_late(known: KnownGroup, size: float, session_s: float) -> float:
    """Return the probability that any of `size` restarts outlives the session.

    The last heartbeats of all were at one moment, as all have synced at one.
    """
    of_one = outlives(known, session_s)
    if size == 1:
        return of_one
    restarts = sorted(restarts_of(known.restart_s))
    total = 0.0
    for phase in _PHASES:
        part = 1 - bisect_right(restarts, session_s - phase * known.heartbeat_s) / len(restarts)
        total += 1 - (1 - part) ** size
    return max(total / len(_PHASES), of_one)


@cache
def _gatherings(known: KnownGroup, size: float, session_s: float) -> float:
    """Count the rebalances in which `size` processes come back that outlive a session.

    A rebalance goes on until the slowest of the others has noticed, and takes all who come until
    then.  They notice at one moment, a heartbeat interval after the last.
    """
    if size == 1:
        return outlives(known, session_s) if session_s else 1.0
    width_s = known.heartbeat_s + slowest_s(known)
    restarts = restarts_of(known.restart_s)
    total = 0.0
    for phase in _PHASES:
        bins: defaultdict[int, float] = defaultdict(float)
        for restart_s in restarts:
            late = outlives_of(known, restart_s, session_s) if session_s else 1.0
            bins[int(restart_s / width_s + phase)] += late / len(restarts)
        total += sum(1 - (1 - part) ** size for part in bins.values())
    return total / len(_PHASES)


def topic_moves(known: KnownGroup, gone: float) -> float:
    """Count the partitions of all topics that change hands when `gone` neighbours go."""
    count = min(max(round(gone), 1), known.members - 1)
    return sum(range_moves(known.members, partitions, count) for partitions in known.topics)


@cache
def range_moves(members: int, partitions: int, gone: int = 1) -> float:
    """Count the partitions of one topic that change hands when neighbours among the members go.

    It is the average over those who go.
    The assignor range gives each a run of neighbours, in the order of the members' ids.
    """
    before, after = _bounds(members, partitions), _bounds(members - gone, partitions)
    positions = range(0, members - gone + 1, max(members // _POSITIONS, 1))
    total = 0
    for first in positions:
        left = before[:first] + before[first + gone :]
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
