"""What to set: each form of a group at each session timeout, by what a week of it costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import msgspec

from fencepost.conformance.advise.arithmetic import detection_s, outlives
from fencepost.conformance.advise.constraint_conflicts import conflict_of
from fencepost.conformance.advise.known_facts import (
    BEATS,
    FORMS,
    HEARTBEAT_S,
    SESSIONS_S,
    Form,
    KnownGroup,
)
from fencepost.conformance.advise.longest_gap import longest_death_s
from fencepost.conformance.advise.sensitivity import Turn, turns_of
from fencepost.conformance.advise.setting_cost import SettingCost, setting_cost
from fencepost.traces.operations.restarts import LADDER_MS

FEW = 0.05
"""The part of restarts that may outlive a session which is long enough for static members."""
MARGIN = 0.1
"""What loses so much more is as good: the arithmetic is no nearer to the simulator."""
SHORTEST_BEAT_S = 1.0
"""No shorter heartbeat interval is advised: none was tried on real Kafkas."""

_HARDLY = 0.02
"""A longer session that loses less by no more than this isn't worth it."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A session timeout.  `why_not`: why it is not advised, else ""; `weekly`: lost by form.

    What is lost is in partition-seconds of a week, with the time to warm up.
    """

    session_s: float
    outlives: float
    detection_s: float
    longest_detection_s: float
    why_not: str
    weekly: dict[Form, float]

    def least_s(self, is_static: bool) -> float:
        """What is lost with the better strategy."""
        return min(lost for form, lost in self.weekly.items() if form.is_static is is_static)


@dataclass(frozen=True, slots=True)
class Choice:
    """What loses least with one heartbeat interval.

    `best` has every form at its best session timeout, the chosen one first; `curve`: every session;
    `conflict`: which wishes none fulfils together, else "".
    """

    known: KnownGroup
    best: tuple[SettingCost, ...]
    curve: tuple[float, ...]
    conflict: str


@dataclass(frozen=True)
class Advice:
    """What to set.  `best` has every form at its best session timeout, the advised one first.

    `asked`: what is known; `known`: the same with the heartbeat interval that is advised.
    `enough`: static members with a session that few restarts outlive, whatever gap is tolerated.
    `other_beat`: the best with the other heartbeat interval, where that makes a difference.
    `conflict`: which wishes no session timeout fulfils together, else "".
    """

    asked: KnownGroup
    known: KnownGroup
    today: SettingCost
    best: tuple[SettingCost, ...]
    curve: tuple[CurvePoint, ...]
    conflict: str
    enough: SettingCost | None
    other_beat: SettingCost | None

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """With which other values another form would be advised: most of the work, if asked for."""
        return turns_of(self.asked, lambda changed: chosen_for(changed)[0].best[0].form)

    @property
    def advised(self) -> SettingCost:
        """What to set."""
        return self.best[0]

    @property
    def as_good(self) -> list[SettingCost]:
        """The other forms that are too close to call."""
        lost_s = self.advised.lost_s
        return [row for row in self.best[1:] if is_as_good(row.lost_s, lost_s)]


def is_as_good(lost_s: float, other_s: float) -> bool:
    """Whether two sums are too close to say which is less."""
    return max(lost_s, other_s) <= min(lost_s, other_s) * (1 + MARGIN) + 1e-3


def advice_for(known: KnownGroup) -> Advice:
    """Find the form and the session timeout that lose least, or are as good and less of a change.

    Of sessions that lose hardly more than the best the shortest; a shorter heartbeat interval where
    that loses less by more than a tenth, unless the interval is kept.
    """
    chosen, other = chosen_for(known)
    curve = tuple(_point(chosen.known, session_s) for session_s in chosen.curve)
    return Advice(
        asked=known,
        known=chosen.known,
        today=_today(known),
        best=chosen.best,
        curve=curve,
        conflict=chosen.conflict,
        enough=_enough(chosen.known, curve),
        other_beat=None if other is None else other.best[0],
    )


def chosen_for(known: KnownGroup) -> tuple[Choice, Choice | None]:
    """What is advised, and with the other heartbeat interval, where that makes a difference."""
    slow = _choice(known)
    if known.heartbeat_s <= SHORTEST_BEAT_S:
        return slow, None
    quick = _choice(msgspec.structs.replace(known, heartbeat_s=SHORTEST_BEAT_S))
    lost_s, quick_s = slow.best[0].lost_s, quick.best[0].lost_s
    is_better = quick_s < lost_s and not is_as_good(quick_s, lost_s)
    if bool(slow.conflict) != bool(quick.conflict):
        is_better = not quick.conflict
    if not is_better:
        return slow, None
    return (slow, quick) if known.keeps_heartbeat else (quick, slow)


def _choice(known: KnownGroup) -> Choice:
    """What loses least with the heartbeat interval of the group."""
    shortest_s = known.shortest_s
    bound_s = max(math.floor(10 * known.longest_s + 1e-6) / 10, shortest_s)
    ladder = tuple(
        sorted(
            {ms / 1000 for ms in LADDER_MS}
            | {known.session_s}
            | ({_whole_ms(bound_s)} if bound_s <= SESSIONS_S[1] else set())
        )
    )
    fitting = tuple(each for each in ladder if not _why_not(known, each))
    conflict = ""
    if not fitting:
        fitting = (_whole_ms(shortest_s) if shortest_s <= SESSIONS_S[1] else ladder[-1],)
        conflict = conflict_of(known, fitting[0])
    best = [_shortest([setting_cost(known, form, s) for s in fitting]) for form in known.forms]
    today = None
    if known.form in known.forms and known.session_s in fitting:
        today = setting_cost(known, known.form, known.session_s)
    chosen = _least_change(known, best, today)
    others = sorted((row for row in best if row.form != chosen.form), key=_order)
    return Choice(known, (chosen, *others), ladder, conflict)


def _today(known: KnownGroup) -> SettingCost:
    """What is set today; where nothing is, Kafka's defaults, whatever heartbeats are wished."""
    if known.is_new:
        known = msgspec.structs.replace(known, heartbeat_s=HEARTBEAT_S)
    return setting_cost(known, known.form, known.session_s)


def _shortest(rows: list[SettingCost]) -> SettingCost:
    """The shortest session, in order of which they are, that loses hardly more than the best."""
    least = min(rows, key=_order)
    return next(row for row in rows if row.lost_s <= least.lost_s * (1 + _HARDLY) + 1e-3)


def _least_change(
    known: KnownGroup, best: list[SettingCost], today: SettingCost | None
) -> SettingCost:
    """Of those that are as good as the best what is set today, or has today's strategy."""
    least = min(best, key=_order)
    good = [row for row in best if is_as_good(row.lost_s, least.lost_s)]
    if today is not None and is_as_good(today.lost_s, least.lost_s):
        return today
    return min(good, key=lambda row: (row.form.strategy != known.strategy, _order(row)))


def _enough(known: KnownGroup, curve: tuple[CurvePoint, ...]) -> SettingCost | None:
    """The shortest safe session that few restarts outlive, with the better static form."""
    long = (p for p in curve if p.outlives <= FEW and not _too_short(known, p.session_s))
    point = next(long, None)
    forms = [form for form in known.forms if form.is_static]
    if point is None or not forms:
        return None
    return min((setting_cost(known, form, point.session_s) for form in forms), key=_order)


def _whole_ms(seconds: float) -> float:
    """In whole ms, as a session is set, and not longer."""
    return math.floor(seconds * 1000 + 1e-6) / 1000


def _order(row: SettingCost) -> tuple[float, float, float]:
    return round(row.lost_s, 3), round(row.week.rebalances, 3), row.session_s


def _point(known: KnownGroup, session_s: float) -> CurvePoint:
    return CurvePoint(
        session_s,
        outlives(known, session_s),
        detection_s(known, session_s) + known.resume_s,
        longest_death_s(known, session_s),
        _why_not(known, session_s),
        {form: setting_cost(known, form, session_s).lost_s for form in FORMS},
    )


def _why_not(known: KnownGroup, session_s: float) -> str:
    why_not = _too_short(known, session_s)
    longest_s = longest_death_s(known, session_s)
    if not why_not and known.gap_s is not None and longest_s > known.gap_s + 1e-9:
        why_not = f"longer than a gap of {known.gap_s:g} s"
    return why_not


def _too_short(known: KnownGroup, session_s: float) -> str:
    if session_s < SESSIONS_S[0]:
        return f"brokers allow {SESSIONS_S[0]:g} s or more by default"
    if session_s < BEATS * known.heartbeat_s:
        return f"shorter than {BEATS} heartbeats"
    silent_s = known.pause_s + known.heartbeat_s
    if session_s < silent_s:
        return f"shorter than a silence and a heartbeat, {silent_s:g} s (--longest-pause-s)"
    return ""
